"""Reader of zerfoo's ZerfooInferenceServices, which are JSON without a kind, or objects of any API group."""

import re
from collections.abc import Mapping, Sequence

from migration import pods
from migration.accounts import Original
from migration.converted import Converted
from migration.names import sanitize_dns1035_label
from models.paths import Path

TABLES: Mapping[str, str] = {"zerfoo": "zerfoo", "*/ZerfooInferenceService": "zerfoo-object"}
COMPANIONS: Mapping[str, str] = {}
_SPEC = Path("spec")
_NAMELESS = "zerfoo"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
"""Pattern of a model without a scheme that a repository of Hugging Face may have."""
_ENGINE = "zerfoo's own engine has served the model, and here vLLM serves it"
_ACCELERATOR = "the file names no accelerator; {name} is taken"
_METRIC = "the file names no metric for autoscaling; queue-size with target 5 is taken"
_QUEUE = {"type": "queue-size", "target": 5}
_NANOSECONDS = 1_000_000
"""Nanoseconds in a millisecond."""
_SECOND = 1_000
"""Milliseconds in a second."""


def read(documents: Sequence[Original], companions: Sequence[Original]) -> list[Converted]:  # noqa: ARG001
    """Return the service of each document."""
    return [_service(document) for document in documents]


def _service(document: Original) -> Converted:
    metadata = Path()
    if document.kind:
        metadata = Path("metadata")
    name = document.text(metadata / "name") or _NAMELESS
    converted = Converted(sanitize_dns1035_label(name), documents=(document,))
    if converted.key != name:
        document.note(metadata / "name", "differs", key=converted.key_of())
    document.remark("differs", _ENGINE)
    converted.set_in_stack(document.text(metadata / "namespace") or None, "namespace")
    source = _source(document, _SPEC / "modelRef", converted.key_of("model"))
    converted.set(source, "model", "source")
    _devices(document, converted)
    _replicas(document, converted)
    _canary(document, converted)
    _health(document, converted)
    return converted


def _source(document: Original, path: Path, key: Path) -> str | None:
    """Take the source of a model. It is asked for if it has no scheme."""
    reference = document.text(path)
    if reference is None or "://" in reference:
        return reference
    document.note(path, "ask", key=key)
    if _REPOSITORY.fullmatch(reference):
        return f"hf://{reference}"
    return None


def _devices(document: Original, converted: Converted) -> None:
    at = _SPEC / "resources"
    memory = document.text(at / "gpuMemory") or None
    name = "cpu"
    if memory is not None:
        name = "nvidia"
        document.note(at / "gpuMemory", "ask", key=converted.key_of("accelerator"))
    converted.set(name, "accelerator")
    document.remark("ask", _ACCELERATOR.format(name=name), converted.key_of("accelerator"))
    for resource in ("cpu", "memory"):
        converted.set(pods.quantity(document, at / resource) or None, "resources", "limits", resource)


def _replicas(document: Original, converted: Converted) -> None:
    """Read the number of replicas. There is autoscaling if both bounds are above 0."""
    names = ("minReplicas", "maxReplicas")
    bounds = {name: document.number(_SPEC / name) for name in names}
    if any(number is None or number <= 0 for number in bounds.values()):
        converted.set(document.number(_SPEC / "replicas"), "replicas")
        for name in names:
            document.drop(_SPEC / name, "there is no autoscaling")
        return
    if not document.has(_SPEC / "canary"):
        document.drop(_SPEC / "replicas", "autoscaling sets the number")
    converted.set({"type": "hpa", **bounds, "metrics": [_QUEUE]}, "autoscaling")
    document.remark("ask", _METRIC, converted.key_of("autoscaling"))


def _canary(document: Original, converted: Converted) -> None:
    """Read the canary, which has as many replicas as the service has without autoscaling."""
    at = _SPEC / "canary"
    if not document.has(at):
        return
    source = _source(document, at / "modelRef", converted.key_of("canary"))
    weight = document.number(at / "weight") or 0
    if weight:
        document.note(at / "weight", "ask", key=converted.key_of("canary", "weight"))
    if source is not None:
        converted.set({"model": {"source": source}, "weight": 0}, "canary")
        converted.set(document.number(_SPEC / "replicas"), "canary", "replicas")
    elif "autoscaling" in converted.service:
        document.drop(_SPEC / "replicas", "autoscaling sets the number")


def _health(document: Original, converted: Converted) -> None:
    """Read how often probes ask. They ask for the paths that vLLM answers, and zerfoo's engine answers others."""
    at = _SPEC / "healthCheck"
    document.text(at / "path", converted.key_of("health"))
    for name in ("interval", "timeout"):
        nanoseconds = document.number(at / name)
        if nanoseconds is not None:
            if nanoseconds % _NANOSECONDS:
                document.note(at / name, "differs", key=converted.key_of("health", name))
            converted.set(_duration(nanoseconds), "health", name)


def _duration(nanoseconds: int) -> str:
    """Return a duration of this program, in seconds if they are whole."""
    milliseconds = nanoseconds // _NANOSECONDS
    if milliseconds % _SECOND == 0:
        return f"{milliseconds // _SECOND}s"
    return f"{milliseconds}ms"
