"""Inference stacks beside each other in one program: names, aliases, and mistakes, which are reported together."""

import pulumi
import pulumi_kubernetes as k8s
import pytest
from google.protobuf.json_format import MessageToDict

from components import InferenceStack
from models.lock import Lock, file_name, text
from models.paths import Path
from models.pins import Pin
from models.platform import PlatformOutputs
from tests.support.program import Monitor, Recorder, begin
from tests.support.stacks import tree

TOP = "inference-stacks:index:InferenceStack"
HEADLINE = "The configuration is mistaken, nothing was changed:\n"


def stack(namespace="models", **services):
    return tree(**services) | {"namespace": namespace, "cluster": {"facts": {"type": "none"}, "name": "prod"}}


def requests(program):
    """Run a program and return what the engine is asked for, by logical name."""
    monitor = Monitor(Recorder())
    begin(Recorder(), project="chat", stack="dev", monitor=monitor)
    try:
        pulumi.runtime.test(program)()
    finally:
        found = {request.name: request for request in monitor.requests.values()}
        found.pop("chat-dev", None)
    return found


def refusal(program):
    """Return the lines of the error of a program that registers nothing."""
    monitor = Monitor(Recorder())
    begin(Recorder(), project="chat", stack="dev", monitor=monitor)
    with pytest.raises(pulumi.RunError) as error:
        pulumi.runtime.test(program)()
    assert {request.type for request in monitor.requests.values()} <= {"pulumi:pulumi:Stack"}
    text = str(error.value)
    assert text.startswith(HEADLINE)
    return text.removeprefix(HEADLINE).splitlines()


def of(**trees):
    """Return a program that makes an inference stack of each tree."""

    def program():
        for name, content in trees.items():
            InferenceStack(name, content)

    return program


def test_two_of_them_have_equal_services_and_different_names():
    found = requests(of(a=stack("one"), b=stack("two")))
    names = {name.partition("-")[2] for name in found if name.startswith("a-")}
    assert {"cluster", "qwen", "qwen-decode", "qwen-epp-pool", "routing-qwen-route"} <= names
    assert found.keys() == {"a", "b", *(f"a-{name}" for name in names), *(f"b-{name}" for name in names)}
    assert {found["a"].type, found["b"].type} == {TOP}
    below = {request.name for request in found.values() if request.parent.endswith("::b")}
    assert below == {"b-cluster", "b-qwen", "b-qwen-epp", "b-routing"}
    assert not any(request.aliases or request.aliasURNs for request in found.values())


def test_without_a_prefix_the_children_are_those_of_the_stack_itself():
    content = stack() | {"namespaceOptions": {"create": True}}
    found = requests(lambda: InferenceStack("top", content, prefix=""))
    children = {request.name for request in found.values() if request.parent.endswith("::top")}
    assert children == {"cluster", "namespace-models", "qwen", "qwen-epp", "routing"}
    aliases = {name: [alias.spec for alias in found[name].aliases] for name in found}
    assert {name for name, specs in aliases.items() if [spec.noParent for spec in specs] == [True]} == children
    assert not any(specs for name, specs in aliases.items() if name not in children)


def test_all_mistakes_are_reported_at_once_below_the_names_and_nothing_is_registered():
    assert refusal(of(a=stack(qwen={"replica": 2}), fine=stack(), b=stack("two", qwen={"engine": 1}))) == [
        "  - a.services.qwen.replica: unknown key (replica); did you mean replicas?",
        "  - b.services.qwen.engine: is not a mapping (1); write keys with values below it",
    ]


def test_objects_and_requests_of_another_are_not_taken():
    both = stack() | {"namespaceOptions": {"create": True}}
    namespace, service, route = refusal(of(a=both, b=both))
    what, remedy = "would make the same object as a.namespaceOptions.create (Namespace models)", "another namespace"
    assert namespace == f"  - b.namespaceOptions.create: {what}; choose {remedy} for one of them"
    what, remedy = (
        "would make the same object as a.services.qwen (Deployment models/qwen-decode)",
        "another name or namespace",
    )
    assert service == f"  - b.services.qwen: {what}; choose {remedy} for one of them"
    what, remedy = (
        "is taken on gateways/gateway by a.services.qwen (/models/qwen, any host)",
        "another path or hostname",
    )
    assert route == f"  - b.services.qwen.route.matches[0].path: {what}; give one of the two routes {remedy}"
    path = {"route": {"matches": [{"path": "/chat"}]}}
    (line,) = refusal(of(a=stack(qwen=path), b=stack("two", qwen=path)))
    assert line.startswith("  - b.services.qwen.route.matches[0].path: is taken on gateways/gateway by a.services.qwen")


def test_equal_objects_in_two_clusters_are_two():
    other = stack() | {"cluster": {"facts": {"type": "none"}, "name": "other"}}
    assert {"a-qwen-decode", "b-qwen-decode"} <= requests(of(a=stack(), b=other)).keys()


