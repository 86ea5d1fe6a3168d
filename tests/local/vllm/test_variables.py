"""A variable that a container takes from its pod or from an object has the value that kubelet would give it."""

import base64
import json

import pytest

from local.errors import LocalError
from local.vllm import variables

POD = {
    "metadata": {"name": "pod-1", "namespace": "models", "labels": {"a.b/c": "label"}},
    "status": {"podIP": "127.0.0.5"},
}
OBJECTS = {
    "/api/v1/namespaces/models/secrets/hub": {
        "data": {"token": base64.b64encode(b"secret").decode(), "binary": "gIE="}
    },
    "/api/v1/namespaces/models/configmaps/settings": {"data": {"level": "debug"}},
}


class Api:
    def get(self, path):
        if path in OBJECTS:
            return 200, json.dumps(OBJECTS[path]).encode()
        return 404, b"{}"


def value(**source):
    return variables.value(Api(), POD, {"name": "VARIABLE", "valueFrom": source})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("status.podIP", "127.0.0.5"),
        ("metadata.name", "pod-1"),
        ("metadata.labels['a.b/c']", "label"),
        ("metadata.annotations['absent']", ""),
        ("status.hostIP", ""),
    ],
)
def test_fields_of_the_pod_are_read(path, expected):
    assert value(fieldRef={"fieldPath": path}) == expected


def test_keys_of_secrets_and_config_maps_are_read():
    assert value(secretKeyRef={"name": "hub", "key": "token"}) == "secret"
    assert value(configMapKeyRef={"name": "settings", "key": "level"}) == "debug"


@pytest.mark.parametrize("ref", [{"name": "hub", "key": "other"}, {"name": "other", "key": "token"}])
def test_a_key_that_does_not_exist_is_an_error_unless_it_is_optional(ref):
    assert value(secretKeyRef={**ref, "optional": True}) is None
    with pytest.raises(LocalError, match=rf"secrets/{ref['name']} has no key {ref['key']}, which an engine needs"):
        value(secretKeyRef=ref)


def test_a_value_of_bytes_is_an_error():
    with pytest.raises(
        LocalError, match=r"secrets/hub has bytes at key binary that are no UTF-8; a variable is a text$"
    ):
        value(secretKeyRef={"name": "hub", "key": "binary"})


def test_other_kinds_of_values_are_errors():
    with pytest.raises(LocalError, match="the value of VARIABLE is of a kind that is not read here: resourceFieldRef"):
        value(resourceFieldRef={"resource": "limits.cpu"})
