"""Properties of every stack that is accepted, whatever its names, numbers and the order of its keys."""

import copy
import json
import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from manifests.assembly import objects, render
from models.problems import ConfigError
from models.vocabulary import seconds
from planning.ground import lifecycle, parts
from tests.support.examples import share
from tests.support.stacks import SERVICE, plan, rendered, tree
from tests.support.stacks.shapes import EVERY, SHAPES, containers, engine, flag, model_servers, sidecars, templates

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){LABEL.pattern}(\.{LABEL.pattern})*")
SEGMENT = re.compile(r"(?!\.\.?$)[^/%]+")
QUALIFIED = re.compile(
    rf"({SUBDOMAIN.pattern[len('(?=.{1,253}$)') :]}/)?[A-Za-z0-9]([-._A-Za-z0-9]{{0,61}}[A-Za-z0-9])?"
)
VALUE = re.compile(r"([A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
PORT = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
LEGAL = {
    "Service": LABEL_1035,
    "LeaderWorkerSet": LABEL_1035,
    "Namespace": LABEL,
    "Role": SEGMENT,
    "RoleBinding": SEGMENT,
    "ClusterRole": SEGMENT,
    "ClusterRoleBinding": SEGMENT,
}
"""Shape of a name, by kind; of all others, a DNS subdomain."""

SERVICES = st.from_regex(LABEL_1035, fullmatch=True)
NAMESPACES = st.from_regex(LABEL, fullmatch=True)
NEAR = st.sampled_from(
    [
        "qwen", "qwen-epp", "qwen-decode", "qwen-prefill", "qwen-decode-0", "qwen-decode-a", "qwen-encode",
        "qwen-canary", "qwen-epp-epp", "phoebe",
        "q" * 33, "q" * 34, "q" * 62 + "r", "q" * 63,
    ]
)  # fmt: skip
HOMES = NAMESPACES | st.sampled_from(["a", "b", "qwen"])
PLACES = st.tuples(SERVICES | NEAR, HOMES, st.sampled_from(sorted(SHAPES)))
ACCOUNTS = st.lists(NAMESPACES, min_size=1, max_size=3).map(".".join) | st.just(f"{'a' * 62}.{'b' * 62}")


SUFFIXES = ("", "-epp", "-decode", "-prefill", "-decode-0", "-decode-a", "-encode", "-canary", "-epp-epp")


@st.composite
def neighbours(draw):
    """Draw two services with names and namespaces that have as much in common as they can."""
    name, namespace, shape = draw(PLACES)
    suffix = draw(st.sampled_from(SUFFIXES))
    other = draw(st.just(name + suffix) | SERVICES | NEAR)[:63].rstrip("-")
    home = draw(st.just(namespace) | HOMES)
    assume((other, home) != (name, namespace))
    return [(name, namespace, shape), (other, home, draw(st.sampled_from(sorted(SHAPES))))]


def place(manifest):
    return manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"]


def made_by_controllers(everything):
    """Yield the objects that other controllers make under names that follow from ours."""
    for manifest in everything:
        kind, namespace, name = place(manifest)
        if kind == "LeaderWorkerSet":
            yield ("Service", namespace, name)
            yield ("StatefulSet", namespace, name)
            yield from (("StatefulSet", namespace, f"{name}-{index}") for index in range(manifest["spec"]["replicas"]))
        if kind == "InferencePool":
            yield ("Service", namespace, f"{name}-ip-0123abcd")


@settings(max_examples=share(150))
@given(neighbours())
def test_two_services_share_no_object_unless_they_are_refused(pair):
    services = {
        f"key-{index}": {**SHAPES[shape], "name": name, "namespace": namespace}
        for index, (name, namespace, shape) in enumerate(pair)
    }
    try:
        both = rendered(tree(**services))
    except ConfigError as error:
        refusal = r"services\.key-1(\.canary)?: would make the same object as services\.key-0(\.canary)? .*"
        messages = str(error).splitlines()
        assert [line for line in messages if not re.fullmatch(refusal, line)] == []
        (name, namespace, _), (other, other_namespace, _) = pair
        assert namespace == other_namespace
        assert name.startswith(f"{other}-") or other.startswith(f"{name}-")
        return
    each = [rendered(tree(**{key: service})) for key, service in services.items()]
    everything = [*map(place, both), *made_by_controllers(both)]
    assert [location for location, number in Counter(everything).items() if number > 1] == []
    assert len(both) == sum(map(len, each))


@pytest.mark.parametrize("other", ["qwen-epp", "qwen-decode", "qwen-prefill"])
def test_a_service_called_like_an_object_of_another_is_refused_in_one_namespace_only(other):
    with pytest.raises(ConfigError, match=f"services.{other}: would make the same object as services.qwen"):
        rendered(tree(**{"qwen": {}, other: {}}))
    assert rendered(tree(**{"qwen": {}, other: {"namespace": "elsewhere"}}))


def illegal(everything):
    """Yield every name, label and key that the API server would refuse."""
    for manifest in everything:
        kind, namespace, name = place(manifest)
        if LEGAL.get(kind, SUBDOMAIN).fullmatch(name) is None:
            yield f"{kind} {name}"
        if namespace is not None and LABEL.fullmatch(namespace) is None:
            yield f"namespace {namespace}"
        for port in manifest.get("spec", {}).get("ports", []) if kind == "Service" else []:
            if LABEL.fullmatch(port["name"]) is None:
                yield f"port {port['name']}"
    if any(manifest["kind"] in {"Deployment", "LeaderWorkerSet"} for manifest in everything):
        yield from (found for template in templates(everything) for found in illegal_in(template))
    for metadata in [manifest["metadata"] for manifest in [*everything, *templates(everything)]]:
        keys = [*metadata.get("labels", {}), *metadata.get("annotations", {})]
        yield from (f"key {key}" for key in keys if QUALIFIED.fullmatch(key) is None)
        yield from (value for value in metadata.get("labels", {}).values() if VALUE.fullmatch(value) is None)


def illegal_in(template):
    spec = template["spec"]
    container_names = [container["name"] for container in containers(template)]
    volume_names = [volume["name"] for volume in spec.get("volumes", [])]
    yield from (name for name in [*container_names, *volume_names] if LABEL.fullmatch(name) is None)
    yield from (f"{name} twice" for name, number in Counter(container_names).items() if number > 1)
    yield from (f"{name} twice" for name, number in Counter(volume_names).items() if number > 1)
    for container in containers(template):
        yield from (port["name"] for port in container.get("ports", []) if PORT.fullmatch(port["name"]) is None)
        mounts = container.get("volumeMounts", [])
        yield from (f"no volume {mount['name']}" for mount in mounts if mount["name"] not in volume_names)
        paths = Counter(mount["mountPath"] for mount in mounts)
        yield from (f"{path} twice" for path, number in paths.items() if number > 1)
    read = {mount["name"] for container in containers(template) for mount in container.get("volumeMounts", [])}
    yield from (f"nobody mounts {name}" for name in volume_names if name not in read)


@given(place=PLACES, account=ACCOUNTS)
def test_every_rendered_name_is_legal(place, account):
    name, namespace, shape = place
    metered = {"interceptor": {"enabled": not {"canary", "prefill", "encode"} & SHAPES[shape].keys()}}
    stack = tree(**{name: {**SHAPES[shape], "namespace": namespace, **metered}})
    stack["namespaceOptions"] = {"create": True}
    stack["interceptor"] = {"mode": "label", "namespace": "metering", "serviceAccountName": account}
    assert list(illegal(rendered(stack))) == []


@given(st.lists(SERVICES | NEAR, min_size=1, max_size=4, unique=True))
def test_adapters_of_any_names_have_containers_and_volumes_of_their_own(called):
    adapters = {
        name: {"source": "pvc://claim" if index % 2 else f"hf://org/{name}"} for index, name in enumerate(called)
    }
    everything = rendered(tree(qwen={"model": {**SERVICE["model"], "lora": {"adapters": adapters}}}))
    assert list(illegal(everything)) == []
    (template,) = model_servers(everything)
    paths = {mount["mountPath"] for mount in engine(template)["volumeMounts"]}
    assert {f"/adapters/{name}" for name in called} <= paths
    modules = engine(template)["args"]
    assert {f"{name}=/adapters/{name}" for name in called} <= {*modules}


@pytest.mark.parametrize("stack", EVERY.values(), ids=EVERY.keys())
def test_every_name_of_every_stack_is_legal(stack):
    assert list(illegal(rendered(stack))) == []


def test_what_is_illegal_is_found():
    everything = copy.deepcopy(rendered(tree(qwen={"prefill": {}})))
    everything[-1]["metadata"]["name"] = "Upper"
    template = model_servers(everything)[0]
    template["metadata"]["labels"]["a"] = "x" * 64
    engine(template)["ports"][0]["name"] = "sixteen-letters-"
    engine(template)["volumeMounts"][0]["name"] = "absent"
    assert {*illegal(everything)} >= {"HTTPRoute Upper", "x" * 64, "sixteen-letters-", "no volume absent"}


DRA = {"vendor": "nvidia", "allocation": {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}}
NUMBERS = list(product((1, 2, 4, 8), (1, 2, 3), (1, 2, 4), (None, 1, 2)))


def devices(everything):
    """Return the devices of all pods of one decode replica, counted or claimed."""
    found = 0
    for manifest in everything:
        kind, _, name = place(manifest)
        if not name.endswith("-decode") or kind not in {"Deployment", "LeaderWorkerSet"}:
            continue
        size = manifest["spec"]["leaderWorkerTemplate"]["size"] if kind == "LeaderWorkerSet" else 1
        leads, *works = model_servers([manifest])
        found += held(leads, everything)
        found += sum((size - 1) * held(work, everything) for work in works)
    return found


def held(template, everything):
    limits, requests = (engine(template)["resources"][group] for group in ("limits", "requests"))
    counted = {name: number for name, number in limits.items() if name == "nvidia.com/gpu"}
    assert counted.items() <= requests.items()
    claims = {claim["resourceClaimTemplateName"] for claim in template["spec"].get("resourceClaims", [])}
    exact = [
        request["exactly"]["count"]
        for manifest in everything
        if manifest["kind"] == "ResourceClaimTemplate" and manifest["metadata"]["name"] in claims
        for request in manifest["spec"]["spec"]["devices"]["requests"]
    ]
    return sum(map(int, counted.values())) + sum(exact)


@pytest.mark.parametrize(("accelerator", "least"), [("nvidia", 40), ("nvidia-h100-80gb", 40), ("claimed", 40)])
def test_the_pods_of_a_replica_have_tensor_times_pipeline_times_data_devices(accelerator, least):
    accepted = 0
    for tensor, pipeline, data, local in NUMBERS:
        numbers = {"tensor": tensor, "pipeline": pipeline, "data": data}
        parallelism = numbers if local is None else {**numbers, "dataLocal": local}
        stack = tree(qwen={"accelerator": accelerator, "parallelism": parallelism}) | {"accelerators": {"claimed": DRA}}
        everything = unless_refused(stack)
        accepted += everything is not None
        assert everything is None or devices(everything) == tensor * pipeline * data, parallelism
    assert accepted >= least


def unless_refused(stack):
    try:
        return rendered(stack)
    except ConfigError:
        return None


ORDERED = frozenset({"env"})
"""Maps whose order means something."""


def shuffled(node, random, key=None):
    if isinstance(node, list):
        return [shuffled(item, random) for item in node]
    if not isinstance(node, dict):
        return node
    keys = list(node)
    if key not in ORDERED:
        random.shuffle(keys)
    return {name: shuffled(node[name], random, name) for name in keys}


def written(stack):
    components = render(plan(stack))
    manifests = [
        (item.manifest, item.id, item.after, item.wait, sorted(item.origins.items())) for item in objects(components)
    ]
    names = [(component.type, component.name) for component in components]
    return json.dumps([names, manifests], sort_keys=True, default=str)


def crowded():
    """Return a stack that says something in every map that has several keys."""
    stack = copy.deepcopy(EVERY["mi300x"])
    stack["accelerators"] = {
        "amd-mi300x": {"nodeSelector": {"z.example/pool": "a", "a.example/pool": "b", "m.example/pool": "c"}},
        "other": {"vendor": "amd", "memory": "1Gi"},
    }
    adapters = stack["services"]["qwen"]["model"]["lora"]["adapters"]
    adapters |= {name: {"source": f"hf://org/{name}"} for name in ("z", "a", "m")}
    stack["services"] |= {key: copy.deepcopy(SERVICE) | {"namespace": key[::-1]} for key in ("zz", "ab")}
    stack["labels"] = {"z": "1", "a": "2"}
    stack["interceptor"] = {"mode": "label", "namespace": "metering"}
    stack["services"]["ab"]["interceptor"] = stack["services"]["zz"]["interceptor"] = {"enabled": False}
    return stack


STACKS = EVERY | {"crowded": crowded()}


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS.keys())
@settings(max_examples=share(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random=st.randoms(use_true_random=False))
def test_rendering_is_deterministic_and_does_not_depend_on_the_order_of_keys(stack, random):
    expected = written(stack)
    assert written(stack) == expected
    assert written(shuffled(stack, random)) == expected


def test_the_order_of_variables_is_the_users():
    first, second = ({"engine": {"env": dict(order)}} for order in ((("A", "1"), ("B", "2")), (("B", "2"), ("A", "1"))))
    assert written(tree(qwen=first)) != written(tree(qwen=second))


DURATIONS = st.tuples(st.integers(0, 99_999), st.sampled_from(["ms", "s", "m", "h"])).map("{0[0]}{0[1]}".format)


@pytest.mark.parametrize(
    ("release", "shape"),
    [*product(["llm-d-0.10"], ["one-pod", "spanning", "custom", "prefill"]), ("gie-1.3", "one-pod")],
)
@settings(max_examples=share(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drain=DURATIONS)
def test_a_pod_is_killed_only_after_it_could_drain(release, shape, drain):
    stack = tree(qwen={**SHAPES[shape], "drainTimeout": drain}) | {"release": release}
    for template in model_servers(rendered(stack)):
        container = engine(template)
        pre_stop = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        # What only computes is told to end after the pod that serves has drained, however long its own flag says.
        serves = "readinessProbe" in container
        lets_run = int(flag(container, "--shutdown-timeout") or 0) if serves else 0
        assert template["spec"]["terminationGracePeriodSeconds"] > pre_stop + lets_run >= seconds(drain)
        assert pre_stop > 0


@given(DURATIONS, st.booleans())
def test_grace_covers_what_comes_before_the_end_and_the_engines_own_drain(timeout, engine_drains):
    drained = lifecycle.drain(timeout, engine_drains=engine_drains)
    assert drained.grace > drained.pre_stop + (drained.engine or 0) >= seconds(timeout)
    assert drained.engine == (seconds(timeout) or None if engine_drains else None)
    assert drained.pre_stop > 0


ROLLOUTS = st.just({"type": "Recreate"}) | st.builds(
    lambda surge, missing: {"type": "RollingUpdate", "maxSurge": surge, "maxUnavailable": missing or int(not surge)},
    st.integers(0, 4),
    st.integers(0, 4),
)


@settings(max_examples=share(60))
@given(
    replicas=st.integers(0, 50),
    rollout=ROLLOUTS,
    startup=st.integers(1, 20_000).map("{}s".format),
    size=st.none() | st.integers(1, 2000).map("{}Gi".format),
    shape=st.sampled_from(["one-pod", "spanning", "prefill"]),
)
def test_a_deployment_run_waits_longer_than_kubernetes_does(replicas, rollout, startup, size, shape):
    if shape == "spanning" and rollout["type"] == "Recreate":
        return
    model = {**SERVICE["model"], **({} if size is None else {"size": size})}
    settings = {"model": model, "replicas": replicas, "rollout": rollout, "health": {"startupTimeout": startup}}
    everything = objects(render(plan(tree(qwen={**SHAPES[shape], **settings}))))
    waited = [item for item in everything if item.wait.seconds is not None and item.id.part is not parts.PICKER]
    assert len(waited) == (2 if shape == "prefill" else 1)
    for item in waited:
        spec = item.manifest["spec"]
        deadline = spec.get("progressDeadlineSeconds", seconds(startup))
        at_once = spec["replicas"] if rollout["type"] == "Recreate" else rollout["maxSurge"] + rollout["maxUnavailable"]
        steps = max(1, -(-spec["replicas"] // max(1, at_once)))
        assert item.wait.seconds > steps * deadline
        assert deadline > seconds(startup) or item.manifest["kind"] == "LeaderWorkerSet"


def test_the_sidecar_outlives_the_engine_that_it_asks():
    """A native sidecar ends after the containers: the grace period is the pod's, and nothing of its own cuts it."""
    (template,) = [template for template in model_servers(rendered(tree(qwen={"prefill": {}}))) if sidecars(template)]
    (proxy,) = sidecars(template)
    assert proxy["restartPolicy"] == "Always"
    assert "lifecycle" not in proxy


RECREATE = {"rollout": {"type": "Recreate"}}
SETS = {"sets": {"a": {}, "budget": {"replicas": 2}, "budget-a": {}, "canary-decode": {}, "decode": {}}}
ROLES = [
    {},
    {"prefill": {}},
    {"prefill": {}, **RECREATE},
    {"replicas": 2},
    {"encode": {}},
    {"decode": SETS},
    {"prefill": SETS, "decode": SETS, "encode": {}},
]
_ENDS = ("", "-canary", "-canary-canary", "-epp", "-canary-epp", "-weights", "-decode", "-decode-a", "-encode")
CROWD = [f"qwen{suffix}" for suffix in _ENDS]
REFUSED = ("would make the same object as", "is used by", "finds only Services of one namespace")


@st.composite
def crowds(draw):
    """Draw services that are called like one another's objects, with and without canaries, roles, claims and meters."""
    metered = draw(st.booleans())
    services = {}
    for key in draw(st.lists(st.sampled_from(CROWD), min_size=1, max_size=4, unique=True)):
        service = {"namespace": draw(st.sampled_from(["models", "models", "elsewhere"]))}
        if draw(st.booleans()):
            service["name"] = draw(st.sampled_from([*CROWD, "one", "two"]))
        service |= draw(st.sampled_from(ROLES))
        service |= draw(st.sampled_from([{}, {"storage": {"type": "dedicated", "size": "10Gi"}}]))
        if draw(st.booleans()):
            number = {} if "decode" in service else {"replicas": 2}
            service["canary"] = {"weight": draw(st.integers(0, 100)), **number}
            service["canary"] |= draw(st.sampled_from([{}, {"model": {"source": "hf://org/next", "size": "1Gi"}}]))
        if metered:
            enabled = not {"canary", "prefill", "encode"} & service.keys()
            service["interceptor"] = {"enabled": enabled, "resourceId": draw(st.sampled_from("abc"))}
        services[key] = service
    made = tree(**services)
    caches = draw(st.dictionaries(st.sampled_from(["qwen", "m"]), st.just({"source": "hf://org/m", "size": "1Gi"})))
    return made | {"caches": caches} | ({"interceptor": {"mode": "label", "namespace": "metering"}} if metered else {})


def accepted(crowd):
    """Return the messages for a stack, and its components; none where it is refused."""
    try:
        components = render(plan(crowd))
    except ConfigError as error:
        event("refused")
        return str(error).splitlines(), ()
    event("accepted")
    return [], components


def repeated(values):
    return [value for value, number in Counter(values).items() if number > 1]


@settings(max_examples=share(200))
@given(crowds())
def test_no_stack_makes_one_object_twice_or_under_one_logical_name_or_bills_two_services_by_one_id(crowd):
    """See phoebe 7.2."""
    refused, components = accepted(crowd)
    assert all(any(refusal in line for refusal in REFUSED) for line in refused), refused
    every = list(objects(components))
    assert repeated(item.id for item in every) == []
    assert repeated(item.place for item in every) == []
    assert repeated((component.type, component.name) for component in components) == []
    # The engine tells resources apart by the types of their parents, their own type and their logical name.
    assert (
        repeated(
            (component.type, each.api, f"{component.name}-{each.suffix}")
            for component in components
            for each in component.objects
        )
        == []
    )
    carried = [item.manifest["metadata"]["labels"] for item in every if item.manifest["kind"] == "Service"]
    billed = [labels["saturncloud.io/resource-id"] for labels in carried if "saturncloud.io/resource-id" in labels]
    assert repeated(billed) == []
    metered = [
        service for service in crowd["services"].values() if service.get("interceptor", {}).get("enabled", False)
    ]
    assert refused or len(billed) == len(metered)


@given(crowds())
def test_no_pod_of_a_crowd_is_selected_by_anothers_service_pool_or_workload(crowd):
    every = list(objects(accepted(crowd)[1]))
    workloads = [item for item in every if item.manifest["kind"] == "Deployment"]
    for item in every:
        selector = item.manifest.get("spec", {}).get("selector")
        selected = None if selector is None else selector.get("matchLabels", selector)
        for workload in workloads if selected else ():
            labels = workload.manifest["spec"]["template"]["metadata"]["labels"]
            if item.place[2] == workload.place[2] and selected.items() <= labels.items():
                assert item.id.owner == workload.id.owner, (item.place, workload.place)
