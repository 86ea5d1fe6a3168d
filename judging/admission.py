"""Checks of pods for mistakes that no schema detects.

Pods with these mistakes are rejected by the API server (`judging.pod_rules`), or by the Pod Security level of their
namespace (`judging.pod_security`).
"""

from collections.abc import Collection, Iterable, Iterator

from judging import pod_rules, pod_security
from manifests import pod_templates
from manifests.objects import Manifest
from manifests.pod_templates import PodTemplate, containers, mappings
from models.paths import Path
from models.problems import Problem
from planning.ground import labels


def restricted_namespaces(manifests: Iterable[Manifest]) -> frozenset[str]:
    """Return the names of the Namespaces in `manifests` that enforce the level `restricted`."""
    return frozenset(
        manifest["metadata"]["name"]
        for manifest in manifests
        if manifest["kind"] == "Namespace"
        and labels.POD_SECURITY.items() <= manifest["metadata"].get("labels", {}).items()
    )


def problems(manifest: Manifest, restricted: Collection[str]) -> Iterator[Problem]:
    """Yield the problems of an object's pods, with paths in the object.

    `restricted` are the namespaces that enforce the level `restricted`.
    """
    for violation in pod_rules.deployment(manifest):
        yield Problem(violation.at, violation.what, violation.remedy)
    namespace = manifest["metadata"].get("namespace", "")
    for template in pod_templates.templates(manifest):
        yield from _unknown_names(template)
        privileges = []
        if namespace in restricted:
            privileges = list(_privileges(template, namespace))
        yield from privileges
        refused = {problem.path for problem in privileges}
        for violation in pod_rules.violations(template):
            path = Path(*template.at, *violation.at)
            # What the level refuses has to go, whatever else it would need.
            if path not in refused:
                yield Problem(path, violation.what, violation.remedy)


def _privileges(template: PodTemplate, namespace: str) -> Iterator[Problem]:
    """Yield a problem for each setting that the newest rules of the level `restricted` refuse."""
    for finding in pod_security.findings(template):
        if finding.excess.is_refused(None):
            what = f"is not admitted in namespace {namespace}, which is restricted ({finding.excess.text})"
            yield Problem(Path(*template.at, *finding.at), what, finding.remedy)


def _unknown_names(template: PodTemplate) -> Iterator[Problem]:
    """Yield a problem for each container without an image, or with the name of another, and for each unknown volume."""
    pod = template.spec
    volumes = [str(volume.get("name")) for volume in mappings(pod.get("volumes"))]
    for index, name in enumerate(volumes):
        if name in volumes[:index]:
            at = Path(*template.at, "spec", "volumes", index)
            yield Problem(at, f"has the name of another volume of this pod ({name})", "choose another name")
    of_pod = tuple(containers(pod))
    names = [container.get("name") for _, container in of_pod]
    for number, (container_at, container) in enumerate(of_pod):
        place = Path(*template.at, "spec", *container_at)
        if not container.get("image"):
            images = ", ".join(str(other.get("name")) for _, other in of_pod if other.get("image"))
            what = f"is no container of this pod, and a new container needs an image ({container.get('name')})"
            remedy = f"use the name of a container ({images}), or add an image"
            yield Problem(place, what, remedy)
        elif names[number] in names[:number]:
            what = f"has the name of another container of this pod ({names[number]})"
            yield Problem(place, what, "choose another name")
        for index, mount in enumerate(mappings(container.get("volumeMounts"))):
            if mount.get("name") not in volumes:
                what = f"mounts a volume that the pod does not have ({mount.get('name')})"
                remedy = f"add it to volumes, or mount one of {', '.join(volumes)}"
                yield Problem(place / "volumeMounts" / index, what, remedy)
