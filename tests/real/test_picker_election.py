"""Two real pickers of one service with the arguments that they are deployed with: one serves, the other waits."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.deployments import in_namespace
from tests.leader import WAITING, leading
from tests.pickers import picker, serves

pytestmark = pytest.mark.real

NAMESPACE = "elects"
LEASE = "epp-elects-bert.gateway-api-inference-extension.sigs.k8s.io"


def answer(port, service):
    """Return whether a picker says that it serves; nothing where it says nothing."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            found = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=2)
        except grpc.RpcError:
            return None
    return found.status == health_pb2.HealthCheckResponse.SERVING


def holder(one):
    return one.get("lease", LEASE, NAMESPACE)["spec"]["holderIdentity"]


def says(log, text, deadline=30):
    """Say whether a picker comes to log a text before the deadline."""
    until = time.monotonic() + deadline
    while text not in log.read_text(encoding="utf-8"):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_one_of_two_pickers_serves_and_the_other_takes_over(deploy, plane, tools, tmp_path):
    several = {"replicas": 2, "pod": {"annotations": WAITING}}
    one = deploy(in_namespace(NAMESPACE, bert={"endpointPicker": several}) | {"release": "gie-1.3"})
    with leading(plane, NAMESPACE, "bert"):
        one.up()
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with picker(plane, tools, NAMESPACE, "bert-epp", folders[0]) as (first, leader):
        assert serves(first, leader, "readiness"), (folders[0] / "log").read_text(encoding="utf-8")[-3000:]
        held = holder(one)
        with picker(plane, tools, NAMESPACE, "bert-epp", folders[1]) as (second, waiting):
            assert serves(second, waiting, "liveness")
            assert says(folders[1] / "log", LEASE)
            assert not serves(second, waiting, "readiness", deadline=8)
            assert answer(second, "readiness") is False
            assert answer(first, "readiness") is True
            assert holder(one) == held
            leader.terminate()
            leader.wait(timeout=30)
            assert serves(second, waiting, "readiness", deadline=60)
            assert answer(first, "readiness") is None
            assert holder(one) != held
    for folder in folders:
        assert "forbidden" not in (folder / "log").read_text(encoding="utf-8")
