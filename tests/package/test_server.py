"""The process of the package, as the engine starts it and asks it: what it makes, and how it refuses."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import alias_pb2

from models import version
from planning.ground import contract
from planning.ground.instances import TYPE
from tests.support import package_process, program
from tests.support.package_process import SIGNATURE, UNKNOWN, Engine, Monitor, output, secret
from tests.support.stacks import GATEWAY, tree


def stack(namespace="models", **services):
    return tree(**services) | {"namespace": namespace, "cluster": {"facts": {"type": "none"}, "name": "prod"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make the folder of a program."""
    return tmp_path_factory.mktemp("program")


@pytest.fixture(scope="module")
def package(folder):
    """Start the process."""
    engine = Engine()
    with package_process.served(engine) as (_, address), package_process.running(folder, engine, address) as package:
        yield package


@pytest.fixture
def run():
    """Begin a run of a program."""
    monitor = Monitor()
    with package_process.served(monitor) as (_, address):
        monitor.address = address
        yield monitor


def test_the_process_says_the_version_of_the_project(package):
    assert package.stub.GetPluginInfo(empty_pb2.Empty()).version == version.read()


def test_a_component_is_made_with_all_its_objects_and_outputs(package, run):
    made = package.construct(run.address, "chat", stack(qwen={"replicas": 2}))
    assert made.urn == f"urn:pulumi:dev::teams::{TYPE}::chat"
    names = {request.name for request in run.requests.values()}
    assert {"chat", "chat-cluster", "chat-qwen", "chat-qwen-decode", "chat-routing-qwen-route"} <= names
    (decode,) = [request for request in run.requests.values() if request.name == "chat-qwen-decode"]
    assert json_format.MessageToDict(decode.object)["spec"]["replicas"] == 2
    state = json_format.MessageToDict(made.state)
    assert state["services"]["qwen"]["namespace"] == "models"
    assert state["contractVersion"] == contract.VERSION
    assert "services" in run.outputs[made.urn]


MISTAKEN = {
    "replicas": UNKNOWN,
    "model": {"source": output(dependencies=[]), "name": "org/model"},
    "engine": {"env": {"TOKEN": secret("hunter2")}},
    "decode": {"engine": {"args": ["--one", {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "text": "x"}]}},
    "decod": {},
}
LATE = (
    "is not known yet, because it is an output of what this run makes; write the value itself, because a stack is "
    "planned before any of its objects is made"
)
SECRET = (
    "is a secret; put a credential into an existing Secret and name the Secret here; pass a kubeconfig as kubeconfig"
)


def test_all_mistakes_come_at_once_with_their_paths_and_without_a_traceback(package, run):
    inputs = {**stack(qwen=MISTAKEN), "kubeconfig": output(secret=True), "previewed": 7}
    assert package.refusal(run.address, "chat", inputs).splitlines() == [
        "The configuration is mistaken, nothing was changed:",
        f"  - chat.kubeconfig: {LATE}",
        "  - chat.previewed: is not text; write text",
        "  - chat.services.qwen.decode.engine.args[1]: is an asset; write a plain value",
        f"  - chat.services.qwen.engine.env.TOKEN: {SECRET}",
        f"  - chat.services.qwen.model.source: {LATE}",
        f"  - chat.services.qwen.replicas: {LATE}",
        "  - chat.services.qwen.decod: unknown key (decod); did you mean decode?",
    ]
    assert run.requests == {}


def test_a_value_that_all_services_inherit_is_reported_once(package, run):
    inputs = stack(qwen={}, llama={}) | {"defaults": {"model": {"source": UNKNOWN}}}
    for service in inputs["services"].values():
        service["model"] = {"name": "org/model"}
    assert package.refusal(run.address, "chat", inputs).splitlines()[1:] == [f"  - chat.defaults.model.source: {LATE}"]


def test_a_kubeconfig_in_json_may_be_an_object(package, run):
    package.construct(run.address, "chat", {**stack(), "kubeconfig": secret({"kind": "Config"})})
    (provider,) = [request for request in run.requests.values() if request.name == "chat-cluster"]
    assert json_format.MessageToDict(provider.object)["kubeconfig"] == secret('{"kind": "Config"}')


