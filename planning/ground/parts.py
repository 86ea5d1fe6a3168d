"""The parts of a stack: one row for each part, with the parts that precede it.

The endpoint picker is neither live nor ready until its pool exists. The pool refers to the picker's Service, which
needs no endpoints at that time. The order is therefore: Service, pool, picker. A route follows its backends. A network
policy precedes the pods that it selects, so that no pod runs before its policy exists.

A row refers only to rows above it, so that the order has no cycles.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from planning.ground import stages
from planning.ground.stages import STAGES, RequestStage


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The function of an object in a stack, such as the pool of a variant or the workload of a role.

    Parts are compared by identity (`eq=False`), so that an `Id`, which contains a part, can be looked up fast.
    """

    name: str
    after: tuple["Part", ...] = field(default=(), repr=False)
    """The parts that precede this part. If a stack lacks one of them, its predecessors take its place."""
    suffix: str = field(default="", repr=False)
    """End of the object's logical name; empty if an owner may have several objects of the part. Do not change a
    suffix: Pulumi replaces objects whose logical names change."""
    role: str | None = None
    """Stage of the pods to which the object belongs; None if the object does not belong to the pods of one role."""

    def suffix_of(self, set_name: str) -> str:
        """Return the end of the logical name of a set's object; `set_name` is empty if the object has no set."""
        if not set_name:
            return self.suffix
        return f"{self.suffix}-{set_name}"


@dataclass(frozen=True, slots=True)
class RoleParts:
    """The parts of one role."""

    network_policy: Part
    worker_network_policy: Part
    claim: Part
    files: Part
    budget: Part
    workload: Part
    autoscaler: Part
    monitor: Part

    def suffixes_of(self, set_name: str) -> Iterator[str]:
        """Yield the ends of the logical names of a set's objects, that of the workload first.

        `set_name` is empty if the role is not divided into sets.
        """
        yield self.workload.suffix_of(set_name)
        policies = (self.network_policy, self.worker_network_policy)
        for part in (*policies, self.claim, self.files, self.budget, self.autoscaler, self.monitor):
            yield part.suffix_of(set_name)


NAMESPACE = Part("namespace")
WEIGHTS_CLAIM = Part("weights-claim", (NAMESPACE,))
FILL_NETWORK_POLICY = Part("fill-network-policy", (NAMESPACE,), "network-policy")
FILL = Part("fill", (WEIGHTS_CLAIM, FILL_NETWORK_POLICY))


def _part(role: str, name: str, after: tuple[Part, ...]) -> Part:
    return Part(name, after, f"{role}-{name}", role)


def _role(stage: RequestStage) -> RoleParts:
    """Return the parts of the roles of a stage. The pods of the destination may read their pool before they start."""
    role = stage.name
    before = (DECODE_ROLE_BINDING,) if stage.is_destination else ()
    policy, workers = (_part(role, name, (NAMESPACE,)) for name in ("network-policy", "worker-network-policy"))
    claim, files, budget = (_part(role, name, (NAMESPACE,)) for name in ("claim", "files", "budget"))
    workload = Part("workload", (*before, policy, workers, claim, files, FILL), role, role)
    autoscaler, monitor = (_part(role, name, (workload,)) for name in ("autoscaler", "monitor"))
    return RoleParts(policy, workers, claim, files, budget, workload, autoscaler, monitor)


DECODE_SERVICE_ACCOUNT = _part(stages.DECODE.name, "service-account", (NAMESPACE,))
DECODE_ROLE = _part(stages.DECODE.name, "role", (NAMESPACE,))
DECODE_ROLE_BINDING = _part(stages.DECODE.name, "role-binding", (DECODE_ROLE, DECODE_SERVICE_ACCOUNT))
ROLES: Mapping[str, RoleParts] = {stage.name: _role(stage) for stage in STAGES.values()}
"""The parts of the roles of each stage, by name of the stage. Objects of a set have its name as qualifier."""
DECODE = ROLES[stages.DECODE.name]
PREFILL = ROLES[stages.PREFILL.name]
ENCODE = ROLES[stages.ENCODE.name]
WORKLOADS = tuple(role.workload for role in ROLES.values())
"""The parts with serving pods."""