def test_names_in_the_state_are_not_shared():
    (line,) = refusal(of(**{"a": stack(**{"b-c": {}}), "a-b": stack(c={})}))
    assert line.startswith("  - a-b: would share names of resources with inference stack a (a-b-c")
    assert line.endswith("); choose another name for one of the two inference stacks")

    def twice():
        InferenceStack("a", stack("one"))
        InferenceStack("a", stack("two"))

    (line,) = refusal(twice)
    assert line == (
        "  - a: would share names of resources with inference stack a (a); "
        "choose another name for one of the two inference stacks"
    )


def test_values_of_a_run_are_refused_by_their_paths():
    late = stack(qwen={"model": {"name": pulumi.Output.from_input("m"), "source": "hf://org/m"}})
    (line,) = refusal(lambda: InferenceStack("a", late))
    assert line == (
        "  - a.services.qwen.model.name: is an Output, whose value is not known yet; pass a plain value: a stack is "
        "planned before any Output has a value"
    )


def test_a_provider_is_refused():
    def program():
        provider = k8s.Provider("given")
        InferenceStack("a", stack(), pulumi.ResourceOptions(provider=provider))

    with pytest.raises(
        pulumi.RunError, match=r"a\.opts: have a provider of Kubernetes, whose cluster is unknown; leave"
    ):
        requests(program)


def test_other_options_of_a_component_are_taken():
    def program():
        InferenceStack("a", stack(), pulumi.ResourceOptions(depends_on=[k8s.Provider("given")]))

    assert "a-qwen-decode" in requests(program)


NAMED = {"platform": {"stack": "organization/platform/prod", "kubeconfig": "admin"}}
GIVEN = {"contractVersion": 1, "storageClassName": "fast"}


def on_platform(outputs):
    return lambda: InferenceStack("a", stack() | NAMED, platform=outputs)


def test_a_platform_is_an_argument():
    found = requests(on_platform({"inferencePlatform": GIVEN, "admin": "kind: Config"}))
    assert "a-qwen-decode" in found
    assert "kubeconfig" in found["a-cluster"].object
    (line,) = refusal(on_platform(PlatformOutputs({"inferencePlatform": GIVEN})))
    assert line.startswith("  - a.platform.kubeconfig: is no output of organization/platform/prod (admin)")
    (line,) = refusal(on_platform(None))
    remedy = "pass platform=await read_platform(tree)"
    assert line == f"  - a.platform: has outputs that were not passed (organization/platform/prod); {remedy}"


SOURCE = "kit://registry.example/org/m:v1"
UNLOCKED = {"model": {"name": "org/m", "source": SOURCE}}


def write_lock(path, letter, stack="organization/chat/dev"):
    """Write a lock of the service `qwen` with a digest."""
    values = {"was": SOURCE, "source": f"kit://registry.example/org/m@sha256:{letter * 64}", "from": "registry.example"}
    pin = Pin.model_validate({**values, "asked": "2026-11-22T05:00:00Z"})
    path.write_text(text(Lock(stack, {Path("services", "qwen", "model"): pin})), encoding="utf-8")


def fetched(request):
    """Return the reference of the ModelKit that the pods of a Deployment fetch."""
    spec = MessageToDict(request.object)["spec"]["template"]["spec"]
    return spec["initContainers"][0]["command"][2]


def test_each_has_the_lock_that_is_passed_to_it(tmp_path, monkeypatch):
    """The file of the Pulumi stack is that of the one whose children have no prefix."""
    monkeypatch.chdir(tmp_path)
    write_lock(tmp_path / "one.yaml", "a")
    write_lock(tmp_path / file_name("dev"), "b")

    def program():
        InferenceStack("one", stack("one", qwen=UNLOCKED), lock="one.yaml")
        InferenceStack("two", stack("two", qwen=UNLOCKED))
        InferenceStack("top", stack("top", qwen=UNLOCKED), prefix="")

    found = requests(program)
    digests = {name: fetched(found[f"{name}qwen-decode"]) for name in ("one-", "two-", "")}
    assert digests == {
        "one-": f"registry.example/org/m@sha256:{'a' * 64}",
        "two-": "registry.example/org/m:v1",
        "": f"registry.example/org/m@sha256:{'b' * 64}",
    }


def test_mistakes_of_their_locks_are_reported_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lock(tmp_path / "other.yaml", "a", "organization/chat/prod")
    write_lock(tmp_path / "edited.yaml", "a")
    edited = (tmp_path / "edited.yaml").read_text(encoding="utf-8").replace("a" * 64, "b" * 64)
    (tmp_path / "edited.yaml").write_text(edited, encoding="utf-8")

    def program():
        for name in ("absent", "edited", "other"):
            InferenceStack(name, stack(name, qwen=UNLOCKED), lock=f"{name}.yaml")

    absent, hand, other = refusal(program)
    assert absent.startswith(
        "  - absent.absent.yaml: does not exist; write it with `python -m cli lock FILE --file absent"
    )
    assert hand.startswith("  - edited.services.qwen: was edited by hand (from edited.yaml); restore it from git")
    assert other.startswith("  - other.other.yaml: is the lock of another stack (organization/chat/prod, and not")
