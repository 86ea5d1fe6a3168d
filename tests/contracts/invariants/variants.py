"""Variants of a stack, read from its tree: inheritance, and the numbers that follow from it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from typing import Any

from tests.contracts.invariants.facts import DRAINING, PRODUCTS, RESOURCES, amount, seconds
from tests.contracts.invariants.trees import look, over, without

PRIMARY, CANARY = "primary", "canary"
INHERITED = {
    *("engine", "accelerator", "acceleratorMemory", "parallelism", "resources", "pod", "health", "rollout"),
    "disruptionBudget",
}
"""Keys that prefill, encode and sets of decode have of their service, and sets of prefill of prefill."""
SECTIONS = ("prefill", "encode", "decode")
"""Keys of a service whose values have pods of their own."""
NOT_OF_A_CANARY = {
    *("name", "namespace", "route", "rewrites", "interceptor", "canary"),
    *("replicas", "autoscaling", *SECTIONS),
}
"""Keys that a canary has not of its service; its sections inherit by rules of their own."""
BEFORE_THE_END = 15
"""Seconds until nobody sends requests to a pod that ends, and from the engine's own deadline to the kill."""


@dataclass(frozen=True)
class Variant:
    """One service of a stack, or its canary, over what it inherits."""

    stack: Mapping[str, Any]
    key: str
    variant_name: str = PRIMARY
    pools: frozenset[tuple[str, str]] = frozenset()
    """Namespace and name of every pool there is: generations are named after what only the program can tell."""

    @cached_property
    def tree(self) -> Mapping[str, Any]:
        return self._beside_its_service() if self.is_canary else self.whole

    @property
    def is_canary(self) -> bool:
        return self.variant_name == CANARY

    @cached_property
    def whole(self) -> Mapping[str, Any]:
        """Return the service; some of it is said for its canary, too."""
        return over(self.stack.get("defaults", {}), self.stack["services"][self.key])

    def _beside_its_service(self) -> Mapping[str, Any]:
        """Return a canary over its service, whose sizes are not those of another source."""
        canary = self.whole["canary"]
        low = without(self.whole, *NOT_OF_A_CANARY)
        known = low.get("model", {}).get("source")
        if canary.get("model", {}).get("source", known) != known:
            low["model"] = without(low.get("model", {}), "size")
            low |= {"storage": without(low["storage"], "size", "sizeLimit")} if "storage" in low else {}
        tree = over(low, without(canary, *SECTIONS))
        for section in SECTIONS:
            layers = [_numberless(self.whole[section])] if section in self.whole else []
            layers += [canary[section]] if section in canary else []
            if layers and layers[-1] is not None:
                tree = {**tree, section: reduce(over, layers, {})}
        asks = {"prefill", "encode"} & tree.keys() or "sidecar" in canary
        return tree if asks else without(tree, "sidecar")

    @cached_property
    def variants(self) -> tuple["Variant", ...]:
        """Return the service, and its canary where it has one."""
        canary = (replace(self, variant_name=CANARY),) if "canary" in self.whole else ()
        return replace(self, variant_name=PRIMARY), *canary

    def say(self, *path: str, default: Any = None) -> Any:
        return look(self.tree, path, default)

    @cached_property
    def service(self) -> str:
        """Return the name of the service, which selectors have of both variants."""
        return self.whole.get("name", self.key)

    @cached_property
    def base(self) -> str:
        """Return the name of the variant, which its Service has."""
        return f"{self.service}-canary" if self.is_canary else self.service

    @cached_property
    def generation(self) -> str | None:
        """Return five hex digits behind the variant's name, where a pool is called so."""
        names = sorted(name.removeprefix(self.base) for space, name in self.pools if space == self.namespace)
        return next((name[1:] for name in names if re.fullmatch("-[0-9a-f]{5}", name)), None)

    @cached_property
    def pool(self) -> str:
        """Return the name that begins those of all objects of one generation."""
        return self.base if self.generation is None else f"{self.base}-{self.generation}"

    @cached_property
    def picker(self) -> str:
        return f"{self.pool}-epp"

    @cached_property
    def gateway(self) -> Mapping[str, Any] | None:
        """Return what the service's route attaches to, of which no part is inherited by another."""
        gateway = look(self.whole, ("route", "gateway"), None)
        return self.stack.get("gateway") if gateway is None else gateway

    @cached_property
    def provider(self) -> str | None:
        return None if self.gateway is None else self.gateway["provider"]

    @cached_property
    def is_routed(self) -> bool:
        return self.gateway is not None and look(self.whole, ("route", "enabled"), True)

    @cached_property
    def mirrored(self) -> "Variant | None":
        """Return the service that gets copies of requests; what the defaults say of all may mean the service itself."""
        key = look(self.whole, ("route", "mirror", "service"), self.key)
        return Variant(self.stack, key, pools=self.pools) if self.is_routed and key != self.key else None

    @cached_property
    def objectives(self) -> Mapping[str, int]:
        """Return priorities by the name that clients send."""
        objectives = self.say("objectives", default={}) if self.picked else {}
        return {f"{self.base}-{key}": objective["priority"] for key, objective in objectives.items()}

    @cached_property
    def picked(self) -> bool:
        """Say whether a picker chooses among the pods of a pool; else the route leads to their Service."""
        return self.say("endpointPicker", "enabled", default=True)

    @cached_property
    def proxy(self) -> Mapping[str, Any] | None:
        """Return what is said of the proxy beside the picker; nothing where there is none."""
        return self.say("endpointPicker", "proxy") if self.picked else None

    @cached_property
    def pickers(self) -> int:
        return self.say("endpointPicker", "replicas", default=1)

    @cached_property
    def elects(self) -> bool:
        """Say whether one of several pickers leads, and the others wait."""
        return self.pickers > 1 and self.say("endpointPicker", "replication") != "active-active"

    @cached_property
    def picker_tls(self) -> Mapping[str, Any]:
        return self.say("endpointPicker", "tls", default={"type": "self-signed"})

    @cached_property
    def precise(self) -> bool:
        """Say whether the picker reads what engines publish about their cache."""
        return self.picked and self.say("endpointPicker", "preset") == "precise-prefix-cache"

    @cached_property
    def namespace(self) -> str:
        return self.whole.get("namespace", self.stack["namespace"])

    @cached_property
    def release(self) -> str:
        return self.say("release", default=self.stack.get("release", "llm-d-0.10"))

    @cached_property
    def labels(self) -> dict[str, str]:
        return {**self.stack.get("labels", {}), **self.tree.get("labels", {})}

    @cached_property
    def annotations(self) -> dict[str, str]:
        return dict(self.tree.get("annotations", {}))

    @cached_property
    def port(self) -> int:
        return self.say("engine", "port", default=8000)

    @cached_property
    def model(self) -> Mapping[str, Any]:
        """Return what is served; a shared cache has its source and its size."""
        known = {key: self.cache[key] for key in ("source", "size") if key in self.cache}
        return known | self.tree["model"]

    @cached_property
    def served(self) -> str:
        """Return the name that clients send: the repository of a hub, and a canary's is its service's."""
        if "name" in self.model or not self.is_canary:
            return self.model.get("name", self.place.partition("@")[0])
        return self.variants[0].served

    @cached_property
    def cache(self) -> Mapping[str, Any]:
        """Return the shared cache that the service uses; empty where it uses none."""
        key = self.say("storage", "cache")
        return self.stack["caches"][key] if key is not None else {}

    @cached_property
    def scheme(self) -> str:
        return self.model["source"].partition("://")[0]

    @cached_property
    def place(self) -> str:
        return self.model["source"].partition("://")[2]

    @cached_property
    def disaggregated(self) -> bool:
        return "prefill" in self.tree

    @cached_property
    def encodes(self) -> bool:
        return "encode" in self.tree

    @cached_property
    def asks(self) -> bool:
        """Say whether the pods that are asked ask others in turn."""
        return self.disaggregated or self.encodes

    @cached_property
    def destinations(self) -> tuple["Role", ...]:
        """Return the roles whose pods are asked: decode, or its sets."""
        return tuple(role for role in self.roles if role.stage == "decode")

    @cached_property
    def outputs_of_encoders(self) -> str:
        """Return the host memory in which a pod holds what encoders put out."""
        return self.say("encode", "encoderCache", "bytes", default="4Gi")

    @cached_property
    def tracing(self) -> Mapping[str, str] | None:
        return look(self.stack, ("observability", "tracing"), None)

    @cached_property
    def ports(self) -> list[int]:
        """Return the ports of the pool."""
        return max((role.pool_ports for role in self.roles), key=len)

    @cached_property
    def roles(self) -> tuple["Role", ...]:
        inherited = {key: value for key, value in self.tree.items() if key in INHERITED}
        roles = [*self._sets("decode", self.tree, self.say("decode", "sets", default={}))]
        for section in ("prefill", "encode"):
            if section in self.tree:
                tree = over(inherited, without(self.tree[section], "sets"))
                roles += self._sets(section, tree, self.tree[section].get("sets", {}))
        return tuple(roles)

    def _sets(self, stage: str, tree: Mapping[str, Any], sets: Mapping[str, Any]) -> Iterator["Role"]:
        """Yield the one role of a stage, or one for each set."""
        inherited = {key: value for key, value in tree.items() if key in INHERITED}
        for name, pods in sorted(sets.items()):
            yield Role(self, f"{stage}-{name}", over(inherited, pods))
        if not sets:
            yield Role(self, stage, tree)


