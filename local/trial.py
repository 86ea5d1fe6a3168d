"""`make try`: runs the stack behind a real Istio, sends one request through Istio, and explains the answer.

With `ENGINE=vllm`, the model servers are real engines with small models of random numbers.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from local import files, host, up, venv
from local.cluster import ControlPlane
from local.errors import LocalError
from local.gateway import LocalGateway, addresses, decision, llm_d, objects, picker, requests, simulator
from local.ports import free_ports
from local.tools import ensure
from local.vllm import installation
from local.vllm.deployments import EngineSelection, check_memory, image_settings, select
from local.vllm.model_servers import ModelServers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from local.gateway import EnvoyProxy
    from local.report import Report
    from local.tools import Tool
    from local.vllm.deployments import EngineDeployment

RELEASE = "gie-1.3"
"""Release whose picker can be built from a module registry."""
FIRST = (
    "Trying a copy of Pulumi.{stack}.yaml with {picker}, and therefore with release: {release}.\n"
    "{servers}; picker, gateway, proxy, API server and routing are real."
)
SIMULATED = "The model servers are simulated"
ENGINES = "The model servers are {engines} for CPUs with small models of random numbers, and keep their images"
REMAINING = "Engines that were started go on running; `make down` ends them."
VLLM = "vllm"
"""Name of the engine that can be run."""
GATEWAY_SECONDS = 6.0
REQUEST_SECONDS = 60.0
VERBOSITY = {"--v": "4"}
"""Flag with which a picker logs the scores of pods."""
FIRST_PORT = 8080


def run(report: Report, project: Path = up.PROJECT, *, engine: str | None = None) -> None:
    """Deploy behind a gateway, send a request and explain the answer. Raises LocalError if a step fails.

    `engine` is `VLLM` for model servers that run, or None for simulated ones.
    """
    host.check(project)
    state = files.private_directory(up.state_directory(project))
    with files.lock(state, refusal=up.BUSY.format(state=state)):
        venv.setup(project, report, development=False)
        installed = llm_d.find()
        needed = [*up.TOOLS, "istiod", "envoy"]
        if installed is None:
            needed.append("epp")
        selection = EngineSelection()
        with ThreadPoolExecutor(1) as pool:
            rendered = pool.submit(up.describe, project)
            if engine == VLLM:
                selection = _prepare_engines(rendered.result(), state, report)
            tools = ensure(needed, report)
        release, epp = installed or (RELEASE, tools["epp"])
        title = _title(epp, is_llm_d=installed is not None)
        servers = _servers(selection)
        report.say(FIRST.format(stack=up.STACK, picker=title, release=release, servers=servers))
        description = rendered.result()
        settings = _settings(release, description) | image_settings(selection)
        trial = Trial(state, tools | {"epp": epp}, project, selection)
        trial.deploy(description["objects"], settings, report)
        report.say(trial.ask(description["objects"]))


class Trial:
    """The gateway, pickers and engines of a checkout's control plane."""

    def __init__(self, state: Path, tools: Mapping[str, Tool], project: Path, selection: EngineSelection) -> None:
        self._plane = ControlPlane(state / "cluster", tools)
        self._project = project
        self._tools = tools
        self._state = state
        self._directory = state / "gateway"
        self._gateway = LocalGateway(self._directory, tools, self._plane)
        self._proxies: dict[tuple[str, str], EnvoyProxy] = {}
        self._pickers: dict[str, picker.PickerCommand] = {}
        self._selection = selection
        self._servers = ModelServers(state / up.MODEL_SERVERS)

    def deploy(self, manifests: Sequence[Mapping[str, Any]], settings: Mapping[str, str], report: Report) -> None:
        """Start control plane and gateway, deploy the stack with `settings`, and start what runs in its pods' places.

        `manifests` are the objects of the stack. Raises LocalError if the stack has no route.
        """
        listeners = objects.listeners(manifests)
        if not listeners:
            raise LocalError(f"Pulumi.{up.STACK}.yaml has no route to try; add a gateway to the file")
        self._plane.start(report)
        with report.step("Istio and Envoy", GATEWAY_SECONDS):
            self.start_gateway(listeners, objects.service_ports(manifests))
        engine = up.stack_engine(self._state, self._tools, self._plane, self._project, report, settings=settings)
        up.deploy(engine, report, brief=True)
        with report.step("endpoint pickers", GATEWAY_SECONDS):
            self.start_pickers(manifests)
        self.start_engines(report)

    def start_gateway(self, listeners: Sequence[objects.GatewayListener], ports: Collection[int]) -> None:
        """End the processes of an earlier run. Then start Istio, the simulated model servers and the proxies."""
        files.private_directory(self._directory)
        self._gateway.end()
        self._servers.end()
        for name in (simulator.PORT, simulator.SUBSTITUTES):
            (self._directory / name).unlink(missing_ok=True)
        rows = [{"namespace": engine.namespace, "labels": engine.labels} for engine in self._selection.engines]
        files.write(self._directory / simulator.ENGINES, json.dumps(rows, default=dict))
        self._use_loopback()
        self._gateway.apply(
            [
                *map(objects.namespace_object, sorted({listener.namespace for listener in listeners})),
                *objects.gateways(listeners),
            ]
        )
        self._gateway.start()
        command = [sys.executable, "-m", "local.gateway.simulator", str(self._plane.directory), str(self._directory)]
        self._gateway.run("simulator", command, {"PYTHONPATH": str(self._project)})
        path = self._directory / simulator.PORT
        self._gateway.wait("simulator", path.exists)
        addresses = int(path.read_text(encoding="ascii"))
        for place in dict.fromkeys((listener.namespace, listener.gateway) for listener in listeners):
            of_gateway = [listener for listener in listeners if (listener.namespace, listener.gateway) == place]
            self._proxies[place] = self._gateway.serve(of_gateway, ports, addresses, port=self._port(place))

    def start_pickers(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        """Start the picker of each pool, with the service account and the configuration of the picker's Deployment."""
        substitutes = list[dict[str, Any]]()
        for pool in (manifest for manifest in manifests if manifest["kind"] == "InferencePool"):
            namespace = pool["metadata"]["namespace"]
            name = pool["spec"]["endpointPickerRef"]["name"]
            part = f"{namespace}.{name}"
            command = picker.command(self._plane, namespace, name, self._directory / part, VERBOSITY)
            self._gateway.run(part, [str(self._tools["epp"].path), *command.arguments], command.environment)
            self._pickers[part] = command
            substitutes.append({"namespace": namespace, "labels": command.labels, "ports": command.ports})
        files.write(self._directory / simulator.SUBSTITUTES, json.dumps(substitutes))
        self._move_pods()

    def start_engines(self, report: Report) -> None:
        """Start the engines at the addresses of their pods, and return when their probes succeed."""
        try:
            for engine in self._selection.engines:
                self._servers.start(engine, self._pods(engine), self._plane.api(), report)
            self._servers.wait(report)
        except LocalError as error:
            raise LocalError(f"{error}\n{REMAINING}") from None

    def ask(self, manifests: Sequence[Mapping[str, Any]]) -> str:
        """Send a request through the first route, and return the command, the answer and the answer's explanation.

        The request is repeated until the answer is OK and its pod is still there: the gateway may not know yet that a
        pod was replaced. Raises LocalError if that takes longer than `REQUEST_SECONDS`.
        """
        route = next(manifest for manifest in manifests if manifest["kind"] == "HTTPRoute")
        parent = route["spec"]["parentRefs"][0]
        proxy = self._proxies[parent.get("namespace", route["metadata"]["namespace"]), parent["name"]]
        request = requests.through(route, manifests, next(iter(proxy.ports.values())))
        deadline = time.monotonic() + REQUEST_SECONDS
        while True:
            status, text = request.send()
            if status == http.client.OK:
                logged = self._log_record(request.path)
                pod = self._pod_at(logged["endpoint"])
                if pod is not None:
                    return "\n".join(("", f"$ {request.command}", text.strip(), "", *self._explanation(logged, pod)))
            if time.monotonic() > deadline:
                raise LocalError(f"{request.command} got the answer {status}: {text}")
            time.sleep(0.2)

    def _pod_at(self, endpoint: str) -> addresses.Tree | None:
        """Return the pod at an address with a port; None if it is gone, or going."""
        address = endpoint.partition(":")[0]
        pods = (pod for pod in self._model_servers() if "deletionTimestamp" not in pod["metadata"])
        return next((pod for pod in pods if pod["status"].get("podIP") == address), None)

    def _explanation(self, logged: Mapping[str, str], pod: addresses.Tree) -> list[str]:
        """Return lines about the path of a request: the pod that answered, and the scores that a picker gave."""
        lines = [
            f"Answered by  {pod['metadata']['name']} on {pod['spec']['nodeName']}, at {logged['endpoint']}",
            f"Routed to    {logged['cluster']}",
            *self._servers.explanation(pod["status"]["podIP"]),
        ]
        for part, command in self._pickers.items():
            config = command.config.read_text(encoding="utf-8")
            decided = decision.CandidateScores.of(self._gateway.log(part), config, logged["id"])
            if decided.scores:
                lines.append(f"Picked by    {part.replace('.', '/', 1)}, which scored its candidates:")
            lines += [f"  {line}" for line in decided.lines()]
        return lines

    def _log_record(self, path: str) -> dict[str, str]:
        """Return the proxy's log record of the latest request for a path."""

        def records() -> list[dict[str, str]]:
            if not self._gateway.access_log.exists():
                return []
            text = self._gateway.access_log.read_text(encoding="utf-8")
            lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
            return [line for line in lines if line["path"] == path and line["status"] == http.client.OK]

        self._gateway.wait("istiod", records)
        return records()[-1]

    def _use_loopback(self) -> None:
        """Let nodes give loopback addresses to their pods, because servers of this machine can listen on loopback.

        The addresses follow from the port of the API server, so two control planes of this machine share no address.
        """
        _, body = self._plane.api().get("/api/v1/nodes")
        names = [node["metadata"]["name"] for node in json.loads(body)["items"] if not node["spec"].get("podCIDR")]
        if names:
            self._gateway.apply([objects.node(name, self._plane.loopback) for name in names])

    def _move_pods(self) -> None:
        """Replace pods of an earlier deployment that are not on loopback. Return when all model servers are ready."""
        label = "=".join(simulator.SELECTED)
        for pod in self._model_servers():
            if not pod["status"].get("podIP", "127.").startswith("127."):
                metadata = pod["metadata"]
                place = (metadata["name"], f"--namespace={metadata['namespace']}")
                self._plane.kubectl("delete", "pod", *place, "--wait=false")
        self._plane.kubectl(
            "wait", "--for=condition=Ready", "pod", f"--selector={label}", "--all-namespaces", "--timeout=60s"
        )

    def _pods(self, engine: EngineDeployment) -> list[addresses.Tree]:
        """Return the pods of a Deployment as soon as all of them are ready. Raises LocalError after a timeout.

        An autoscaler may have made more pods than the fewest.
        """
        deadline = time.monotonic() + REQUEST_SECONDS
        while True:
            listing = addresses.read(self._plane.api())
            pods = listing.ready_pods(engine.namespace, engine.labels) if listing else []
            if len(pods) == engine.replicas or (engine.is_autoscaled and len(pods) > engine.replicas):
                return pods
            if time.monotonic() > deadline:
                place = f"{engine.namespace}/{engine.name}"
                raise LocalError(f"{place} has {len(pods)} ready pods instead of {engine.replicas}")
            time.sleep(0.2)

    def _model_servers(self) -> list[addresses.Tree]:
        listing = addresses.read(self._plane.api())
        pods = listing.pods if listing else ()
        return [pod for pod in pods if simulator.SELECTED in pod["metadata"].get("labels", {}).items()]

    def _port(self, place: tuple[str, str]) -> int:
        """Return a free port for a Gateway's proxy: its earlier port, `FIRST_PORT`, or else any free port."""
        path = self._directory / "ports.json"
        ports: dict[str, int] = json.loads(files.text(path) or "{}")
        key = "/".join(place)
        for port in (ports.get(key), FIRST_PORT):
            if port is not None and _is_free(port):
                break
        else:
            port = free_ports((key,))[key]
        files.write(path, json.dumps({**ports, key: port}))
        return port


def _prepare_engines(description: Mapping[str, Any], state: Path, report: Report) -> EngineSelection:
    """Return which model servers run, install their versions of vLLM, and say what stays simulated.

    Raises LocalError if a version cannot be installed, or if the machine has too little memory.
    """
    selection = select(description["objects"])
    servers = ModelServers(state / up.MODEL_SERVERS)
    check_memory(selection, freed=servers.megabytes())
    servers.end()
    for name, reason in selection.simulated.items():
        report.say(f"{name} stays simulated: {reason}")
    for version in selection.versions:
        installation.install(version.name, report)
    return selection


def _servers(selection: EngineSelection) -> str:
    """Return a clause about the model servers."""
    if not selection.engines:
        return SIMULATED
    return ENGINES.format(engines=" and ".join(f"vLLM {version.name}" for version in selection.versions))


def _settings(release: str, description: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of the stack that give the picker's release to all services and canaries.

    `description` names the services and canaries with releases of their own, such as `chat.canary`.
    """
    owners = description.get("ownReleases", {})
    return {"release": release, **{f"services.{owner}.release": release for owner in owners}}


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _title(epp: Tool, *, is_llm_d: bool) -> str:
    """Return name and version of the picker. If the user built the picker (llm-d), the checksum follows."""
    if is_llm_d:
        return f"the picker of llm-d {epp.version}, sha256 {epp.sha256}"
    return f"the picker of GIE {epp.version}"
