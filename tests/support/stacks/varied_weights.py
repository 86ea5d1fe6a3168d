"""Valid stacks whose weights come from sources in further ways."""

from typing import Any

from tests.support.stacks import tree

TOKEN = [{"name": "one", "key": "one"}]
"""A Secret with the token of a hub under a key of its own."""


def _keyed(storage: dict[str, Any]) -> dict[str, Any]:
    model = {"name": "org/m", "source": "hf://org/m@v1", "size": "1Gi"}
    return tree(qwen={"model": model, "storage": storage})


def _keyed_adapter() -> dict[str, Any]:
    adapters = {"sql": {"source": "hf://org/sql", "secrets": [{"name": "other", "key": "other"}]}}
    model = {"source": "hf://org/m@v1", "secrets": TOKEN, "lora": {"adapters": adapters}}
    return tree(qwen={"model": model})


def _keyed_cache() -> dict[str, Any]:
    cached = {"source": "hf://org/m@v1", "size": "1Gi", "fill": {"secrets": TOKEN}}
    return _keyed({"type": "shared", "cache": "m"}) | {"caches": {"m": cached}}


def _mounted() -> dict[str, Any]:
    adapters = {"sql": {"source": "oci://registry.example/org/sql:v1"}, "legal": {"source": "hf://org/legal"}}
    model = {
        "name": "org/m",
        "source": "oci://registry.example/org/m:v1",
        "folder": "models/m",
        "lora": {"adapters": adapters},
    }
    return tree(qwen={"model": model, "pod": {"imagePullSecrets": [{"name": "one"}]}})


WEIGHTS = {
    "mounted": _mounted(),
    "keyed": _keyed_adapter(),
    "keyed-cache": _keyed_cache(),
    "keyed-dedicated": _keyed({"type": "dedicated", "fill": {"secrets": TOKEN}}),
    "keyed-existing": _keyed({"type": "existing", "claimName": "weights", "fill": {"secrets": TOKEN}}),
}
