"""Names that zerfoo's operator, OtterScale's model-operator and aim-engine give to their objects.

A migration finds, adopts or removes objects by these names. The names are not always legal, and not always unique.
Therefore `planning.ground.names` gives other names to the objects of this project.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 63
"""Largest number of characters in a DNS label."""
_PREDICTOR = "-predictor-"
"""Text in KServe's host names, between the name of the InferenceService and the name of the namespace."""
_SHORTEST = 10
"""Minimum number of characters for an InferenceService's name. aim-engine rejects a namespace whose name is so long
that fewer characters are left."""
_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "&<>\u2028\u2029"}
"""Escape sequences by character. Go's JSON encoder escapes these characters, and Python's encoder does not."""


@dataclass(frozen=True, slots=True)
class ZerfooNames:
    """Names of a ZerfooInferenceService's objects.

    The names are illegal if the name of the ZerfooInferenceService is longer than 55 characters.
    """

    primary: str
    """Deployment of the primary."""
    canary: str
    """Deployment of the canary."""
    service: str
    """Service."""
    autoscaler: str
    """HorizontalPodAutoscaler."""


@dataclass(frozen=True, slots=True)
class OtterScaleNames:
    """Names of a ModelService's objects. The pool and the route have the same name as the ModelService."""

    decode: str
    prefill: str
    picker: str
    picker_config: str
    picker_secret: str
    picker_cluster_scoped: str


def zerfoo(name: str) -> ZerfooNames:
    """Return the names that zerfoo's operator gives to the objects of the ZerfooInferenceService `name`."""
    return ZerfooNames(f"{name}-primary", f"{name}-canary", f"{name}-svc", f"{name}-hpa")


def otterscale(namespace: str, name: str) -> OtterScaleNames:
    """Return the names that OtterScale's model-operator gives to the objects of the ModelService `name`."""
    picker = f"{sanitize_dns1035_label(name)}-epp"
    return OtterScaleNames(
        decode=f"{name}-decode",
        prefill=f"{name}-prefill",
        picker=picker,
        picker_config=f"{picker}-config",
        picker_secret=f"{picker}-sa-metrics-reader-secret",
        picker_cluster_scoped=f"{namespace}-{picker}",
    )


def sanitize_dns1035_label(text: str) -> str:
    """Return OtterScale's form of a name. The form is not shortened, and two names can have the same form."""
    lowered = "".join(char.lower() if "A" <= char <= "Z" else char for char in text)
    legal = re.sub(r"[^a-z0-9-]", "", re.sub(r"[._]", "-", lowered))
    label = re.sub(r"-+", "-", legal.strip("-")) or "modelservice"
    if label[0].isdigit():
        return f"m-{label}"
    return label


def inference_service(namespace: str, service: str) -> str:
    """Return aim-engine's name of an InferenceService.

    The name is shortened so far that the result of `predictor` has at most 63 characters. Raises `ValueError` if the
    namespace leaves fewer than 10 characters for the name.
    """
    longest = LONGEST - len(_PREDICTOR) - len(namespace)
    if longest < _SHORTEST:
        what = f'namespace "{namespace}" is too long ({len(namespace)} chars)'
        raise ValueError(f"{what}; InferenceService hostname would exceed {LONGEST} characters")
    return aim_name([service], [namespace], longest=longest)


def predictor(namespace: str, service: str) -> str:
    """Return the first label of the host name that KServe gives to aim-engine's InferenceService."""
    return f"{inference_service(namespace, service)}{_PREDICTOR}{namespace}"


def aim_route(namespace: str, service: str) -> str:
    """Return aim-engine's name of an HTTPRoute."""
    return aim_name([service], [namespace])


def aim_template_cache(namespace: str, template: str, service: str | None = None, uid: str | None = None) -> str:
    """Return aim-engine's name of a template cache.

    With a `service` and the `uid` of this service, the result is the name of the cache that belongs to the service.
    """
    if service is None:
        return aim_name([template], [namespace])
    return aim_name([template, service], [uid])


def aim_artifact(
    source: str, env: Sequence[object] | None = None, storage_class: str = "", cache: str | None = None
) -> str:
    """Return aim-engine's name of an artifact. `cache` names the dedicated cache to which the artifact belongs.

    `cache` is None if the artifact belongs to no dedicated cache.
    """
    dedicated = list[str]()
    if cache is not None:
        dedicated = ["dedicated", cache]
    return aim_name([source.replace(".", "-")], [source, env or None, storage_class, *dedicated], digits=10)


def aim_of_artifact(artifact: str, suffix: str, uid: str) -> str:
    """Return aim-engine's name of an artifact's claim or Job.

    `suffix` is `cache` for the claim, and `download` or `check-size` for a Job.
    """
    return aim_name([artifact, suffix], [uid])


def aim_name(parts: Sequence[str], hashed: Sequence[object] = (), *, digits: int = 8, longest: int = LONGEST) -> str:
    """Return the name that aim-engine makes from `parts`. If `hashed` is not empty, its hash is the end of the name.

    While the name has more than `longest` characters, the longest of `parts` loses its last character. Raises
    `ValueError` if `parts` is empty, or if `longest` is not from 1 to 63.
    """
    if not parts:
        raise ValueError("nameParts cannot be empty")
    if not 1 <= longest <= LONGEST:
        raise ValueError(f"maxLength must be between 1 and {LONGEST}, got {longest}")
    shown = [rfc_1123(part) or "part" for part in parts]
    digest = ""
    if hashed:
        digest = hashlib.sha256("|".join(map(_as_go, hashed)).encode()).hexdigest()[:digits]
    while sum(len(part) + 1 for part in shown) + len(digest) > longest and max(map(len, shown)) > 1:
        index = max(range(len(shown)), key=lambda position: len(shown[position]))
        shown[index] = shown[index][:-1].rstrip("-")
    return "-".join(filter(None, (*shown, digest)))


def rfc_1123(text: str) -> str:
    """Return aim-engine's form of a text that becomes a piece of a name. The result can be empty."""
    return re.sub(r"[^a-z0-9-]", "-", text.lower()).strip("-")[:LONGEST].rstrip("-")


def label_value(text: str) -> str:
    """Return aim-engine's form of a label's value.

    Raises `ValueError` if the form is empty.
    """
    value = re.sub(r"[^a-z0-9._-]+", "_", text.lower()).strip("_.-")[:LONGEST].rstrip("_.-")
    if not value:
        raise ValueError("label value is empty after sanitization")
    return value


def _as_go(value: object) -> str:
    """Return the JSON that aim-engine writes for a value.

    A mapping becomes a flat list of its keys and values, sorted by key. An empty list becomes null.
    """
    if isinstance(value, dict):
        value = [text for pair in sorted(value.items()) for text in pair]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if value == []:
        value = None
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return "".join(_ESCAPED.get(character, character) for character in text)
