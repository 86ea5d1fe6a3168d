"""Mistakes in one role of a service, and between its roles."""

from collections.abc import Iterator, Mapping

from models.problems import Problem
from models.role import Recreate, Role
from models.service import Prefill, Service, Sidecar
from models.source import scheme
from models.stack import Stack
from planning import accelerators, autoscaling, devices, engine, labels, lifecycle, patch
from planning.accelerators import AcceleratorClass
from planning.devices import Layout
from planning.names import names
from planning.releases import Release


def each(path: str, service: Service) -> Iterator[tuple[str, Role]]:
    """Yield every role of a service with where it is written."""
    yield path, service
    if service.prefill is not None:
        yield f"{path}.prefill", service.prefill


def problems(
    path: str, service: Service, stack: Stack, release: Release, classes: Mapping[str, AcceleratorClass]
) -> list[Problem]:
    """Check every role, and that the roles of one service agree."""
    found = [*_together(path, service, stack, release), *_labels(path, service)]
    for at, role in each(path, service):
        accelerator = classes.get(role.accelerator)
        found += [*accelerators.known(at, role.accelerator, classes), *autoscaling.problems(at, role, stack)]
        if accelerator is None:
            continue
        layout_problems = devices.problems(at, role, accelerator)
        found += [*layout_problems, *_image(at, service, role, accelerator, release, stack.release)]
        if not layout_problems:
            layout = devices.layout(role.parallelism, role.accelerator_memory, accelerator)
            found += _role(at, service, role, stack, release, accelerator, layout)
    return found


def _role(  # noqa: PLR0913, PLR0917, one role and all that it is judged by
    path: str,
    service: Service,
    role: Role,
    stack: Stack,
    release: Release,
    accelerator: AcceleratorClass,
    layout: Layout,
) -> Iterator[Problem]:
    is_prefill = isinstance(role, Prefill)
    own = names(service.namespace or stack.namespace, service.name or path.split(".")[1])
    drains = release.engine.shutdown_timeout is not None and not engine.custom(service, role)
    drained = lifecycle.drain(service.drain_timeout, engine_drains=drains)
    wanted = engine.Wanted(
        role=role,
        name=labels.PREFILL if is_prefill else labels.DECODE,
        workload=own.prefill if is_prefill else own.decode,
        accelerator=accelerator,
        layout=layout,
        drain=drained,
        listens=service.engine.port,
    )
    yield from engine.problems(path, wanted, service, release)
    counted = accelerators.resource_names({role.accelerator: accelerator})
    yield from patch.problems(f"{path}.patch", role.patch, drained.grace, service.drain_timeout, counted)
    if layout.pods_per_replica > 1:
        yield from _spanning(path, service, role, release, stack.release)


def _spanning(path: str, service: Service, role: Role, release: Release, name: str) -> Iterator[Problem]:
    """Check a role whose replica is several pods."""
    at = f"{path}.parallelism"
    if engine.custom(service, role):
        yield Problem(at, "spans several pods, which a custom engine cannot be told", "keep a replica in one pod")
    elif not release.engine.nodes:
        yield Problem(at, f"spans several pods, which the engine of {name} cannot", "keep a replica in one pod")
    if isinstance(role.rollout, Recreate):
        remedy = "use type: RollingUpdate; groups are replaced whole in any case"
        yield Problem(f"{path}.rollout.type", "is not for replicas of several pods (Recreate)", remedy)


def _image(  # noqa: PLR0913, PLR0917, one role and all that it is judged by
    path: str, service: Service, role: Role, accelerator: AcceleratorClass, release: Release, name: str
) -> Iterator[Problem]:
    held = scheme(service.model.source) == "image"
    at = f"{path}.engine.image"
    if held and role.engine.image is not None:
        what = "is a second image beside the one that holds the weights"
        yield Problem(at, what, "remove it, or take the weights from another source")
    elif engine.custom(service, role) and not held and role.engine.image is None:
        yield Problem(at, "is missing, and a custom engine has none of its own", "add the engine's image")
    elif engine.image(service, role, accelerator.vendor, release) is None:
        yield Problem(
            at,
            f"is missing and {name} has none for {accelerator.vendor}",
            "add the engine's image",
            depends_on=(f"{path}.accelerator",),
        )
    if held and role.engine.type == "vllm":
        what = "cannot know where the image has its weights (vllm, source image://)"
        yield Problem(f"{path}.engine.type", what, "remove it; the image's own entrypoint runs")


def _together(path: str, service: Service, stack: Stack, release: Release) -> Iterator[Problem]:
    """Check prefill and decode against each other."""
    if service.prefill is None:
        if service.sidecar is not None:
            yield Problem(f"{path}.sidecar", "has nothing to route to (no prefill)", "add prefill or remove sidecar")
        return
    if release.sidecar is None or release.picker.disaggregated is None:
        what = f"is not known to {stack.release}"
        yield Problem(f"{path}.prefill", what, "remove it, or choose a release that knows it, such as llm-d-0.10")
        return
    if any(engine.custom(service, role) for _, role in each(path, service)):
        held = scheme(service.model.source) == "image"
        remedy = "remove it, or take the weights from another source" if held else "remove it, or engine.type: custom"
        yield Problem(f"{path}.prefill", "needs vllm in both roles (a custom engine)", remedy)
    if service.prefill.engine.port != service.engine.port:
        ports = f"{service.prefill.engine.port}, {service.engine.port}"
        what = f"differs from the service's ({ports}), and the pool reaches all pods on one port"
        yield Problem(f"{path}.prefill.engine.port", what, "remove it")
    yield from _connection(path, service, service.sidecar or Sidecar(), stack, release)


def _connection(path: str, service: Service, sidecar: Sidecar, stack: Stack, release: Release) -> Iterator[Problem]:
    connector = service.kv_cache.connector
    if connector not in release.engine.kv_transfer:
        known = ", ".join(release.engine.kv_transfer)
        what = f"is not known to the engine of {stack.release} ({connector})"
        yield Problem(f"{path}.kvCache.connector", what, f"use one of {known}")
    if service.kv_cache.cpu_offload is not None:
        what = "takes the connector that prefill needs (--kv-offloading-size)"
        yield Problem(f"{path}.kvCache.cpuOffload", what, "remove it, or prefill")
    if sidecar.engine_port == service.engine.port:
        what = f"is the service's own port ({sidecar.engine_port}), which the sidecar listens on"
        yield Problem(f"{path}.sidecar.enginePort", what, "choose another, such as 8200")
    if sidecar.tls.prefill and sidecar.tls.certificate is None:
        what = "needs a certificate (true)"
        yield Problem(f"{path}.sidecar.tls.prefill", what, "set sidecar.tls.certificate, or remove it")
    if sidecar.tls.certificate is not None and not sidecar.tls.prefill:
        what = f"has no effect while nothing is served over TLS ({sidecar.tls.certificate})"
        yield Problem(f"{path}.sidecar.tls.certificate", what, "set sidecar.tls.prefill, or remove it")


def _labels(path: str, service: Service) -> Iterator[Problem]:
    """Refuse labels that are decided here: a user's value could not stand."""
    written = [(f"{path}.labels", service.labels)]
    written += [(f"{at}.pod.labels", role.pod.labels) for at, role in each(path, service)]
    for at, own in written:
        for key in own:
            if labels.decided(key):
                yield Problem(f"{at}.{key}", f"is decided by this program ({key})", "remove it, or use another key")
