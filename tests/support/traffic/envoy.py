"""Envoy as the translator of `gateway` configures it: it takes new configuration while it runs."""

import hashlib
import http.client
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from local import processes
from local.files import tail
from local.gateway.istiod import LOGGED
from tests.support.traffic.gateway import EXT_PROC, EXTENSION, PICKED, PROCESSING, Tree

DEADLINE = 120.0


class Envoy:
    """One Envoy, on free ports of loopback."""

    def __init__(self, binary: Path, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._version = 0
        self.configure([], {"virtual_hosts": []}, wait=False)
        config = directory / "envoy.json"
        config.write_text(json.dumps(self._bootstrap()), encoding="utf-8")
        command = [str(binary), "--config-path", str(config), "--concurrency", "2", "--disable-hot-restart"]
        command += ["--admin-address-path", str(directory / "admin"), "--file-flush-interval-msec", "20"]
        env = {"PATH": os.defpath, "HOME": str(directory)}
        with (directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                processes.tied_command(command), env=env, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            self._await(self._live, "does not become live")
        except BaseException:
            self.end()
            raise
        listeners = json.loads(self._asked("/listeners?format=json"))["listener_statuses"]
        self.port: int = listeners[0]["local_address"]["socket_address"]["port_value"]

    def configure(self, clusters: Sequence[Tree], routes: Tree, *, wait: bool = True) -> None:
        """Take clusters and routes in the place of those before; returns when they are in use."""
        self._version += 1
        named = {"name": "routes", "ignore_port_in_host_matching": True}
        assigned = [cluster for cluster in clusters if cluster["type"] == "EDS"]
        clusters = [self._discovered(cluster) if cluster in assigned else cluster for cluster in clusters]
        clusters = [{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", **cluster} for cluster in clusters]
        routes = {"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", **named, **routes}
        for name, resources, stat in (
            ("clusters", clusters, "cluster_manager.cds."),
            ("routes", [routes], "http.ingress.rds.routes."),
        ):
            self._replace(name, resources)
            if wait:
                self._await(lambda stat=stat: self._taken(stat), f"does not take its {name}")
        if wait and assigned:
            addresses = {cluster["name"]: _addresses(cluster["load_assignment"]) for cluster in assigned}
            self._await(lambda: addresses.items() <= self._used().items(), "does not take its addresses")

    def log(self) -> list[dict[str, Any]]:
        """Return what it did with the requests so far; one that has just ended may be missing."""
        lines = (self._directory / "access").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def end(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def _discovered(self, cluster: Tree) -> Tree:
        """Write the addresses of a cluster to a file of their own, and return the cluster, which reads the file."""
        name = f"addresses-{hashlib.sha256(cluster['name'].encode()).hexdigest()}"
        message = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
        self._replace(name, [{"@type": message, **cluster["load_assignment"]}])
        rest = {key: value for key, value in cluster.items() if key != "load_assignment"}
        return {**rest, "eds_cluster_config": {"eds_config": self._file(name)}}

    def _used(self) -> dict[str, set[tuple[str, int]]]:
        """Return the addresses in use, by cluster."""
        statuses = json.loads(self._asked("/clusters?format=json") or "{}").get("cluster_statuses", ())
        return {
            status["name"]: {_address(host["address"]) for host in status.get("host_statuses", ())}
            for status in statuses
        }

    def _replace(self, name: str, resources: Sequence[Tree]) -> None:
        """Write a file of configuration; Envoy reads it when it is moved to its place."""
        written = {"version_info": str(self._version), "resources": resources}
        fresh = self._directory / "fresh"
        fresh.write_text(json.dumps(written), encoding="utf-8")
        fresh.rename(self._directory / f"{name}.json")

    def _taken(self, stat: str) -> bool:
        output = self._asked(f"/stats?filter=^{stat.replace('.', '[.]')}(version_text|update_rejected)$").decode()
        values = dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)
        assert values.get(f"{stat}update_rejected", "0") == "0", tail(self._directory / "log")
        return values.get(f"{stat}version_text") == f'"{self._version}"'

    def _live(self) -> bool:
        return (self._directory / "admin").exists() and self._asked("/ready").strip() == b"LIVE"

    def _asked(self, path: str) -> bytes:
        address = (self._directory / "admin").read_text(encoding="ascii").strip()
        connection = http.client.HTTPConnection(address, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        except OSError:
            return b""
        finally:
            connection.close()

    def _await(self, condition: Callable[[], bool], problem: str) -> None:
        until = time.monotonic() + DEADLINE
        while not condition():
            log = tail(self._directory / "log")
            assert self._process.poll() is None, f"Envoy ended:\n{log}"
            assert time.monotonic() < until, f"Envoy {problem}:\n{log}"
            time.sleep(0.02)

    def _file(self, name: str) -> Tree:
        return {"path_config_source": {"path": str(self._directory / f"{name}.json")}, "resource_api_version": "V3"}

    def _bootstrap(self) -> Tree:
        loopback = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}
        manager = "envoy.filters.network.http_connection_manager"
        filters = [{"name": manager, "typed_config": self._manager()}]
        listener = {"name": "ingress", "address": loopback, "filter_chains": [{"filters": filters}]}
        return {
            "node": {"id": "gateway", "cluster": "gateway"},
            "admin": {"address": loopback},
            "dynamic_resources": {"cds_config": self._file("clusters")},
            "static_resources": {"listeners": [listener]},
        }

    def _manager(self) -> Tree:
        """Return how HTTP is handled; routes to pools switch the filter on that asks pickers."""
        access = {"path": str(self._directory / "access"), "log_format": {"json_format": LOGGED}}
        access["@type"] = f"{EXTENSION}.access_loggers.file.v3.FileAccessLog"
        asking = {
            "@type": f"{EXTENSION}.filters.http.ext_proc.v3.ExternalProcessor",
            "grpc_service": {"envoy_grpc": {"cluster_name": "picker"}},
            "processing_mode": PROCESSING,
            "message_timeout": "60s",
            "metadata_options": {"receiving_namespaces": {"untyped": [PICKED[0]]}},
        }
        router = {"@type": f"{EXTENSION}.filters.http.router.v3.Router"}
        return {
            "@type": f"{EXTENSION}.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "ingress",
            "use_remote_address": True,
            "normalize_path": True,
            "access_log": [{"name": "envoy.access_loggers.file", "typed_config": access}],
            "rds": {"route_config_name": "routes", "config_source": self._file("routes")},
            "http_filters": [
                {"name": EXT_PROC, "disabled": True, "typed_config": asking},
                {"name": "envoy.filters.http.router", "typed_config": router},
            ],
        }


def _addresses(assignment: Tree) -> set[tuple[str, int]]:
    """Return the addresses of a ClusterLoadAssignment."""
    hosts = (host for group in assignment["endpoints"] for host in group["lb_endpoints"])
    return {_address(host["endpoint"]["address"]) for host in hosts}


def _address(address: Tree) -> tuple[str, int]:
    return address["socket_address"]["address"], address["socket_address"]["port_value"]
