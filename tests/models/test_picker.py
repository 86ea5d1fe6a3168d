"""The endpoint picker: weights, flags, TLS by type, and the addresses of a latency predictor."""

import pytest

from models.picker import EndpointPicker, LatencyPredictor, SelfSigned
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("picker", "message"),
    [
        (
            {"scorerWeights": {"queue-scorer": 0}},
            "scorerWeights.queue-scorer: is not above 0 and at most 1000 (0); write a number above 0, such as 2",
        ),
        (
            {"flags": {"--drain-timeout": "60s"}},
            (
                "flags.--drain-timeout: is not a flag's name (--drain-timeout); write the name without the dashes "
                "before it, such as drain-timeout"
            ),
        ),
        (
            {"logLevel": 11},
            "logLevel: is not a whole number from 0 to 10 (11); write 1 for normal, 4 for debugging",
        ),
        (
            {"containers": {"render": {"image": "a.example/b:v1", "runAsUser": 0}}},
            (
                "containers.render.runAsUser: is not a whole number from 1 to 2147483647 (0); write a user id above 0; "
                "root is refused"
            ),
        ),
        ({"tls": {"type": "certificate"}}, "tls.secret: is missing; add it, such as picker-certificate"),
        (
            {"replication": "active"},
            "replication: is not one of active-passive or active-active (active); choose one of them",
        ),
        (
            {"traffic": {"requestsPerSecond": 0}},
            (
                "traffic.requestsPerSecond: is not above 0 and at most 100000 (0); write the number of requests in a "
                "busy second, such as 20"
            ),
        ),
    ],
)
def test_a_mistaken_picker_is_refused(picker, message):
    assert mistakes(tree(qwen={"endpointPicker": picker})) == [f"services.qwen.endpointPicker.{message}"]


def test_a_picker_scores_by_prefixes_and_refuses_requests_while_it_is_away():
    picker = EndpointPicker.model_validate({})
    assert (picker.enabled, picker.preset, picker.failure_mode) == (True, "approximate-prefix-cache", "FailClose")
    assert (picker.replicas, picker.replication, picker.port) == (1, "active-passive", 9002)
    assert isinstance(picker.tls, SelfSigned)


def test_a_predictor_has_the_addresses_of_servers_outside_of_the_pods():
    servers = ["http://predict-a:8001", "http://predict-b:8001"]
    keys = {"trainingServer": "http://train:8000", "predictionServers": servers}
    assert LatencyPredictor.model_validate(keys).addresses == ("http://train:8000", *servers)
    assert LatencyPredictor.model_validate({"predictionServers": servers}).addresses == tuple(servers)
    assert LatencyPredictor.model_validate({"deploy": {}}).addresses == ()


def test_the_time_to_live_of_requests_has_the_key_of_the_pickers_configuration():
    picker = EndpointPicker.model_validate({"flowControl": {"defaultRequestTTL": "2m"}})
    assert picker.flow_control.default_request_ttl == "2m"
