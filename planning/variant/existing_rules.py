"""Verdicts on services whose pods or whose pool are somebody else's."""

from collections.abc import Iterator, Mapping

from models.existing import ExistingPods
from models.paths import Path
from models.problems import Problem, warning
from models.service import Service, Variant
from planning.ground import labels
from planning.variant.context import Contexts, VariantContext

_PODS = "existingPods"
_POOL = "existingPool"


def judge_service(path: Path, service: Service) -> Iterator[Problem]:
    """Check that a service and its canary lead to different pods or pools, both of the stack or of somebody else."""
    canary = service.canary
    if canary is None or (service.runs_pods and canary.runs_pods):
        return
    key = _key(service)
    canary_key = _key(canary)
    at = path / "canary"
    if not canary_key:
        what = "is removed, but the canary of such a service has one of its own"
        yield Problem(at / key, what, "write that of the canary", (path / key,))
    elif canary_key != key:
        what = "is set, but not in the service, which must lead to the same kind of backend as its canary"
        yield Problem(at / canary_key, what, f"remove it, or write {canary_key} in the service", (path,))
    elif service.existing_pool is not None and canary.existing_pool == service.existing_pool:
        what = f"is the pool of the service, too ({service.existing_pool.name})"
        yield Problem(at / key / "name", what, "write the name of the canary's pool", (path / key,))
    elif service.existing_pods is not None and canary.existing_pods is not None:
        yield from _same_pods(at / key / "matchLabels", service.existing_pods, canary.existing_pods)


def _key(variant: Variant) -> str:
    """Return the key with what somebody else runs; empty if the stack runs the pods."""
    if variant.existing_pool is not None:
        return _POOL
    return "" if variant.existing_pods is None else _PODS


def _same_pods(at: Path, pods: ExistingPods, others: ExistingPods) -> Iterator[Problem]:
    if _selects(pods, others.match_labels):
        what = "selects pods that the service selects, too"
        remedy = "add a label that only the canary's pods have, and one to the service's that they lack"
        yield Problem(at, what, remedy, (at.parent.parent.parent / _PODS,))


def judge(variant: VariantContext, contexts: Contexts) -> Iterator[Problem]:
    """Check what the picker must know of pods that somebody else runs, and that these are no pods of the stack."""
    if variant.spec.runs_pods:
        return
    if variant.spec.model.name is None:
        remedy = "add the name that clients send, such as Qwen/Qwen3-8B"
        yield Problem(variant.path / "model" / "name", "is missing", remedy)
    if variant.existing_pool is not None:
        yield from _pool(variant)
    elif variant.spec.existing_pods is not None:
        yield from _pods(variant, variant.spec.existing_pods, contexts)


def _pool(variant: VariantContext) -> Iterator[Problem]:
    """Reject a pool that no route leads to, and metering, because there is no Service to which it could forward."""
    at = variant.path / _POOL
    if variant.gateway is None or not variant.service.route.enabled:
        what = "has no effect without a route"
        yield Problem(at, what, "add gateway, or set route.enabled: true", (Path("gateway"), variant.path / "route"))
    if variant.metered_as is not None:
        what = "meters requests on the way to a Service of the stack, but the pool is somebody else's (true)"
        enabled = Path("services", variant.key, "interceptor", "enabled")
        yield Problem(enabled, what, "write interceptor.enabled: false", (at, Path("interceptor")))


def _pods(variant: VariantContext, pods: ExistingPods, contexts: Contexts) -> Iterator[Problem]:
    at = variant.path / _PODS
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
            yield Problem(variant.path / _PODS / "matchLabels", what, remedy, (other.path, Path("labels")))
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
