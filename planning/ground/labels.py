"""Labels and selectors.

Selectors hold only the identity of an object (service, role, variant, generation), because a Deployment whose selector
changes has to be replaced. Selectors never hold labels that may change (model, version, labels of llm-d). The selectors
of Services may change: that of a divided decode role has the label of llm-d for roles.
"""

from collections.abc import Mapping
from dataclasses import replace

from planning.ground import stages
from planning.ground.names import Names

_OURS = "inference-stacks.io"
SERVICE = f"{_OURS}/service"
ROLE = f"{_OURS}/role"
VARIANT = f"{_OURS}/variant"
GENERATION = f"{_OURS}/generation"
"""Label with the generation of the KV cache. Pods of variants without a generation do not have it."""
PICKER = f"{_OURS}/endpoint-picker"
"""Label of the picker's pods and Service; its value is the service's name. The picker's pods do not have the label
`SERVICE`, so no pool selects them."""
DECODE, PREFILL = stages.DECODE.name, stages.PREFILL.name
"""Roles of serving pods, which are named like the stages that they process."""
WORKER_OF = f"{_OURS}/worker-of"
"""Label of a replica's worker pods; its value is the service's name. Worker pods do not have the label `SERVICE`, so
only the leader gets requests. Pods of a replica whose pods all get requests do not have this label."""
GROUP = "leaderworkerset.sigs.k8s.io/name"
"""Label with the name of the LeaderWorkerSet. The set's controller puts this label on every pod of the set."""
JOB = "batch.kubernetes.io/job-name"
"""Label with the name of the Job. The Job controller puts this label on every pod of the Job."""
_PROVIDER = "pulumi.com/"
"""Prefix of the annotations that Pulumi's Kubernetes provider obeys: whether and how long a run waits for an object,
how the object is deleted, and who manages its fields (pulumi-kubernetes v4.25.0, provider/pkg: annotations.go of
`metadata`, which `await` and `provider` read)."""
_FORCE = f"{_PROVIDER}patchForce"
"""The only such annotation that users may write. With the value "false", an update fails with a conflict instead of
taking over a field that somebody else has changed."""
POD_SECURITY_LEVEL = "pod-security.kubernetes.io/enforce"
"""Label of a namespace; its value is the pod security level that the API server enforces there."""
POD_SECURITY_VERSION = "pod-security.kubernetes.io/enforce-version"
"""Label with the version of Kubernetes whose rules a namespace enforces; absent or `latest`: the cluster's version."""
POD_SECURITY = {POD_SECURITY_LEVEL: "restricted"}
"""Pod security level of the namespaces that a stack creates. Every pod of a stack meets this level; a patch with which
pods do not meet it is refused."""
PRIVILEGES_REASON = f"{_OURS}/privileges-reason"
FAIL_OPEN_REASON = f"{_OURS}/fail-open-reason"
"""Annotation with the reason why a pool fails open, that is, why requests go to any pod while no picker answers."""
TAKEN_BACK = f"{_OURS}/taken-back"
"""Annotation that lists additions to the object: somebody else made them, and a run has removed them."""
DEVICE_HOURS = f"{_OURS}/device-hours"
"""Annotation of a dashboard: hours of devices that its service is expected to have in a month, by class."""
MONTHLY_COST = f"{_OURS}/monthly-cost"
"""Annotation of a dashboard: what the devices of its service are expected to cost in a month."""
INTERCEPTOR = f"{_OURS}/interceptor"
"""Label of the interceptor's pods; its value is the name of the interceptor's Service."""
SERVICE_KEY = f"{_OURS}/service-key"
"""Annotation of Services that the interceptor finds by labels; its value is the key of the service in the
configuration."""
STACK = f"{_OURS}/stack"
"""Name of a label and of an annotation with the stack that an object belongs to. `planning.ground.marks` decides the
values of both."""
NAME = "app.kubernetes.io/name"
"""Label with the name of the variant, of every object of a variant and of its pods."""
LLM_D_ROLE = "llm-d.ai/role"
"""Label with the role of a serving pod. llm-d's pickers filter by this label."""
PART_OF = {"app.kubernetes.io/part-of": "inference-stacks"}
"""Label of every object of every stack."""
RESOURCE_ID, SERVICE_TYPE = "saturncloud.io/resource-id", "saturncloud.io/service-type"
"""The labels by which the token-metering interceptor finds Services. For each id, one Service has both labels."""


