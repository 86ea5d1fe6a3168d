"""Verdicts on services whose pods somebody else runs."""

from collections.abc import Iterator, Mapping

from models.existing import ExistingPods
from models.paths import Path
from models.problems import Problem, warning
from models.service import Service
from planning.ground import labels
from planning.variant.context import Contexts, VariantContext

_KEY = "existingPods"


def judge_service(path: Path, service: Service) -> Iterator[Problem]:
    """Check that a service and its canary lead to different pods, both of the stack or both of somebody else."""
    canary = service.canary
    if canary is None or service.existing_pods is canary.existing_pods is None:
        return
    at = path / "canary" / _KEY
    if canary.existing_pods is None:
        what = "is removed, but a canary of pods that somebody else runs has such pods, too"
        yield Problem(at, what, "write the labels of the canary's pods", (path / _KEY,))
    elif service.existing_pods is None:
        what = "is set, but the service runs its pods itself, and so does its canary"
        yield Problem(at, what, "remove it, or write existingPods in the service", (path / _KEY,))
    elif _selects(service.existing_pods, canary.existing_pods.match_labels):
        what = "selects pods that the service selects, too"
        remedy = "add a label that only the canary's pods have, and one to the service's that they lack"
        yield Problem(at / "matchLabels", what, remedy, (path / _KEY,))


def judge(variant: VariantContext, contexts: Contexts) -> Iterator[Problem]:
    """Check what the picker must know of pods that somebody else runs, and that these are no pods of the stack."""
    pods = variant.existing_pods
    if pods is None:
        return
    at = variant.path / _KEY
    if variant.spec.model.name is None:
        remedy = "add the name that clients send, such as Qwen/Qwen3-8B"
        yield Problem(variant.path / "model" / "name", "is missing", remedy)
    if len(set(pods.ports)) < len(pods.ports):
        yield Problem(at / "ports", "has a port twice", "keep one of them")
    if not variant.has_picker:
        enabled = Path(*variant.path, "endpointPicker", "enabled")
        what = "leaves pods that somebody else runs to their own Service, which needs no stack (false)"
        yield Problem(enabled, what, "write endpointPicker.enabled: true", (at,))
        return
    yield from _stack_pods(variant, pods, contexts)
    yield from _unknown_facts(variant)


def _selects(pods: ExistingPods, of_pod: Mapping[str, str]) -> bool:
    return pods.match_labels.items() <= of_pod.items()


def _stack_pods(variant: VariantContext, pods: ExistingPods, contexts: Contexts) -> Iterator[Problem]:
    """Reject labels that pods of the stack have, which would get requests, too."""
    for other in contexts.variants.values():
        if other.namespace != variant.namespace:
            continue
        noun = next((noun for noun, of_pod in _labels_of_pods(other) if _selects(pods, of_pod)), None)
        if noun is not None:
            what = f"selects the {noun} of {other.path}, too"
            remedy = "add a label that only the pods with the engine have"
            yield Problem(variant.path / _KEY / "matchLabels", what, remedy, (other.path, Path("labels")))
            return


def _labels_of_pods(variant: VariantContext) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the labels of the pods of a variant, with a noun for the pods."""
    user_labels = {**variant.stack.labels, **variant.spec.labels}
    base = variant.names.base
    if variant.has_picker:
        of_pod = {**user_labels, **variant.spec.endpoint_picker.pod.labels}
        standard = labels.standard(base, "endpoint-picker", of_pod)
        yield "endpoint picker", {**standard, **labels.picker_selector(variant.names)}
    for role in variant.roles:
        standard = labels.standard(base, "model-server", {**user_labels, **role.labels})
        identity = labels.role_selector(variant.names, role.name)
        yield f"{role.name} pods", {**standard, **labels.serving(base, role.stage.name), **identity}


def _unknown_facts(variant: VariantContext) -> Iterator[Problem]:
    """Reject settings of the picker that need to know more of the pods than their labels and ports."""
    picker = variant.spec.endpoint_picker
    if picker.traffic is not None:
        what = "needs the number of pods, which somebody else decides"
        yield Problem(variant.path / "endpointPicker" / "traffic", what, "set endpointPicker.resources instead")
    if picker.preset == "custom":
        return
    if variant.kv_cache.has_reader and variant.kv_cache.block_size is None:
        what = "is missing, and the picker counts in blocks of the engine's size"
        remedy = "write the engine's block size, such as 64 (--block-size of vLLM)"
        yield Problem(variant.path / "kvCache" / "blockSize", what, remedy)
    if variant.kind.label is not None and variant.release.picker.config.adds is None:
        what = f"is unknown to the picker of {variant.release.name}, which reads metrics by the names of vLLM"
        remedy = "choose a newer release, or name the metrics in endpointPicker.flags"
        yield warning(variant.path / "engine" / "type", f"{what} ({variant.kind.name})", remedy)
