"""One service of a stack beside everything that was rendered for the stack."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.contracts.invariants.trees import without
from tests.contracts.invariants.variants import Role, Variant

Place = tuple[str, str, str | None]
"""Kind, name and namespace."""


@dataclass(frozen=True)
class Pods:
    """The pods of one template."""

    role: Role
    serves: bool
    """Whether they are the ones that are asked; the further pods of a group are not."""
    template: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.role.workload} {'leader' if self.serves else 'worker'}"

    @property
    def spec(self) -> Any:
        return self.template["spec"]

    @property
    def engine(self) -> Any:
        (container,) = self.spec["containers"]
        return container

    @property
    def before(self) -> list[Any]:
        """Return the init containers that end before the engine starts."""
        return [
            container for container in self.spec.get("initContainers", []) if container.get("restartPolicy") != "Always"
        ]

    @property
    def sidecars(self) -> list[Any]:
        return [
            container for container in self.spec.get("initContainers", []) if container.get("restartPolicy") == "Always"
        ]

    @property
    def volumes(self) -> dict[str, Any]:
        return {volume["name"]: without(volume, "name") for volume in self.spec["volumes"]}


@dataclass(frozen=True)
class World:
    """Variant and objects that the invariants of one service look at."""

    variant: Variant
    index: Mapping[Place, Any]

    def get(self, kind: str, name: str, namespace: str | None = "") -> Any:
        place = (kind, name, self.variant.namespace if namespace == "" else namespace)
        assert place in self.index, f"{place} is missing"
        return self.index[place]

    @property
    def picker(self) -> Any:
        pod = self.get("Deployment", self.variant.picker)["spec"]["template"]["spec"]
        (container,) = [container for container in pod["containers"] if container["name"] == "epp"]
        return container

    def workload(self, role: Role) -> Any:
        return self.get("LeaderWorkerSet" if role.pods > 1 else "Deployment", role.workload)["spec"]

    @cached_property
    def pods(self) -> list[Pods]:
        return [pods for role in self.variant.roles for pods in self._of(role)]

    def _of(self, role: Role) -> Iterator[Pods]:
        spec = self.workload(role)
        if role.pods == 1:
            yield Pods(role, serves=True, template=spec["template"])
        elif role.all_serve:
            yield Pods(role, serves=True, template=spec["leaderWorkerTemplate"]["workerTemplate"])
        else:
            yield Pods(role, serves=True, template=spec["leaderWorkerTemplate"]["leaderTemplate"])
            yield Pods(role, serves=False, template=spec["leaderWorkerTemplate"]["workerTemplate"])


def same(what: str, actual: Any, expected: Any) -> Iterator[str]:
    if actual != expected:
        yield f"{what}: {actual!r} is not {expected!r}"


def named(what: str, items: list[Any], expected: Mapping[str, Any], key: str = "name") -> Iterator[str]:
    """Compare a list of named items in any order; each name stands once."""
    yield from same(f"{what} by {key}", sorted(item[key] for item in items), sorted(expected))
    for item in items:
        yield from same(f"{what} {item[key]}", without(item, key), expected.get(item[key]))


STACK = "inference-stacks.dev"
"""The stack that is rendered, as the names that two stacks in one namespace would share end."""


def marks(name: str, component: str) -> dict[str, str]:
    """Return the recommended labels of an object or a pod."""
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/part-of": "inference-stacks",
        "app.kubernetes.io/managed-by": "pulumi",
    }


def subject(name: str, namespace: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def reference(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def field(path: str) -> dict[str, Any]:
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def secret(name: str, key: str) -> dict[str, Any]:
    return {"valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


def texts(**values: str) -> dict[str, Any]:
    return {name: {"value": value} for name, value in values.items()}


def variables(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables as a container has them, with what Kubernetes would fill in."""
    return {name: {"value": value} if isinstance(value, str) else _source(value) for name, value in env.items()}


def _source(value: dict[str, Any]) -> dict[str, Any]:
    ((kind, where),) = value.items()
    filled = {"fieldRef": {"apiVersion": "v1"}, "resourceFieldRef": {"divisor": "0"}}.get(kind, {})
    return {"valueFrom": {kind: {**filled, **where}}}


def traces(world: World, name: str) -> dict[str, Any]:
    """Return the variables of a container that reports its traces as `name`."""
    tracing = world.variant.tracing
    if tracing is None:
        return {}
    return texts(
        OTEL_SERVICE_NAME=name,
        OTEL_EXPORTER_OTLP_ENDPOINT=tracing["endpoint"],
        OTEL_TRACES_EXPORTER="otlp",
        OTEL_TRACES_SAMPLER=tracing.get("sampler", "parentbased_traceidratio"),
        OTEL_TRACES_SAMPLER_ARG=tracing.get("samplerArg", "0.01"),
    )