@pytest.mark.parametrize("wrap", [secret, lambda text: output(value=text, secret=True), str])
def test_a_kubeconfig_may_be_a_secret_and_outputs_may_be_known(package, run, wrap):
    known = output(value=2.0, dependencies=["urn:pulumi:dev::teams::random:index:Number::size"])
    package.construct(run.address, "chat", {**stack(qwen={"replicas": known}), "kubeconfig": wrap("kind: Config")})
    (provider,) = [request for request in run.requests.values() if request.name == "chat-cluster"]
    assert json_format.MessageToDict(provider.object)["kubeconfig"] == secret("kind: Config")


def test_an_empty_prefix_gives_the_logical_names_of_the_program(package, run):
    package.construct(run.address, "inference-stack", {**stack(), "prefix": ""}, project="inference-stacks")
    plain = program.run_whole(stack())
    names = {request.name for request in plain.requests.values()} - {"inference-stacks-dev"}
    assert {request.name for request in run.requests.values()} == names
    for urn, request in run.requests.items():
        (counterpart,) = [other for other in plain.requests.values() if other.name == request.name]
        assert request.object == counterpart.object, urn
        assert [alias.spec.noParent for alias in request.aliases] == [
            alias.spec.noParent for alias in counterpart.aliases
        ]


def test_options_of_the_program_reach_the_component(package, run):
    parent = "urn:pulumi:dev::teams::acme:index:Platform::platform"
    other = "urn:pulumi:dev::teams::random:index:Number::size"
    former = f"urn:pulumi:dev::teams::{TYPE}::former"
    made = package.construct(
        run.address,
        "chat",
        stack(),
        parent=parent,
        protect=True,
        dependencies=[other],
        aliases=[alias_pb2.Alias(urn=former), alias_pb2.Alias(spec=alias_pb2.Alias.Spec(name="elder"))],
    )
    assert made.urn == f"urn:pulumi:dev::teams::acme:index:Platform${TYPE}::chat"
    component = run.requests[made.urn]
    assert (component.parent, component.protect, [*component.dependencies]) == (parent, True, [other])
    assert [alias.urn or alias.spec.name for alias in component.aliases] == [former, "elder"]


def test_a_kubernetes_provider_of_the_program_is_refused(package, run):
    providers = {"kubernetes": "urn:pulumi:dev::teams::pulumi:providers:kubernetes::mine::an-id"}
    text = package.refusal(run.address, "chat", stack(), providers=providers)
    assert text.splitlines()[1].startswith("  - chat.opts: have a provider of Kubernetes, whose cluster is unknown")
    other = {"random": "urn:pulumi:dev::teams::pulumi:providers:random::mine::an-id"}
    package.construct(run.address, "chat", stack(), providers=other)


def test_files_are_read_in_the_folder_of_the_program(package, run, folder):
    (folder / "base.yaml").write_text("defaults:\n  replicas: 3\n")
    package.construct(run.address, "chat", stack() | {"extends": ["base.yaml"]})
    (decode,) = [request for request in run.requests.values() if request.name == "chat-qwen-decode"]
    assert json_format.MessageToDict(decode.object)["spec"]["replicas"] == 3
    text = package.refusal(run.address, "chat", stack() | {"extends": ["absent.yaml"]})
    assert "absent.yaml" in text


def test_components_that_a_program_makes_at_the_same_time_keep_their_own_mistakes(package, run):
    asked = {
        f"team-{number}": stack(f"team-{number}", qwen={"replica": 1} if number % 2 else {}) for number in range(6)
    }
    with ThreadPoolExecutor() as threads:
        results = list(threads.map(lambda name: outcome(package, run, name, asked[name]), asked))
    for number, result in enumerate(results):
        line = f"  - team-{number}.services.qwen.replica: unknown key (replica); did you mean replicas?"
        assert result == ([line] if number % 2 else None)
    made = {request.name for request in run.requests.values() if request.type == TYPE}
    assert made == {"team-0", "team-2", "team-4"}


def outcome(package, run, name, inputs):
    """Return the lines with which a component is refused; None if it is made."""
    try:
        package.construct(run.address, name, inputs)
    except grpc.RpcError as error:
        return error.details().splitlines()[1:]
    return None


def test_components_of_one_program_that_make_the_same_object_are_refused(package, run):
    package.construct(run.address, "chat", stack())
    text = package.refusal(run.address, "search", stack())
    assert "search.services.qwen" in text
    assert "would make the same object as chat.services.qwen" in text
    monitor = Monitor()
    with package_process.served(monitor) as (_, address):
        package.construct(address, "search", stack())


