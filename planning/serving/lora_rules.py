"""Checks of adapters that an engine loads while it runs."""

from collections.abc import Iterator

from models.problems import Problem, warning
from planning.ground import loading
from planning.ground.loading import Loading
from planning.serving import engine_arguments
from planning.variant import api_server
from planning.variant.context import RoleContext


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check `model.lora.dynamic` for one role."""
    lora = context.variant.spec.model.lora
    if lora is None or lora.dynamic is None or not context.kind.vllm_tables:
        return
    at = context.variant.path / "model" / "lora" / "dynamic"
    if lora.dynamic.directory is not None:
        yield from _directory(context, lora.dynamic.directory)
    if not api_server.has_one_server(context.role, context.layout):
        what = "does not work with several HTTP servers in an engine (vLLM: api_server_count above 1)"
        remedy = "add --api-server-count=1 to engine.args, or remove it"
        yield Problem(at, what, remedy, (context.path / "engine", context.path / "parallelism"))
    variant = context.variant
    is_reached = variant.gateway is not None and variant.service.route.enabled
    if is_reached and not api_server.requires_key(context.role):
        what = "lets every client load and remove adapters of the pod that answers (/v1/load_lora_adapter)"
        remedy = "let route.matches have only the paths that clients need, or require an API key (VLLM_API_KEY)"
        yield warning(at, what, remedy)


def _directory(context: RoleContext, name: str) -> Iterator[Problem]:
    """Check the volume with adapters.

    vLLM loads an adapter of a folder only if the adapter names the model as its command does (vllm 0.30.0,
    vllm/plugins/lora_resolvers/filesystem_resolver.py: `base_model_name_or_path` equals `ModelConfig.model`).
    """
    at = context.variant.path / "model" / "lora" / "dynamic" / "directory"
    pod = context.path / "pod" / "volumes"
    volume = context.role.pod.volumes.get(name)
    if volume is None:
        known = ", ".join(sorted(context.role.pod.volumes)) or "it has none"
        yield Problem(at, f"is no volume of the pods ({name})", f"name one of pod.volumes ({known})", (pod,))
    elif volume.mount_path is None:
        yield Problem(at, f"is a volume that the engine does not mount ({name})", f"set {pod / name}.mountPath", (pod,))
    else:
        name_of_model = engine_arguments.model_name(context.variant.spec)
        what = f"loads only adapters whose adapter_config.json has base_model_name_or_path: {name_of_model}"
        if loading.of(context.variant.spec) is Loading.STREAMED:
            what = "loads no adapters, because an engine that streams its model has a temporary folder as its name"
        remedy = "write this path into the adapters, or load them by requests for /v1/load_lora_adapter"
        yield warning(at, what, remedy)
