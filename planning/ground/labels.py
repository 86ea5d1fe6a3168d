"""Labels and selectors.

Selectors hold identity only (service, role, variant), because a Deployment whose selector changes is replaced.
Everything that may change (model, version, the llm-d spellings) is a plain label.
"""

from collections.abc import Mapping

from planning.ground.names import Names

_OURS = "inference-stacks.io"
SERVICE, ROLE, VARIANT = f"{_OURS}/service", f"{_OURS}/role", f"{_OURS}/variant"
GENERATION = f"{_OURS}/generation"
"""On pods that exchange their cache: those that do are of one generation."""
PICKER = f"{_OURS}/endpoint-picker"
"""Instead of `SERVICE` on a picker's pods and Service, so that no pool ever selects a picker."""
DECODE, PREFILL = "decode", "prefill"
WORKER_OF = f"{_OURS}/worker-of"
"""Instead of `SERVICE` on the further pods of a replica that spans nodes: they serve nobody directly."""
GROUP = "leaderworkerset.sigs.k8s.io/name"
"""What the LeaderWorkerSet controller puts on every pod of a set."""
JOB = "batch.kubernetes.io/job-name"
"""What the Job controller puts on every pod of a Job."""
POD_SECURITY = {"pod-security.kubernetes.io/enforce": "restricted"}
"""On namespaces that are made here: the level that every pod of a stack is admitted at."""
FAIL_OPEN_REASON = f"{_OURS}/fail-open-reason"
"""An annotation of a pool whose requests may go past the picker."""
LLM_D_ROLE = "llm-d.ai/role"
"""The role of a serving pod, as llm-d's pickers filter by it."""
RESOURCE_ID, SERVICE_TYPE = "saturncloud.io/resource-id", "saturncloud.io/service-type"
"""The routing contract of the token-metering interceptor; both on exactly one Service for each id."""


def pool_selector(own: Names) -> dict[str, str]:
    """Select the serving pods of every role."""
    return {SERVICE: own.service, **_variant(own)}


def role_selector(own: Names, role: str) -> dict[str, str]:
    """Select the serving pods of one role."""
    return {**pool_selector(own), ROLE: role}


def routed_selector(own: Names) -> dict[str, str]:
    """Select the decode pods of every generation: who comes past the pool needs no other pod's cache."""
    return {SERVICE: own.service, VARIANT: own.variant, ROLE: DECODE}


def picker_selector(own: Names) -> dict[str, str]:
    """Select the endpoint picker's pods."""
    return {PICKER: own.service, **_variant(own)}


def _variant(own: Names) -> dict[str, str]:
    return {VARIANT: own.variant, **({} if own.generation is None else {GENERATION: own.generation})}


def standard(base: str, component: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return the recommended labels of an object beneath the users' own."""
    return {
        **own,
        "app.kubernetes.io/name": base,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/part-of": "inference-stacks",
        "app.kubernetes.io/managed-by": "pulumi",
    }


def serving(base: str, role: str) -> dict[str, str]:
    """Return what llm-d's own tools look for on serving pods, in both spellings."""
    return {
        "llm-d.ai/inference-serving": "true",
        "llm-d.ai/inferenceServing": "true",
        "llm-d.ai/model": base,
        LLM_D_ROLE: role,
    }


def worker(own: Names, role: str) -> dict[str, str]:
    """Mark the further pods of a replica that spans nodes; no pool and no Service selects them."""
    return {WORKER_OF: own.service, **_variant(own), ROLE: role}


def decided(key: str) -> bool:
    """Say whether a label is decided here, so that nobody else's value can stand."""
    return key.startswith(f"{_OURS}/") or key in {
        *standard("", "", {}),
        *serving("", ""),
        *routing_contract(""),
    }


def routing_contract(resource_id: str) -> dict[str, str]:
    """Return the pair by which the interceptor finds the routed Service of a resource id."""
    return {RESOURCE_ID: resource_id, SERVICE_TYPE: "internal"}
