"""Reader of the flags of OtterScale's model-operator, which decide settings of all its ModelServices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from migration.accounts import Original
from models import flags
from models.flags import Flag
from models.paths import Path

GATEWAY_NAMESPACE = "llm-d"
"""Namespace of the gateway to which the operator attaches ModelServices that name none."""
QUESTION = (
    "the flags of the model-operator decide the provider of the gateway, default images and tracing; its defaults are "
    "taken; name a file with its Deployment after --with"
)
_CONTAINERS = Path("spec", "template", "spec", "containers")
_MARK = "--default-epp-image"
_NAMES = frozenset({
    "--default-engine-image", "--default-epp-image", "--default-gateway-name", "--provider", "--metrics-endpoint-auth",
    "--tracing-enabled", "--tracing-otel-endpoint", "--tracing-sampler", "--tracing-sampler-arg",
})  # fmt: skip
_IMAGE = "model-operator"
"""Last segment of the name of the operator's image."""


@dataclass(frozen=True, slots=True)
class OperatorFlags:
    """Settings of the model-operator; None where its default is the image of the release."""

    provider: str = "istio"
    gateway_name: str = "otterscale-llm-d-infra-inference-gateway"
    """Name of the gateway of ModelServices that name none; empty if they have no route."""
    engine_image: str | None = None
    picker_image: str | None = None
    metrics_auth: bool = True
    tracing: Mapping[str, str] | None = None
    """The key observability.tracing; None if there are no traces."""


DEFAULTS = OperatorFlags()


def read(documents: Sequence[Original]) -> OperatorFlags | None:
    """Return the flags of the operator; None if its Deployment is not among some Deployments."""
    for document in documents:
        for container in document.items(_CONTAINERS):
            if _is_operator(document, container):
                return _flags(document, container)
    return None


def _is_operator(document: Original, container: Path) -> bool:
    """Tell whether a container runs the model-operator: by its image, or by a flag that only this operator has."""
    image = document.peek(container / "image")
    if isinstance(image, str) and image.partition("@")[0].rpartition("/")[2].partition(":")[0] == _IMAGE:
        return True
    texts = [*_words(document, container / "command"), *_words(document, container / "args")]
    return any(text.partition("=")[0].startswith(_MARK) for text in texts)


def _words(document: Original, path: Path) -> list[str]:
    values = (document.peek(item) for item in document.items(path))
    return [value for value in values if isinstance(value, str)]


def _text(flag: Flag) -> str:
    """Return the value of a flag; a flag without a value is a switch that is on."""
    if flag.value is None:
        return "true"
    return flag.value


def _flags(document: Original, container: Path) -> OperatorFlags:
    words = [*document.texts(container / "command"), *document.texts(container / "args")]
    values = {flag.name: _text(flag) for flag in flags.parse(words) if flag.name in _NAMES}
    tracing = None
    if values.get("--tracing-enabled") == "true" and values.get("--tracing-otel-endpoint"):
        tracing = {"endpoint": values["--tracing-otel-endpoint"]}
        if "--tracing-sampler" in values:
            tracing["sampler"] = values["--tracing-sampler"]
        if "--tracing-sampler-arg" in values:
            tracing["samplerArg"] = values["--tracing-sampler-arg"]
    provider = values.get("--provider", DEFAULTS.provider)
    if provider not in {"istio", "gke"}:
        provider = "none"
    return OperatorFlags(
        provider=provider,
        gateway_name=values.get("--default-gateway-name", DEFAULTS.gateway_name),
        engine_image=values.get("--default-engine-image"),
        picker_image=values.get("--default-epp-image"),
        metrics_auth=values.get("--metrics-endpoint-auth", "true") != "false",
        tracing=tracing,
    )
