"""A real Prometheus on loopback: it scrapes targets of a test, evaluates rules and answers queries."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local import processes
from local.files import tail
from tests.support.waits import eventually

Tree = Mapping[str, Any]
LISTENS = re.compile(r'msg="Listening on".* address=127\.0\.0\.1:(\d+)')
DEADLINE = 120.0
"""Seconds that a start or an end may take on a busy machine."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address that is scraped, and the labels that its series get as a monitor would write them."""

    address: str
    """Host and port."""
    labels: Mapping[str, str]
    path: str = "/metrics"
    token: str | None = None
    """Bearer token, if the target asks for one."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an answer."""

    labels: Mapping[str, str]
    """Labels without the metric's name."""
    value: float


class Prometheus:
    """A server that runs. Times are in seconds since the epoch."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self._log = log

    def query(self, expression: str, at: float | None = None) -> list[Sample]:
        """Return the series of an instant query, now or at a time. Fails with Prometheus' words if it refuses it."""
        moment = {} if at is None else {"time": repr(at)}
        answer = self._get("query", {"query": expression, **moment})
        assert answer["resultType"] in ("vector", "scalar"), answer
        if answer["resultType"] == "scalar":
            return [Sample({}, float(answer["result"][1]))]
        return [_sample(series) for series in answer["result"]]

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire now."""
        alerts = self._get("alerts", {})["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def rules(self) -> list[Tree]:
        """Return every rule as the server knows it, with its health, error and state."""
        return [rule for group in self._get("rules", {})["groups"] for rule in group["rules"]]

    def scraped(self, targets: int) -> bool:
        """Tell whether so many targets were scraped with success."""
        return len(self.query("up == 1")) == targets

    def eventually(self, expression: str, deadline: float = DEADLINE) -> list[Sample]:
        """Return the series of an instant query as soon as it has any."""
        answers: list[list[Sample]] = []

        def answered() -> bool:
            answers.append(self.query(expression))
            return bool(answers[-1])

        eventually(answered, deadline, 0.2, lambda: f"{expression} has no result\n{tail(self._log)}")
        return answers[-1]

    def _get(self, path: str, values: Mapping[str, str]) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(values)}"
        with _OPENER.open(url, timeout=DEADLINE) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]


class _Errors(urllib.request.HTTPErrorProcessor):
    """Errors come as JSON like other answers."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        del request
        return response


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Errors)


@contextlib.contextmanager
def prometheus(
    binary: Path,
    directory: Path,
    targets: Sequence[Target],
    groups: Sequence[Tree] = (),
    *,
    interval: str = "1s",
    storage: Path | None = None,
) -> Generator[Prometheus]:
    """Run a server for the time of a `with` block. It scrapes and evaluates at the interval.

    `groups` are trees as in `spec.groups` of a PrometheusRule; a group's own interval counts for it. `storage` has past
    samples.
    """
    directory.mkdir(parents=True)
    config = directory / "prometheus.json"
    rules = directory / "rules.json"
    rules.write_text(json.dumps({"groups": groups}), encoding="utf-8")
    config.write_text(json.dumps(_configuration(targets, rules, interval)), encoding="utf-8")
    config.chmod(0o600)
    log = directory / "log"
    command = [str(binary), f"--config.file={config}", "--web.listen-address=127.0.0.1:0"]
    command += [f"--storage.tsdb.path={storage or directory / 'storage'}", "--no-auto-gomemlimit"]
    with log.open("wb") as file:
        env = {"PATH": os.defpath, "HOME": str(directory)}
        process = subprocess.Popen(processes.tied_command(command), env=env, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield Prometheus(_port(process, log), log)
    finally:
        _end(process)


def _configuration(targets: Sequence[Target], rules: Path, interval: str) -> Tree:
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
        "rule_files": [str(rules)],
        "scrape_configs": [_job(number, target) for number, target in enumerate(targets)],
    }


def _job(number: int, target: Target) -> Tree:
    job: dict[str, Any] = {
        "job_name": target.labels.get("job", f"target-{number}"),
        "metrics_path": target.path,
        "static_configs": [{"targets": [target.address], "labels": target.labels}],
    }
    if target.token is not None:
        job["authorization"] = {"credentials": target.token}
    return job


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Return the port of a server that has begun, as soon as it is ready."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        text = log.read_text(encoding="utf-8", errors="replace")
        assert process.poll() is None, f"Prometheus ended:\n{tail(log)}"
        match = LISTENS.search(text)
        if match is not None and _is_ready(int(match[1])):
            return int(match[1])
        time.sleep(0.05)
    raise AssertionError(f"Prometheus does not become ready:\n{tail(log)}")


def _is_ready(port: int) -> bool:
    try:
        with _OPENER.open(f"http://127.0.0.1:{port}/-/ready", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server; it writes nothing that anybody reads, so it need not do so in order."""
    process.send_signal(signal.SIGKILL)
    process.wait()


def _sample(series: Tree) -> Sample:
    labels = {name: value for name, value in series["metric"].items() if name != "__name__"}
    return Sample(labels, float(series["value"][1]))
