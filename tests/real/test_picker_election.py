"""Two real pickers of one service with the arguments that they are deployed with: one serves, the other waits."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from planning.releases import picker_series
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.leader import WAITING, leading
from tests.support.traffic import exposition
from tests.support.traffic.pickers import METRICS, picker

pytestmark = pytest.mark.real

LEADER = picker_series.metrics("gie-1.3")["leader"]
NAMESPACE = "elects"
LEASE = "epp-elects-bert.gateway-api-inference-extension.sigs.k8s.io"


def answer(candidate):
    """Return whether a picker says that it is ready; nothing where it says nothing."""
    with grpc.insecure_channel(f"127.0.0.1:{candidate.health}") as channel:
        try:
            found = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service="readiness"), timeout=2
            )
        except grpc.RpcError:
            return None
    return found.status == health_pb2.HealthCheckResponse.SERVING


def holder(deployed):
    return deployed.get("lease", LEASE, NAMESPACE)["spec"]["holderIdentity"]


def leader(candidate):
    """Return the metric by which a picker tells whether it holds the lease."""
    return exposition.read(candidate.ports[METRICS])[LEADER.name]


def says(picker, text, deadline=120):
    """Say whether a picker comes to log a text before the deadline."""
    until = time.monotonic() + deadline
    while text not in picker.said():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_one_of_two_pickers_serves_and_the_other_takes_over(deploy, plane, tools, tmp_path):
    several = {"replicas": 2, "metricsAuth": False, "pod": {"annotations": WAITING}}
    deployed = deploy(in_namespace(NAMESPACE, bert={"endpointPicker": several}) | {"release": "gie-1.3"})
    with leading(plane, NAMESPACE, "bert"):
        deployed.up()
    with picker(plane, tools, NAMESPACE, "bert-epp", tmp_path / "first") as first:
        assert first.serves("readiness"), first.said()[-3000:]
        held = holder(deployed)
        with picker(plane, tools, NAMESPACE, "bert-epp", tmp_path / "second") as second:
            assert second.serves("liveness")
            assert says(second, LEASE)
            assert not second.serves("readiness", deadline=8)
            assert answer(second) is False
            assert answer(first) is True
            assert [leader(candidate).value for candidate in (first, second)] == [1, 0]
            assert {*LEADER.labels} == leader(first).labels == leader(second).labels
            assert holder(deployed) == held
            first.process.terminate()
            first.process.wait(timeout=120)
            assert second.serves("readiness", deadline=240)
            assert answer(first) is None
            assert leader(second).value == 1
            assert holder(deployed) != held
            assert "forbidden" not in first.said() + second.said()
