"""Stacks for the benchmarks: any number of services that look like real ones."""

from typing import Any

from planning.ground.marks import StackName

NAME = StackName("organization", "inference-stacks", "dev")
_MODELS = (
    ("Qwen/Qwen3-8B", "16Gi"),
    ("meta-llama/Llama-3.1-8B-Instruct", "16Gi"),
    ("mistralai/Mistral-Small-24B-Instruct-2501", "48Gi"),
    ("google/gemma-3-4b-it", "9Gi"),
)
_COMMIT = "b968826d9c46dd6066d109eabc6255188de91218"
"""Placeholder for the commit of every model, because a source without a commit gives a warning."""
_LONGEST_REQUEST = "10m"
_HOST = 8
_HEADER = 9
"""Last digits of service numbers: with `_HOST`, the route has a separate host; with `_HEADER`, it matches a header."""


def tree(services: int, namespace: str = "models", *, create_namespace: bool = False) -> dict[str, Any]:
    """Return a stack with the given number of services.

    Most routes differ by path, and some by host or header, so that a benchmark includes every kind of comparison.

    Stacks of different namespaces never claim the same requests.
    """
    return {
        "namespace": namespace,
        "namespaceOptions": {"create": create_namespace},
        "gateway": {"name": "inference-gateway", "namespace": "gateways", "provider": "istio"},
        "defaults": {"accelerator": "nvidia"},
        "services": {f"s{number}": _service(number, namespace) for number in range(services)},
    }


def _service(number: int, namespace: str) -> dict[str, Any]:
    name, size = _MODELS[number % len(_MODELS)]
    return {
        "model": {"name": name, "source": f"hf://{name}@{_COMMIT}", "size": size},
        "drainTimeout": _LONGEST_REQUEST,
        "route": _route(number, namespace),
    }


def _route(number: int, namespace: str) -> dict[str, Any]:
    match number % 10:
        case digit if digit == _HOST:
            return {"hostnames": [f"s{number}.{namespace}.example.com"], "matches": [{"path": "/v1"}]}
        case digit if digit == _HEADER:
            return {"matches": [{"path": "/v1", "headers": {"x-service": f"{namespace}-s{number}"}}]}
        case _:
            return {"matches": [{"path": f"/{namespace}/s{number}"}], "timeouts": {"request": _LONGEST_REQUEST}}