SERVICE = Part("service", (NAMESPACE,), "service")
PICKER_SERVICE_ACCOUNT = Part("picker-service-account", (NAMESPACE,), "service-account")
PICKER_ROLE = Part("picker-role", (NAMESPACE,), "role")
PICKER_ROLE_BINDING = Part("picker-role-binding", (PICKER_ROLE, PICKER_SERVICE_ACCOUNT), "role-binding")
PICKER_METRICS_AUTH = Part("picker-metrics-auth", (PICKER_SERVICE_ACCOUNT,), "metrics-auth")
PICKER_NETWORK_POLICY = Part("picker-network-policy", (NAMESPACE,), "network-policy")
PICKER_CONFIG = Part("picker-config", (NAMESPACE,), "config")
PICKER_SERVICE = Part("picker-service", (NAMESPACE,), "service")
POOL = Part("pool", (PICKER_SERVICE,), "pool")
PICKER = Part(
    "picker", (PICKER_ROLE_BINDING, PICKER_METRICS_AUTH, PICKER_NETWORK_POLICY, PICKER_CONFIG, POOL), "deployment"
)
DESTINATION_RULE = Part("destination-rule", (PICKER_SERVICE,), "destination-rule")
HEALTH_CHECK_POLICY = Part("health-check-policy", (POOL,), "health-check-policy")
BACKEND_POLICY = Part("backend-policy", (POOL,), "backend-policy")
# Policies of a Service and policies of a pool are different parts. When the backend of a service changes from a pool to
# a Service or back, the service has both policies for some time.
SERVICE_HEALTH_CHECK_POLICY = Part("service-health-check-policy", (SERVICE,), "health-check-policy")
SERVICE_BACKEND_POLICY = Part("service-backend-policy", (SERVICE,), "backend-policy")
METRICS_READER = Part("metrics-reader", (NAMESPACE,), "metrics-reader")
METRICS_READER_TOKEN = Part("metrics-reader-token", (METRICS_READER,), "metrics-reader-token")
METRICS_READER_ROLE = Part("metrics-reader-role", (), "metrics-reader-role")
METRICS_READER_BINDING = Part("metrics-reader-binding", (METRICS_READER_ROLE, METRICS_READER), "metrics-reader-binding")
TOKEN_ROLE = Part("token-role", (NAMESPACE,), "token-role")
TOKEN_ROLE_BINDING = Part("token-role-binding", (TOKEN_ROLE,), "token-role-binding")
PICKER_MONITOR = Part(
    "picker-monitor", (PICKER, METRICS_READER_TOKEN, METRICS_READER_BINDING, TOKEN_ROLE_BINDING), "monitor"
)
# Alerts about absent series would fire while the pods of a new service load their model.
RULES = Part("rules", tuple(role.monitor for role in ROLES.values()), "rules")
# When a service gets a new generation, its objective is updated to the new pool only after the pods and the picker of
# that generation can serve. The route is updated after the objective, so that no request reaches the new pool before
# the objective names this pool.
OBJECTIVE = Part("objective", (POOL, PICKER, *WORKLOADS))
MODEL_REWRITE = Part("model-rewrite", (POOL,), "model-rewrite")
MIRROR_GRANT = Part("mirror-grant", (NAMESPACE,), "mirror-grant")
MODEL_NAMES = Part("model-names", (NAMESPACE,), "model-names")
ROUTE = Part(
    "route",
    (
        OBJECTIVE,
        MODEL_REWRITE,
        MODEL_NAMES,
        POOL,
        PICKER,
        *WORKLOADS,
        SERVICE,
        DESTINATION_RULE,
        HEALTH_CHECK_POLICY,
        BACKEND_POLICY,
        SERVICE_HEALTH_CHECK_POLICY,
        SERVICE_BACKEND_POLICY,
    ),
    "route",
)
# Clients within the cluster reach a new generation, like a gateway, only after its pods and its picker can serve.
PROXY_SERVICE = Part("proxy-service", (OBJECTIVE, MODEL_REWRITE, POOL, PICKER, *WORKLOADS), "proxy-service")
DASHBOARD = Part("dashboard", (NAMESPACE,), "dashboard")
OVERVIEW = Part("overview", (NAMESPACE,), "overview")
DASHBOARDS = (DASHBOARD, OVERVIEW)
"""The parts whose namespaces may have no other object of the stack. A status reads nothing there."""
INTERCEPTOR_ROLE = Part("interceptor-role", (NAMESPACE,), "interceptor-role")
INTERCEPTOR_ROLE_BINDING = Part("interceptor-role-binding", (INTERCEPTOR_ROLE,), "interceptor-binding")


def _interceptor(name: str, *before: Part) -> Part:
    return Part(f"interceptor-{name}", (NAMESPACE, *before), f"interceptor-{name}")


INTERCEPTOR_SERVICE_ACCOUNT = _interceptor("service-account")
INTERCEPTOR_NETWORK_POLICY = _interceptor("network-policy")
INTERCEPTOR_CONFIG = _interceptor("config")
INTERCEPTOR_SERVICE = _interceptor("service")
INTERCEPTOR_BUDGET = _interceptor("budget")
INTERCEPTOR = _interceptor("deployment", INTERCEPTOR_SERVICE_ACCOUNT, INTERCEPTOR_NETWORK_POLICY, INTERCEPTOR_CONFIG)
INTERCEPTOR_ROUTE_GRANT = _interceptor("route-grant")
INTERCEPTOR_HEALTH_CHECK_POLICY = _interceptor("health-check-policy", INTERCEPTOR_SERVICE)
INTERCEPTOR_BACKEND_POLICY = _interceptor("backend-policy", INTERCEPTOR_SERVICE)
