"""The number of replicas of a workload: who set it, and whether pods begin or end because of it."""

from collections.abc import Iterator, Sequence

from judging.status import history, pods, rollouts
from judging.status.evidence import Evidence
from judging.status.history import Writer
from judging.status.records import Finding, ObjectRef, finding, time
from judging.status.states import Level
from judging.status.topology import RoleView, name_of
from models.trees import at, mapping, sequence
from planning.ground.snapshot import AUTOSCALER, SCALED_OBJECT

_OWN_MANAGER = "pulumi-kubernetes"
"""Beginning of the names of the field managers of Pulumi's provider."""
_AUTOSCALERS = frozenset({"kube-controller-manager", "keda", "keda-operator", "keda-adapter"})
"""Field managers that scale: the HorizontalPodAutoscaler controller is a part of the controller manager; the API
server names KEDA's manager after its program."""

_SOMEBODY = Writer("somebody", None)
"""Writer of a number of 0 that nobody owns. The API server forgets who set 0 through the subresource `scale`."""


def replicas_of(role: RoleView) -> int:
    """Return the number of replicas that are wanted. It is 1 if nobody says it (kubernetes v1.36.3, apps/v1)."""
    replicas = at(role.workload, "spec", "replicas")
    return replicas if isinstance(replicas, int) else 1


def findings(role: RoleView, reading: Evidence) -> Iterator[Finding]:
    """Yield the state of the number of replicas: nobody wants any, or somebody else has set it."""
    scaler = _foreign_scaler(role, reading)
    if scaler is not None:
        yield _manual(scaler, role, reading)
    elif replicas_of(role) == 0:
        owner = history.writer(role.workload, "spec", "replicas")
        since = None if owner is None else owner.at
        since = since or history.status_time(role.workload)
        yield finding("asleep", ObjectRef.of(role.workload, role.kind), since, role=role.role)


def changes(role: RoleView, of_pods: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the states of a workload whose pods begin or end as wanted. `of_pods` are the states of its pods."""
    reference = ObjectRef.of(role.workload, role.kind)
    replicas = replicas_of(role)
    is_down = not any(map(pods.is_ready, role.pods))
    if replicas > 0 and is_down and _sleeps(role) and all(state.level is Level.NORMAL for state in of_pods):
        begun = [moment for pod in role.pods if (moment := time(at(pod, "metadata", "creationTimestamp")))]
        since = min(begun, default=history.status_time(role.workload))
        yield finding("waking", reference, since, role=role.role, replicas=replicas)
    yield from _ending(role, reference)


def _foreign_scaler(role: RoleView, reading: Evidence) -> Writer | None:
    """Return who has set the number of replicas, if that is neither this program nor an autoscaler."""
    replicas = replicas_of(role)
    owner = history.writer(role.workload, "spec", "replicas")
    if owner is None and replicas == 0 and _was_taken(role, reading):
        owner = _SOMEBODY
    if owner is None or owner.name.startswith(_OWN_MANAGER) or owner.name in _AUTOSCALERS:
        return None
    expected = reading.expected.get(name_of(role.workload))
    is_expected = expected is not None and expected.replicas == replicas
    if is_expected or (_is_autoscaled(role, reading) and replicas > 0):
        return None
    return owner


def _was_taken(role: RoleView, reading: Evidence) -> bool:
    """Tell whether somebody has set a number of 0 that nobody owns.

    Nobody owns it if it was set through the subresource `scale`, whose encoding leaves zeros out (kubernetes v1.36.3,
    autoscaling/v1, ScaleSpec). It was an autoscaler if the workload may sleep.
    """
    if _sleeps(role) or {AUTOSCALER, SCALED_OBJECT} & {*reading.unread}:
        return False
    template = history.writer(role.workload, "spec", "template")
    return template is not None and template.name.startswith(_OWN_MANAGER)


def _manual(scaler: Writer, role: RoleView, reading: Evidence) -> Finding:
    """Return the state of a workload whose number of replicas somebody else has set."""
    expected = reading.expected.get(name_of(role.workload))
    configured = "" if expected is None or expected.replicas is None else f"; {expected.replicas} are configured"
    return finding(
        "scaled-by-hand",
        ObjectRef.of(role.workload, role.kind),
        scaler.at or history.status_time(role.workload),
        role=role.role,
        replicas=replicas_of(role),
        manager=scaler.name,
        configured=configured,
    )


def _is_autoscaled(role: RoleView, reading: Evidence) -> bool:
    """Tell whether an autoscaler may own the number, which is also true if the autoscalers could not be read."""
    is_unread = bool({AUTOSCALER, SCALED_OBJECT} & {*reading.unread})
    return is_unread or role.autoscaler is not None or role.scaled_object is not None


def _sleeps(role: RoleView) -> bool:
    """Tell whether an autoscaler may take the workload's last replica.

    KEDA does if the smallest or the idle number of replicas is 0; the smallest is 0 by default (keda v2.20,
    apis/keda/v1alpha1/scaledobject_types.go).
    """
    if role.scaled_object is not None:
        spec = mapping(role.scaled_object.get("spec"))
        return 0 in (spec.get("minReplicaCount", 0), spec.get("idleReplicaCount"))
    return at(role.autoscaler, "spec", "minReplicas") == 0


def _ending(role: RoleView, reference: ObjectRef) -> Iterator[Finding]:
    """Yield the state of a workload whose surplus pods end. Pods that a rollout or a drain ends are no surplus."""
    ending = [pod for pod in role.pods if pods.is_ending(pod) and not _is_disrupted(pod)]
    active = [pod for pod in role.pods if not pods.is_ending(pod)]
    replicas = replicas_of(role)
    kinds = {rollouts.template_hash(pod) for pod in active}
    surplus = [pod for pod in ending if not active or rollouts.template_hash(pod) in kinds]
    current = len(active) + len(surplus)
    if current <= replicas or len(active) < replicas or rollouts.is_rolling(role):
        return
    times = [moment for pod in ending if (moment := time(at(pod, "metadata", "deletionTimestamp")))]
    since = min(times, default=None)
    yield finding("scaling-down", reference, since, role=role.role, current=current, desired=replicas)


def _is_disrupted(pod: object) -> bool:
    """Tell whether a pod ends because of its node or an eviction (condition `DisruptionTarget`)."""
    entries = map(mapping, sequence(at(pod, "status", "conditions")))
    return any((entry.get("type"), entry.get("status")) == ("DisruptionTarget", "True") for entry in entries)
