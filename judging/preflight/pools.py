"""Check whether gateways accept the pools of a stack in the cluster."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem, warning
from planning.ground.api_groups import POOL_GROUP
from planning.ground.cluster_facts import LiveObjects
from planning.ground.pools import verdict


def pools(live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning for every pool that the controller of a gateway refuses. Requests to such a pool fail."""
    for (group, kind, namespace, name), found in sorted(live.objects.items()):
        if (group, kind) == (POOL_GROUP, "InferencePool"):
            is_accepted, reason = verdict(found.content)
            if is_accepted is False:
                yield warning(Path(f"{kind} {namespace}/{name}"), f"the gateway does not accept this pool ({reason})")
