"""The settings of an interceptor are those that its image reads."""

import jsonschema_rs
import yaml

from tests.support.stacks import exactly, rendered
from tests.support.stacks.varied_metering import METERED, metered

SETTINGS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["listenPort", "idleTimeout", "emit"],
    "properties": {
        "idleTimeout": {"pattern": "^[1-9][0-9]*s$"},
        "listenPort": {"type": "integer", "minimum": 1024, "maximum": 65535},
        "registry": {
            "type": "object",
            "additionalProperties": False,
            "required": ["strategy", "k8sNamespace"],
            "properties": {"strategy": {"const": "cached"}, "k8sNamespace": {"pattern": "^[a-z0-9-]{1,63}$"}},
        },
        "emit": {
            "type": "object",
            "additionalProperties": False,
            "required": ["streamName", "walPath"],
            "properties": {
                "valkeyAddr": {"pattern": "^[a-z0-9.-]+:[0-9]+$"},
                "streamName": {"type": "string", "minLength": 1},
                "walPath": {"pattern": "^/.+/.+$"},
            },
        },
    },
}
"""Keys that an image of the label line reads (phoebe 2.1); it ignores any other silently."""


def settings(stack):
    text = exactly(rendered(stack), "ConfigMap", "phoebe-interceptor")["data"]["settings.yaml"]
    return yaml.safe_load(text)


def test_the_settings_fit_a_strict_schema_and_name_the_models_namespace():
    """See phoebe 8.5, 5.4, 2.1."""
    emit = {"valkeyAddr": "valkey.metering:6379", "streamName": "counted"}
    written = settings(metered(deploy={"emit": emit}))
    jsonschema_rs.validator_for(SETTINGS).validate(written)
    assert written["registry"] == {"strategy": "cached", "k8sNamespace": "models"}
    assert written["emit"] == {**emit, "walPath": "/var/lib/phoebe/metering-wal.jsonl"}
    assert written["listenPort"] == 8080
    by_header = settings(metered("header"))
    jsonschema_rs.validator_for(SETTINGS).validate(by_header)
    assert "registry" not in by_header


def test_other_settings_restart_the_pods():
    def checksum(**emit):
        deployment = exactly(rendered(metered(deploy={"emit": emit})), "Deployment", "phoebe-interceptor")
        return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    assert checksum() == checksum() != checksum(streamName="counted")


def test_the_interceptor_keeps_idle_connections_longer_than_every_gateway():
    """See defects U3."""
    settings = [item for item in rendered(METERED["labelled"]) if "settings.yaml" in item.get("data", {})]
    assert [yaml.safe_load(item["data"]["settings.yaml"])["idleTimeout"] for item in settings] == ["3630s"]
