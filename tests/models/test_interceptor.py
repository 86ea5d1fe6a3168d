"""The interceptor: pinned images, addresses, paths and the time that its pods need to end."""

import pytest

from models.interceptor import Interceptor, InterceptorDeployment
from tests.support.stacks import mistakes, tree

IMAGE = f"registry.example/phoebe@sha256:{'0f' * 32}"
RUNNING = {"mode": "label", "namespace": "metering"}


@pytest.mark.parametrize(
    ("deploy", "message"),
    [
        (
            {"image": "registry.example/phoebe:v1"},
            (
                "image: is not an image reference with a digest (registry.example/phoebe:v1); write "
                "registry/repository with a digest, such as registry.example/phoebe@sha256:…"
            ),
        ),
        (
            {"drainTimeout": "74s"},
            (
                "drainTimeout: is too short for a terminating pod to finish its requests and send its events (74s); "
                "write 75s or more"
            ),
        ),
        (
            {"emit": {"valkeyAddr": "valkey"}},
            (
                "emit.valkeyAddr: is not host:port (valkey); write an address such as valkey.metering:6379; an address "
                "with a password belongs in settingsSecret"
            ),
        ),
        (
            {"emit": {"valkeyAddr": "valkey:70000"}},
            (
                "emit.valkeyAddr: has a port that is not from 1 to 65535 (valkey:70000); write a port that exists, "
                "such as 8000"
            ),
        ),
        (
            {"emit": {"walPath": "/wal.jsonl"}},
            (
                "emit.walPath: is not an absolute path of a file below a directory (/wal.jsonl); write an absolute "
                "path such as /var/lib/phoebe/metering-wal.jsonl"
            ),
        ),
        (
            {"emit": {"streamName": "a b"}},
            "emit.streamName: is not the name of a stream (a b); write a name such as phoebe:metering",
        ),
    ],
)
def test_a_mistaken_deployment_is_refused(deploy, message):
    stack = tree() | {"interceptor": {**RUNNING, "deploy": {"image": IMAGE, **deploy}}}
    assert mistakes(stack) == [f"interceptor.deploy.{message}"]


@pytest.mark.parametrize("timeout", ["75s", "75000ms", "1m15s", "2m"])
def test_a_drain_of_75_seconds_or_more_is_taken(timeout):
    assert InterceptorDeployment.model_validate({"image": IMAGE, "drainTimeout": timeout}).drain_timeout == timeout


def test_an_interceptor_runs_already_unless_it_is_deployed():
    running = Interceptor.model_validate(RUNNING)
    assert (running.deploy, running.port, running.service_name) == (None, 8080, "phoebe-interceptor")
    deployment = InterceptorDeployment.model_validate({"image": IMAGE})
    assert (deployment.replicas, deployment.drain_timeout, deployment.emit.valkey_addr) == (2, "75s", None)
    assert deployment.emit.wal_path == "/var/lib/phoebe/metering-wal.jsonl"
