"""Flags of the picker: which a user may set, to what, and why not the others."""

import pytest

from planning.releases import channel, offered_channels
from tests.support.stacks import tree
from tests.support.stacks.picker_configs import planned, said
from tests.support.stacks.shapes import told


def test_flags_are_single_tokens_behind_ours_in_the_order_of_their_names():
    flags = {"zap-devel": "false", "drain-timeout": "60s"}
    made = planned(endpointPicker={"flags": flags})
    assert made.arguments == (*planned().arguments, "--drain-timeout=60s", "--zap-devel=false")


@pytest.mark.parametrize(
    "argument", planned(endpointPicker={"scorerWeights": {"session-affinity-scorer": 1}}).arguments
)
def test_no_flag_can_be_written_over(argument):
    name = argument.removeprefix("--").partition("=")[0]
    (line,) = said(endpointPicker={"flags": {name: "1"}})
    assert line.startswith(f"flags.{name}: is decided by this program ({name}); remove it")


@pytest.mark.parametrize("release", offered_channels())
def test_a_rejected_flag_says_why(release):
    for name, reason in channel(release).picker.flags.rejected.items():
        assert said(release, endpointPicker={"flags": {name: "1"}}) == [
            f"flags.{name}: cannot be set ({name}); remove it: {reason}"
        ]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("drain-timeout", "1m30s", "90"),
        ("zap-devel", "true", "yes"),
        ("zap-time-encoding", "ISO8601", "nope"),
        ("refresh-prometheus-metrics-interval", "5s", "0s"),
    ],
)
def test_a_flags_value_has_its_shape(name, good, bad):
    assert said(endpointPicker={"flags": {name: good}}) == []
    if bad is not None:
        (line,) = said(endpointPicker={"flags": {name: bad}})
        assert line.startswith((f"flags.{name}: is not ", f"flags.{name}: is no"))
        assert bad not in line.partition(";")[0]


AT = "services.qwen.endpointPicker"


REASON = "one pod serves, and any is the right one"


CERTIFICATE = {"type": "certificate", "secret": "picker"}


def stack(release="llm-d-0.10", service=None, **picker):
    return tree(qwen={"endpointPicker": picker, **(service or {})}) | {"release": release}


def test_a_mode_and_a_reason_without_each_other_are_refused_where_they_are_written():
    (message,) = told(stack(failureMode="FailOpen"))
    what = "is missing, and FailOpen sends requests to any pod of the pool while no picker answers"
    assert message == f"{AT}.failOpenReason: {what}; write why requests may bypass the picker, or remove failureMode"
    (message,) = told(stack(failOpenReason=REASON))
    what = "has no effect with failureMode: FailClose"
    assert message == f"{AT}.failOpenReason: {what}; remove it, or set failureMode: FailOpen"


def test_an_authority_that_nobody_asks_is_refused_where_it_is_written():
    stack_with_tls = stack(tls={**CERTIFICATE, "caSecret": "picker-ca"})
    gateway = {"name": "gateway", "namespace": "gateways", "provider": "none"}
    (message,) = told(stack_with_tls | {"gateway": gateway})
    assert message == f"{AT}.tls.caSecret: has no effect with gateway.provider none (picker-ca); remove it"
    (message,) = told({key: value for key, value in stack_with_tls.items() if key != "gateway"})
    assert message == f"{AT}.tls.caSecret: has no effect without a gateway (picker-ca); remove it"
