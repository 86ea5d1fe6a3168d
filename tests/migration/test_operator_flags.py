"""Flags of the model-operator."""

import pytest

from migration import fields, operator_flags
from migration.accounts import Original
from migration.operator_flags import DEFAULTS, OperatorFlags

IMAGE = "ghcr.io/otterscale/model-operator:v1.0.1"


def read(*arguments, image=IMAGE):
    container = {"name": "manager", "image": image, "args": list(arguments)}
    tree = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"containers": [container]}}}}
    return operator_flags.read([Original("a.yaml", tree, fields.table("operator"))])


def test_without_flags_the_operator_has_its_defaults():
    assert read("--leader-elect") == DEFAULTS


@pytest.mark.parametrize(
    ("argument", "flags"),
    [
        ("--provider=gke", OperatorFlags(provider="gke")),
        ("--provider=nginx", OperatorFlags(provider="none")),
        ("--default-gateway-name=", OperatorFlags(gateway_name="")),
        ("--metrics-endpoint-auth=false", OperatorFlags(metrics_auth=False)),
        ("--default-engine-image=r/e:v1", OperatorFlags(engine_image="r/e:v1")),
        ("--default-epp-image=r/p:v1", OperatorFlags(picker_image="r/p:v1")),
        ("--tracing-enabled", DEFAULTS),
    ],
)
def test_a_flag_changes_one_setting(argument, flags):
    assert read(argument) == flags


def test_traces_have_an_endpoint_and_a_sampler():
    arguments = ("--tracing-enabled", "--tracing-otel-endpoint=http://o:4317", "--tracing-sampler=always_on")
    assert read(*arguments).tracing == {"endpoint": "http://o:4317", "sampler": "always_on"}


def test_another_deployment_is_no_operator():
    assert read("--leader-elect", image="r/manager:v1") is None
    assert operator_flags.read([]) is None


def test_an_operator_with_another_image_is_known_by_its_flags():
    assert read("--default-epp-image=r/p:v1", image="r/mirror:v1") == OperatorFlags(picker_image="r/p:v1")