PLATFORM = {"inferencePlatform": {"contractVersion": 1.0, "gateway": GATEWAY}, "kubeconfig": secret("kind: Config")}


def on_platform(namespace, **more):
    """Return a stack that takes its gateway and its cluster from a platform."""
    inputs = {
        **stack(namespace),
        "platform": {"stack": "organization/platform/prod", "kubeconfig": "kubeconfig"},
        **more,
    }
    return {key: value for key, value in inputs.items() if key != "gateway"}


def test_outputs_of_a_platform_are_read_by_the_engine_or_passed(package, run):
    run.stacks["organization/platform/prod"] = PLATFORM
    package.construct(run.address, "chat", on_platform("chat"))
    package.construct(run.address, "search", on_platform("search"))
    run.stacks.clear()
    package.construct(run.address, "mail", on_platform("mail", platformOutputs=PLATFORM))
    providers = [request for request in run.requests.values() if request.name.endswith("-cluster")]
    kubeconfigs = [json_format.MessageToDict(request.object)["kubeconfig"] for request in providers]
    assert kubeconfigs == [secret("kind: Config")] * 3
    unknown = {**PLATFORM, "inferencePlatform": {**PLATFORM["inferencePlatform"], "gateway": UNKNOWN}}
    lines = package.refusal(run.address, "news", on_platform("news", platformOutputs=unknown)).splitlines()
    assert lines[1:] == [f"  - news.platformOutputs.inferencePlatform.gateway: {LATE}"]
    hidden = package.refusal(run.address, "news", on_platform("news", platformOutputs=secret(PLATFORM)))
    assert "news.platform.output: is a secret (inferencePlatform of organization/platform/prod)" in hidden


def test_a_platform_that_the_engine_cannot_read_is_refused(package, run):
    (_, line) = package.refusal(run.address, "chat", on_platform("chat")).splitlines()
    what = "names a stack that cannot be read (organization/platform/prod: unknown stack 'organization/platform/prod')"
    remedy = "write the name of a deployed stack, or pass its outputs as platformOutputs"
    assert line == f"  - chat.platform.stack: {what}; {remedy}"


def recorded(package, run, name, inputs):
    """Return the state after a component was made, as the engine keeps it."""
    made = package.construct(run.address, name, inputs)
    state = {}
    for urn, request in run.requests.items():
        outputs = json_format.MessageToDict(request.object)
        state[urn] = {"type": request.type, "outputs": run.outputs[urn] if urn == made.urn else outputs}
    run.requests.clear()
    return state


def test_a_service_that_a_component_loses_is_refused_and_absent_components_are_not_judged(package, run):
    state = {
        **recorded(package, run, "chat", stack("chat", qwen={}, llama={})),
        **recorded(package, run, "search", stack("search")),
    }
    later = Monitor()
    later.state = state
    with package_process.served(later) as (_, address):
        package.construct(address, "search", stack("search"))
        text = package.refusal(address, "chat", stack("chat"))
        assert text.splitlines()[0] == "This run would end running services, nothing was changed:"
        assert [line.split(": ")[0] for line in text.splitlines()[1:]] == ["  - services.llama"]
    again = Monitor()
    again.state = state
    with package_process.served(again) as (_, address):
        package.construct(address, "chat", stack("chat") | {"allow": ["removal"]})


def test_a_mistake_of_this_program_has_no_traceback(package, run):
    text = package.refusal(run.address, "chat", {"services": stack()["services"]}, type="inference-stacks:index:Other")
    assert text == f"inference-stacks:index:Other is unknown to this package; it has {TYPE}"


def test_the_process_ends_with_the_engine(tmp_path):
    engine = Engine()
    with (
        package_process.served(engine) as (server, address),
        package_process.running(tmp_path, engine, address) as package,
    ):
        assert package.process.poll() is None
        server.stop(None)
        assert package.process.wait(timeout=20) == 0


def test_a_folder_without_a_virtual_environment_says_how_to_make_one(tmp_path):
    (tmp_path / "package").mkdir()
    script = tmp_path / "package" / package_process.PLUGIN.name
    shutil.copy(package_process.PLUGIN, script)
    (tmp_path / "link").symlink_to(script)
    done = subprocess.run([tmp_path / "link", "127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"{tmp_path / 'package'} has no virtual environment; run there:",
        "  python3 -m venv .venv && .venv/bin/pip install --require-hashes -r requirements.txt",
    ]
