"""States of Pulumi's engine after a run that deployed rendered components."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from judging.report.running import WORKLOADS
from manifests.assembly import Component
from planning.ground.recorded import Recorded, RecordedObject

Edit = Callable[[Any], None]


def deployed(components: Iterable[Component], edit: Edit | None = None) -> Recorded:
    """Return the state after a run; `edit` changes what each workload was, before it is recorded.

    As the API server does, it gives a policy to each container that has none. The inputs of the provider lack it.
    """
    records: list[RecordedObject] = []
    for component in components:
        for rendered in component.objects:
            identity = component.identity(rendered)
            content: dict[str, Any] = {}
            if rendered.place[1] in WORKLOADS:
                sent = copy.deepcopy(dict(rendered.manifest))
                if edit is not None:
                    edit(sent)
                content = live(sent) | {"__inputs": sent}
            urn = f"urn:pulumi:dev::p::{identity.component}${identity.type}::{identity.name}"
            records.append(RecordedObject(urn, identity, rendered.place, "1", content))
    return Recorded(tuple(records))


def live(sent: Any) -> dict[str, Any]:
    """Return a workload as the API server has it."""
    manifest = copy.deepcopy(sent)
    for container in containers(manifest):
        container.setdefault("terminationMessagePolicy", "File")
    return manifest


def containers(manifest: Any) -> list[Any]:
    """Return all containers of a workload, of a LeaderWorkerSet those of all its templates."""
    spec = manifest["spec"]
    templates = [spec[key] for key in ("template",) if key in spec]
    group = spec.get("leaderWorkerTemplate", {})
    templates += [group[key] for key in ("leaderTemplate", "workerTemplate") if key in group]
    pods = [template["spec"] for template in templates]
    return [container for pod in pods for key in ("initContainers", "containers") for container in pod.get(key, [])]


def without_policy(manifest: Any) -> None:
    """Take out of a workload what earlier versions of this program did not write."""
    for container in containers(manifest):
        container.pop("terminationMessagePolicy", None)