def pool_selector(names: Names) -> dict[str, str]:
    """Return the selector of the serving pods of a variant: all roles, one generation."""
    return {SERVICE: names.service, **_variant(names)}


def role_selector(names: Names, role: str) -> dict[str, str]:
    """Return the selector of the serving pods of one role."""
    return {**pool_selector(names), ROLE: role}


def destination_selector(names: Names, *, is_divided: bool) -> dict[str, str]:
    """Return the selector of the decode pods of one generation.

    `is_divided` says whether these pods are sets. The roles of sets differ, so llm-d's label selects the pods. Pods of
    an undivided role have this label, too: a Service keeps them as endpoints until sets have taken their place.
    """
    if is_divided:
        return {**pool_selector(names), LLM_D_ROLE: DECODE}
    return role_selector(names, DECODE)


def routed_selector(names: Names, *, is_divided: bool) -> dict[str, str]:
    """Return the selector of the decode pods of all generations. `is_divided` is that of `destination_selector`.

    Requests to the Service of these pods bypass the pool, and are served without the cache of another pod. The
    generation of the pod therefore does not matter for these requests.
    """
    return destination_selector(replace(names, generation=None), is_divided=is_divided)


def picker_selector(names: Names) -> dict[str, str]:
    """Return the selector of the endpoint picker's pods."""
    return {PICKER: names.service, **_variant(names)}


def _variant(names: Names) -> dict[str, str]:
    return {VARIANT: names.variant_name, **({} if names.generation is None else {GENERATION: names.generation})}


def interceptor_selector(service_name: str) -> dict[str, str]:
    """Return the selector of the interceptor's pods."""
    return {INTERCEPTOR: service_name}


def interceptors() -> dict[str, str]:
    """Return the labels of the Deployments and pods of the interceptors of all stacks."""
    return {"app.kubernetes.io/component": "interceptor", **PART_OF}


def standard(base: str, component: str, user_labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of an object: the user's labels, sorted, then the labels that Kubernetes recommends.

    If a user sets a recommended label, the user's value is not used.
    """
    return {
        **(dict(sorted(user_labels.items())) if user_labels else {}),
        NAME: base,
        "app.kubernetes.io/component": component,
        **PART_OF,
        "app.kubernetes.io/managed-by": "pulumi",
    }


def serving(base: str, role: str) -> dict[str, str]:
    """Return the labels by which llm-d's tools find serving pods. llm-d has two spellings of the first label."""
    return {
        "llm-d.ai/inference-serving": "true",
        "llm-d.ai/inferenceServing": "true",
        "llm-d.ai/model": base,
        LLM_D_ROLE: role,
    }


def worker(names: Names, role: str) -> dict[str, str]:
    """Return the labels of a replica's worker pods. No pool and no Service selects worker pods."""
    return {WORKER_OF: names.service, **_variant(names), ROLE: role}


def is_ours(key: str) -> bool:
    """Tell whether the key of a label or annotation begins with this program's domain. Users may not set such keys."""
    return key.startswith(f"{_OURS}/")


def is_providers(key: str) -> bool:
    """Tell whether Pulumi's provider obeys the annotation `key`. Users may not set such annotations."""
    return key.startswith(_PROVIDER) and key != _FORCE


def is_reserved(key: str) -> bool:
    """Tell whether this module decides the value of the label `key`. Users may not set such labels."""
    return is_ours(key) or key in {
        *standard("", "", {}),
        *serving("", ""),
        *routing_contract(""),
    }


def routing_contract(resource_id: str) -> dict[str, str]:
    """Return the labels by which the interceptor finds the routed Service of a resource id."""
    return {RESOURCE_ID: resource_id, SERVICE_TYPE: "internal"}
