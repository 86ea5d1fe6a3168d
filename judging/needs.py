"""Needs of a stack: what its objects refer to, such as Secrets and classes, and the Pod Security levels of its pods."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from judging import pod_security
from manifests import pod_templates
from manifests.objects import Rendered
from manifests.pod_templates import PodTemplate
from planning.ground import labels
from planning.ground.cluster_facts import GatewayRef
from planning.ground.needs import Needs, PodPrivileges, Reference

_NONE: Mapping[str, Any] = {}


def of(objects: Iterable[Rendered], gateways: Collection[GatewayRef]) -> Needs:
    """Return what rendered objects need from a cluster. `gateways` are the Gateways that the routes attach to."""
    rendered = tuple(objects)
    created = frozenset(item.place[3] for item in rendered if item.manifest["kind"] == "Namespace")
    namespaces = frozenset(item.place[2] for item in rendered) - {""}
    templates = [(item, template) for item in rendered for template in pod_templates.templates(item.manifest)]
    pods = [(item, template.spec) for item, template in templates]
    made = {item.place[2:] for item in rendered if item.manifest["kind"] == "Secret"}
    secrets = (_reference(name, item) for item, pod in pods for name in _secrets(pod))
    return Needs(
        kinds=frozenset(item.api for item in rendered),
        gateways=frozenset(gateways),
        namespaces=namespaces | created,
        created=created,
        secrets=_distinct(secret for secret in secrets if (secret.namespace, secret.name) not in made),
        metered=frozenset(item.place[2] for item in rendered if _is_metered(item.manifest)),
        storage_classes=_distinct(
            _reference(name, item)
            for item, names in (
                *((item, _class_of_claim(item.manifest)) for item in rendered),
                *((item, _classes_of_volumes(pod)) for item, pod in pods),
            )
            for name in names
        ),
        priority_classes=_distinct(
            _reference(pod["priorityClassName"], item) for item, pod in pods if pod.get("priorityClassName")
        ),
        pods=tuple(_privileges(item, template) for item, template in templates),
        nodes=bool(pods),
        quotas=frozenset(item.place[2] for item, _ in pods),
        slices=any(item.manifest["kind"] == "ResourceClaimTemplate" for item in rendered),
    )


def _is_metered(manifest: Mapping[str, Any]) -> bool:
    """Tell whether an object is a Service with the label by which the interceptor finds Services."""
    return manifest["kind"] == "Service" and labels.RESOURCE_ID in manifest["metadata"].get("labels", _NONE)


def _distinct(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Return the first reference of each owner to each object, in the order of `references`."""
    first = dict[tuple[str, str, str], Reference]()
    for reference in references:
        first.setdefault((reference.owner, reference.namespace, reference.name), reference)
    return tuple(first.values())


def _reference(name: str, item: Rendered) -> Reference:
    return Reference(name, item.place[2], item.id.owner, _title(item))


def _title(item: Rendered) -> str:
    _, kind, namespace, name = item.place
    return f"{kind} {namespace}/{name}"


def _privileges(item: Rendered, template: PodTemplate) -> PodPrivileges:
    excesses = tuple(finding.excess for finding in pod_security.findings(template))
    return PodPrivileges(excesses, item.place[2], item.id.owner, _title(item))


def _secrets(pod: Mapping[str, Any]) -> Iterator[str]:
    """Yield the Secrets without which a pod does not start. Optional references are left out."""
    yield from (secret["name"] for secret in pod.get("imagePullSecrets", ()))
    for volume in pod.get("volumes", ()):
        yield from _hard_reference(volume.get("secret", _NONE), "secretName")
        for source in volume.get("projected", _NONE).get("sources", ()):
            yield from _hard_reference(source.get("secret", _NONE))
    for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
        for variable in container.get("env", ()):
            yield from _hard_reference(variable.get("valueFrom", _NONE).get("secretKeyRef", _NONE))
        for source in container.get("envFrom", ()):
            yield from _hard_reference(source.get("secretRef", _NONE))


def _hard_reference(reference: Mapping[str, Any], field: str = "name") -> Iterator[str]:
    if reference.get(field) and not reference.get("optional"):
        yield reference[field]


def _class_of_claim(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the StorageClass of a claim; an empty name for the default class."""
    if manifest["kind"] == "PersistentVolumeClaim":
        yield manifest["spec"].get("storageClassName", "")


def _classes_of_volumes(pod: Mapping[str, Any]) -> Iterator[str]:
    """Yield the StorageClasses of a pod's ephemeral volumes; an empty name for the default class."""
    for volume in pod.get("volumes", ()):
        template = volume.get("ephemeral", _NONE).get("volumeClaimTemplate", _NONE)
        if template:
            yield template["spec"].get("storageClassName", "")