@dataclass(frozen=True)
class Role:
    """One role of a service, with what follows from its spec."""

    variant: Variant
    name: str
    tree: Mapping[str, Any]

    def say(self, *path: str, default: Any = None) -> Any:
        return look(self.tree, path, default)

    @cached_property
    def stage(self) -> str:
        """Return what the pods do for a request, with which the name of the role begins."""
        return self.name.partition("-")[0]

    @cached_property
    def gets_outputs_of_encoders(self) -> bool:
        """Say whether the pods read prompts, in which the outputs of encoders stand."""
        reader = "prefill" if self.variant.disaggregated else "decode"
        return self.variant.encodes and self.stage == reader

    @cached_property
    def workload(self) -> str:
        return f"{self.variant.pool}-{self.name}"

    @cached_property
    def policy_of_workers(self) -> str:
        separator = "-" if self.name == self.stage else "."
        return f"{self.workload}{separator}worker"

    @cached_property
    def replicas(self) -> int:
        return self.say("replicas", default=1)

    @cached_property
    def scaling(self) -> Mapping[str, Any] | None:
        return self.say("autoscaling")

    @cached_property
    def max_replicas(self) -> int:
        """Return how many replicas there may be."""
        return self.scaling["maxReplicas"] if self.scaling else self.replicas

    @cached_property
    def kind(self) -> str:
        return "LeaderWorkerSet" if self.pods > 1 else "Deployment"

    @cached_property
    def custom(self) -> bool:
        return self.say("engine", "type", default="custom" if self.variant.scheme == "image" else "vllm") == "custom"

    @cached_property
    def proxied(self) -> bool:
        return self.stage == "decode" and self.variant.asks

    @cached_property
    def listens(self) -> int:
        return self.variant.say("sidecar", "enginePort", default=8200) if self.proxied else self.variant.port

    @cached_property
    def ranks(self) -> range:
        """Return the numbers of the ports of a pod, one for each of its copies if the picker chooses among them."""
        return range(self.local if self.say("parallelism", "loadBalancing") == "external" else 1)

    @cached_property
    def all_serve(self) -> bool:
        return self.say("parallelism", "loadBalancing", default="internal") != "internal" and self.local < self.data

    @cached_property
    def engine_ports(self) -> list[int]:
        return [self.listens + rank for rank in self.ranks]

    @cached_property
    def pool_ports(self) -> list[int]:
        return [self.variant.port + rank for rank in self.ranks]

    @cached_property
    def probed(self) -> int:
        """Return the port that tells how the engine is: behind those of several copies, else its own."""
        return self.listens + (len(self.ranks) if len(self.ranks) > 1 else 0)

    def names(self, first: str) -> list[str]:
        """Return the names of the ports of a container."""
        return [f"{first}-{rank}" if rank else first for rank in self.ranks]

    @cached_property
    def certificate(self) -> str | None:
        """Return the Secret that the role serves with."""
        tls = self.variant.say("sidecar", "tls", default={})
        return tls["certificate"] if self.stage == "prefill" and tls.get("prefill") else None

    @cached_property
    def _class(self) -> tuple[str, str | None, int | None, Mapping[str, list[str]]]:
        """Return vendor, memory of one device, devices of a node and labels of nodes."""
        name = self.tree["accelerator"]
        vendor, memory, node, labels = PRODUCTS.get(name, (name, None, None, {}))
        user_class = self._own_class
        memory = user_class.get("memory", memory)
        more = {key: [value] for key, value in user_class.get("nodeSelector", {}).items()}
        return user_class.get("vendor", vendor), memory, user_class.get("devicesPerNode", node), {**labels, **more}

    @cached_property
    def _own_class(self) -> Mapping[str, Any]:
        return self.variant.stack.get("accelerators", {}).get(self.tree["accelerator"], {})

    @cached_property
    def vendor(self) -> str:
        return self._class[0]

    @cached_property
    def node_labels(self) -> Mapping[str, list[str]]:
        return self._class[3]

    @cached_property
    def tolerations(self) -> list[Any]:
        taint = RESOURCES.get(self.vendor)
        defaults = [{"key": taint, "operator": "Exists", "effect": "NoSchedule"}] if taint else []
        every = self._own_class.get("tolerations", defaults) + self.say("pod", "tolerations", default=[])
        return [{"operator": "Equal", **toleration} for toleration in every]

    @cached_property
    def claim(self) -> Mapping[str, Any] | None:
        """Return the claim on devices, where they are claimed instead of counted."""
        allocation = self._own_class.get("allocation", {})
        return allocation if allocation.get("type") == "resource-claim" else None

    @cached_property
    def claims(self) -> dict[str, str]:
        """Return the claims of a pod: for each name, the template from which the claim is made."""
        claims = dict[str, str]()
        if self.claim is not None:
            template = self.claim.get("template", self.workload)
            names = ["accelerators"]
            if self.claim.get("perDevice"):
                names = [f"accelerators-{number}" for number in range(self.chips)]
            claims |= dict.fromkeys(names, template)
        for name, claim in sorted(self.say("pod", "claims", default={}).items()):
            claims[name] = claim.get("template", f"{self.workload}.{name}")
        return claims

    @cached_property
    def claim_templates(self) -> dict[str, Mapping[str, Any]]:
        """Return the specs of the templates of claims that are created, by name of the template."""
        specs = dict[str, Mapping[str, Any]]()
        if self.claim is not None and "template" not in self.claim:
            specs[self.workload] = _claim_spec(self._device_requests, self.claim.get("constraints", []))
        for name, claim in self.say("pod", "claims", default={}).items():
            if "template" not in claim:
                specs[f"{self.workload}.{name}"] = _claim_spec([claim | {"name": name}], [])
        return specs

    @cached_property
    def _device_requests(self) -> list[dict[str, Any]]:
        """Return the requests of the claim on devices; the first one has as many devices as the pod has claims not."""
        claim = self.claim or {}
        first, *others = claim.get("requests", [{"name": "devices", **claim}])
        return [first | {"count": 1 if claim.get("perDevice") else self.chips}, *others]

    @cached_property
    def resource(self) -> str | None:
        if self.claim is not None:
            return None
        return look(self._own_class, ("allocation", "resourceName"), RESOURCES.get(self.vendor))

    @cached_property
    def pipeline(self) -> int:
        return self.say("parallelism", "pipeline", default=1)

    @cached_property
    def data(self) -> int:
        return self.say("parallelism", "data", default=1)

    @cached_property
    def tensor(self) -> int:
        """Return what is written, or the smallest power of two whose devices have the memory."""
        written, required = self.say("parallelism", "tensor"), self.say("acceleratorMemory")
        memory = self._class[1]
        if written or not required or not memory:
            return written or 1
        return next(2**n for n in range(20) if 2**n * amount(memory) * self.pipeline >= amount(required))

    @cached_property
    def stages(self) -> int:
        """Return the pipeline stages of one pod: as many as fit a node; one where nodes are unknown."""
        node = self._class[2]
        if self.vendor == "cpu":
            return self.pipeline
        room = 1 if node is None else node // (self.tensor * self.local)
        return max(number for number in range(1, max(room, 1) + 1) if self.pipeline % number == 0)

    @cached_property
    def local(self) -> int:
        return self.say("parallelism", "dataLocal", default=self.data)

    @cached_property
    def devices(self) -> int:
        """Return the devices of one pod."""
        return 0 if self.vendor == "cpu" else self.tensor * self.local * self.stages

    @cached_property
    def chips(self) -> int:
        """Return what a pod asks for: chips, some of which hold several devices."""
        return -(-self.devices // self._own_class.get("devicesPerChip", 1))

    @cached_property
    def pods(self) -> int:
        """Return the pods of one replica."""
        return self.data // self.local * self.pipeline // self.stages

    @cached_property
    def drain(self) -> int:
        return seconds(self.variant.say("drainTimeout", default="45s"))

    @cached_property
    def drains_itself(self) -> bool:
        """Tell whether vLLM waits for its requests, as only its single API server does; there is one for each copy."""
        single = self.data == 1 or len(self.ranks) > 1
        return not self.custom and self.variant.release in DRAINING and single and not self.all_serve

    @cached_property
    def startup(self) -> int:
        """Return the seconds until the model must be loaded: 10 minutes, and a second for each 64Mi; or 30 minutes."""
        size, written = self.variant.model.get("size"), self.say("health", "startupTimeout")
        if written is not None:
            return seconds(written)
        return 1800 if size is None else 600 + amount(size) // (64 * 2**20)

    @cached_property
    def joined(self) -> int:
        """Return the seconds until the model must be loaded, for which an engine may have to wait for other pods."""
        waits = self.pods > 1 and self.say("health", "startupTimeout") is None
        return self.startup + (self.arrival if waits else 0)

    @cached_property
    def arrival(self) -> int:
        """Return the seconds that images and weights may take to arrive: 30 minutes, or a second for each 32Mi."""
        return max(1800, amount(self.variant.model.get("size", "0")) // (32 * 2**20))


def variants(stack: Mapping[str, Any], index: Iterable[tuple[str, Any, Any]] = ()) -> tuple[Variant, ...]:
    """Return every service of a stack, each followed by its canary; `index` has what was rendered."""
    pools = frozenset((space, name) for kind, name, space in index if kind == "InferencePool")
    return _variants(json.dumps(stack), pools)


@cache
def _variants(text: str, pools: frozenset[tuple[str, str]]) -> tuple[Variant, ...]:
    stack = json.loads(text)
    return tuple(variant for key in stack["services"] for variant in Variant(stack, key, pools=pools).variants)


def _numberless(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section without the numbers of its replicas, which no canary inherits."""
    tree = without(section, "replicas", "autoscaling")
    if "sets" in tree:
        tree["sets"] = {name: without(pods, "replicas", "autoscaling") for name, pods in tree["sets"].items()}
    return tree


def _claim_spec(requests: Sequence[Mapping[str, Any]], constraints: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    devices: dict[str, Any] = {"requests": [_claim_request(request) for request in requests]}
    if constraints:
        devices["constraints"] = [dict(constraint) for constraint in constraints]
    return {"spec": {"devices": devices}}


def _claim_request(request: Mapping[str, Any]) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}} for expression in request.get("selectors", [])]
    exactly = {
        "deviceClassName": request["deviceClassName"],
        "allocationMode": "ExactCount",
        "count": request.get("count", 1),
        **({"selectors": selectors} if selectors else {}),
    }
    return {"name": request["name"], "exactly": exactly}
