"""Needs of a stack: what its objects refer to, such as Secrets and classes, and the Pod Security levels of its pods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from judging import pod_security
from manifests import pod_templates
from manifests.objects import Rendered
from manifests.pod_templates import PodTemplate
from models import origins
from models.paths import Path
from models.trees import EMPTY
from planning.ground import labels
from planning.ground.needs import NameReference, Needs, PodPrivileges
from planning.plans import StackPlan
from planning.routes import acceptance

_Name = tuple[Path, str]
"""A name in an object, after the path of the name in the object."""


class _Item(NamedTuple):
    """A rendered object, and the section of the configuration that decides about it."""

    rendered: Rendered
    section: Path

    def reference(self, at: Path, name: str) -> NameReference:
        """Return the reference that has its name at a path of the object."""
        origin = origins.locate(self.rendered.origins, at)
        return NameReference(name, self.rendered.place[2], origin or self.section)


def of(objects: Iterable[Rendered], plan: StackPlan) -> Needs:
    """Return what the rendered objects of a plan need from a cluster."""
    items = [_Item(rendered, plan.section(rendered.id)) for rendered in objects]
    manifests = [item.rendered.manifest for item in items]
    workloads = [
        workload for service in plan.services for variant in service.variants for workload in variant.workloads
    ]
    created = frozenset(manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == "Namespace")
    namespaces = frozenset(item.rendered.place[2] for item in items) - {""}
    pods = [(item, template) for item in items for template in pod_templates.templates(item.rendered.manifest)]
    own_secrets = {item.rendered.place[2:] for item in items if item.rendered.manifest["kind"] == "Secret"}
    secrets = _distinct((item, at, name) for item, template in pods for at, name in _secrets(template))
    return Needs(
        kinds=frozenset(item.rendered.api for item in items),
        gateways=frozenset(acceptance.gateways(plan.routes)),
        namespaces=namespaces | created,
        created=created,
        secrets=tuple(secret for secret in secrets if (secret.namespace, secret.name) not in own_secrets),
        metered=frozenset(item.rendered.place[2] for item in items if _is_metered(item.rendered.manifest)),
        proxies=frozenset(_proxies(plan)),
        interceptors=frozenset({plan.interceptor.namespace} if plan.interceptor is not None else ()),
        storage_classes=_distinct(
            (item, at, name)
            for item, names in (
                *((item, _class_of_claim(item.rendered.manifest)) for item in items),
                *((item, _classes_of_volumes(template)) for item, template in pods),
            )
            for at, name in names
        ),
        priority_classes=_distinct(
            (item, Path(*template.at, "spec", "priorityClassName"), template.spec["priorityClassName"])
            for item, template in pods
            if template.spec.get("priorityClassName")
        ),
        image_volumes=_distinct((item, at, name) for item, template in pods for at, name in _image_volumes(template)),
        pods=tuple(_privileges(item, template) for item, template in pods),
        nodes=bool(pods),
        quotas=frozenset(item.rendered.place[2] for item, _ in pods),
        slices=any(workload.claims_devices for workload in workloads),
    )


def _proxies(plan: StackPlan) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the Services of the proxies beside pickers."""
    for service in plan.services:
        for variant in service.variants:
            if variant.endpoint_picker is not None and variant.endpoint_picker.proxy is not None:
                yield variant.names.namespace, variant.names.proxy


def _is_metered(manifest: Mapping[str, Any]) -> bool:
    """Tell whether an object is a Service with the label by which the interceptor finds Services."""
    return manifest["kind"] == "Service" and labels.RESOURCE_ID in manifest["metadata"].get("labels", EMPTY)


def _distinct(names: Iterable[tuple[_Item, Path, str]]) -> tuple[NameReference, ...]:
    """Return the first reference of each section to each object. `names` are items with paths and names in them."""
    first = dict[tuple[Path, str, str], NameReference]()
    for item, at, name in names:
        first.setdefault((item.section, item.rendered.place[2], name), item.reference(at, name))
    return tuple(first.values())


def _privileges(item: _Item, template: PodTemplate) -> PodPrivileges:
    excesses = tuple(finding.excess for finding in pod_security.findings(template))
    _, kind, namespace, name = item.rendered.place
    return PodPrivileges(excesses, namespace, item.section, f"{kind} {namespace}/{name}")


def _secrets(template: PodTemplate) -> Iterator[_Name]:
    """Yield the Secrets without which a pod does not start. Optional references are left out."""
    top = template.at / "spec"
    for index, secret in enumerate(template.spec.get("imagePullSecrets", ())):
        yield Path(*top, "imagePullSecrets", index, "name"), secret["name"]
    for index, volume in enumerate(template.spec.get("volumes", ())):
        at = top / "volumes" / index
        yield from _hard_reference(at / "secret", volume.get("secret", EMPTY), "secretName")
        for number, source in enumerate(volume.get("projected", EMPTY).get("sources", ())):
            yield from _hard_reference(Path(*at, "projected", "sources", number, "secret"), source.get("secret", EMPTY))
    for container_at, container in pod_templates.containers(template.spec):
        at = Path(*top, *container_at)
        for index, variable in enumerate(container.get("env", ())):
            reference = variable.get("valueFrom", EMPTY).get("secretKeyRef", EMPTY)
            yield from _hard_reference(Path(*at, "env", index, "valueFrom", "secretKeyRef"), reference)
        for index, source in enumerate(container.get("envFrom", ())):
            yield from _hard_reference(Path(*at, "envFrom", index, "secretRef"), source.get("secretRef", EMPTY))


def _image_volumes(template: PodTemplate) -> Iterator[_Name]:
    """Yield the images that a pod mounts as volumes."""
    for index, volume in enumerate(template.spec.get("volumes", ())):
        reference = volume.get("image", EMPTY).get("reference")
        if reference:
            yield Path(*template.at, "spec", "volumes", index, "image", "reference"), reference


def _hard_reference(at: Path, reference: Mapping[str, Any], field: str = "name") -> Iterator[_Name]:
    if reference.get(field) and not reference.get("optional"):
        yield at / field, reference[field]


def _class_of_claim(manifest: Mapping[str, Any]) -> Iterator[_Name]:
    """Yield the StorageClass of a claim; an empty name for the default class."""
    if manifest["kind"] == "PersistentVolumeClaim":
        yield Path("spec", "storageClassName"), manifest["spec"].get("storageClassName", "")


def _classes_of_volumes(template: PodTemplate) -> Iterator[_Name]:
    """Yield the StorageClasses of a pod's ephemeral volumes; an empty name for the default class."""
    for index, volume in enumerate(template.spec.get("volumes", ())):
        claim = volume.get("ephemeral", EMPTY).get("volumeClaimTemplate", EMPTY)
        if claim:
            at = Path(*template.at, "spec", "volumes", index, "ephemeral", "volumeClaimTemplate", "spec")
            yield at / "storageClassName", claim["spec"].get("storageClassName", "")
