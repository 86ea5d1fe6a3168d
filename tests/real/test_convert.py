"""Objects of other systems on the real API server: what kubectl prints converts as their files do, and `--live` reads.

The definitions of their kinds let everything pass, because only what the API server adds is asked for here.
"""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli import commands
from migration import files
from planning.ground.api_groups import plural
from tests.support.cluster import identities
from tests.support.cluster.identities import single_rights
from tests.support.migration import OBJECTS, SAMPLES, llm_service
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "convert"
SYSTEM = "kserve"
ROOT = Path(__file__).parents[2]
DIGEST = f"sha256:{'7' * 64}"
BUILT_IN = {"", "apps"}
"""API groups that every server has."""
REFERRING = llm_service(
    "  baseRefs: [{name: base}]\n  model: {uri: 'hf://acme/chat', name: chat}\n"
    "  router: {scheduler: {config: {ref: {name: plugins}}}}\n"
    "  template: {containers: [{name: main, image: 'r/vllm:latest'}]}\n"
).replace("namespace: ml", f"namespace: {NAMESPACE}")
REGISTRY = "AIMClusterModelSource"
"""A kind without a namespace, of which several samples have an object with one name."""
LABELS = {"app.kubernetes.io/part-of": "llminferenceservice", "app.kubernetes.io/name": "chat"}
PLUGINS = (
    "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nplugins: [{type: queue-scorer}]\n"
)


def samples():
    """Return the objects of each sample, in a namespace of its own and with names that a cluster takes."""
    trees = dict[str, list]()
    for name in OBJECTS:
        text = (SAMPLES / name).read_text(encoding="utf-8")
        namespace = f"{NAMESPACE}-{name.removesuffix('.yaml')}"
        trees[name] = [placed(raw.tree, namespace) for raw in files.documents(text, name)]
    return trees


def placed(tree, namespace):
    metadata = {**tree["metadata"], "name": tree["metadata"]["name"].lower()}
    if "Cluster" not in tree["kind"]:
        metadata["namespace"] = namespace
    return {**tree, "metadata": metadata}


def definition(tree):
    """Return the definition of an object's kind, with a status of its own."""
    group, _, version = tree["apiVersion"].rpartition("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": tree["kind"], "plural": plural(tree["kind"]), "singular": tree["kind"].lower()}
    scope = "Namespaced" if "namespace" in tree["metadata"] else "Cluster"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural(tree['kind'])}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": names,
            "versions": [{**served, "schema": {"openAPIV3Schema": anything}}],
        },
    }


def apply(plane, *items):
    plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))


def named(kind, name, namespace=None, api="v1", **more):
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **place}, **more}


def config(name, namespace, **spec):
    return named("LLMInferenceServiceConfig", name, namespace, "serving.kserve.io/v1alpha2", spec=spec)


@pytest.fixture(scope="module")
def world(plane):
    """Serve the kinds of the samples and make their objects, as `kubectl apply` does; all of it goes afterwards."""
    trees = [tree for sample in samples().values() for tree in sample]
    kinds = [
        tree for tree in (*trees, config("base", NAMESPACE)) if tree["apiVersion"].rpartition("/")[0] not in BUILT_IN
    ]
    definitions = {made["metadata"]["name"]: made for made in map(definition, kinds)}
    namespaces = {tree["metadata"].get("namespace") for tree in trees} | {NAMESPACE, SYSTEM}
    apply(plane, *definitions.values(), *(named("Namespace", name) for name in sorted(namespaces - {None})))
    for name in definitions:
        plane.kubectl("wait", "--for=condition=established", f"crd/{name}", "--timeout=240s")
    apply(plane, *trees)
    yield plane
    plane.kubectl("delete", "crd", *definitions)
    plane.kubectl("delete", "namespace", "--wait=false", *sorted(namespaces - {None}))


@pytest.fixture
def convert(capsys, monkeypatch):
    """Run the command; the result has exit code, standard output and standard error."""

    def call(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = commands.main(["convert", *arguments])
        return code, *capsys.readouterr()

    return call


def kinds(trees):
    return ",".join(dict.fromkeys(f"{plural(tree['kind'])}.{tree['apiVersion'].partition('/')[0]}" for tree in trees))


def stack(text):
    return yaml.safe_load(text)["config"]["inference-stacks:stack"]


def notes(errors):
    """Return the notes without their order, which is that of the keys, and without the numbers of fields."""
    lines = {line for line in errors.splitlines() if not line.endswith("(--notes lists them)")}
    return {line for line in lines if not line.startswith(f"- {REGISTRY}/")}


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("name", OBJECTS)
def test_what_kubectl_prints_of_a_sample_converts_as_its_file_does(world, convert, name, form):
    trees = samples()[name]
    (namespace, *_) = [tree["metadata"]["namespace"] for tree in trees if "namespace" in tree["metadata"]]
    text = world.kubectl("get", kinds(trees), "-n", namespace, "-o", form)
    assert "last-applied-configuration" in text
    assert "resourceVersion" in text
    of_file = convert("-", stdin="---\n".join(map(yaml.safe_dump, trees)))
    of_cluster = convert("-", stdin=text)
    assert of_cluster[0] == of_file[0]
    assert stack(of_cluster[1]) == stack(of_file[1])
    assert notes(of_cluster[2]) == notes(of_file[2])
    assert stack(of_file[1])["services"]


def test_all_kinds_of_a_cluster_convert_through_a_pipe(world):
    trees = [tree for sample in samples().values() for tree in sample]
    text = world.kubectl("get", kinds(trees), "-A", "--show-managed-fields", "-o", "yaml")
    assert "managedFields" in text
    command = [sys.executable, "-m", "cli", "convert", "-"]
    ended = subprocess.run(command, input=text, text=True, capture_output=True, cwd=ROOT, check=False, timeout=300)
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    # A cache of weights has to be in the namespace of the stack, and here each service has a namespace of its own.
    assert len(stack(ended.stdout)["services"]) >= len(OBJECTS) - 1
    assert "managedFields" not in ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def chat(world, tmp_path_factory):
    """Make a pod of a service whose image has no version, and what the service refers to; return the service's file."""
    container = {"name": "main", "image": "r/vllm:latest"}
    spec = {"schedulerName": "nobody", "serviceAccountName": "runner", "containers": [container]}
    pod = named("Pod", "chat-0", NAMESPACE, spec=spec)
    pod["metadata"]["labels"] = LABELS
    (service,) = yaml.safe_load_all(REFERRING)
    apply(
        world,
        service,
        named("ServiceAccount", "runner", NAMESPACE),
        pod,
        config("base", NAMESPACE, replicas=3),
        config("base", SYSTEM, replicas=5),
        named("ConfigMap", "plugins", NAMESPACE, data={"epp": PLUGINS}),
    )
    state = {**container, "imageID": f"docker.io/r/vllm@{DIGEST}", "ready": True, "restartCount": 0}
    status = {"status": {"phase": "Running", "containerStatuses": [state]}}
    place = ("pod", "chat-0", "-n", NAMESPACE, "--subresource=status", "--type=merge")
    world.kubectl("patch", *place, "-p", json.dumps(status))
    path = tmp_path_factory.mktemp("convert") / "chat.yaml"
    path.write_text(REFERRING, encoding="utf-8")
    return path


@pytest.fixture
def use(world, monkeypatch, tmp_path):
    """Let the command use a kubeconfig with a token."""

    def call(token):
        content = yaml.safe_load(world.kubeconfig.read_text(encoding="utf-8"))
        content["users"][0]["user"] = {"token": token}
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        monkeypatch.setenv("KUBECONFIG", str(path))

    return call


def test_live_reads_with_the_printed_rights_alone_and_names_each_one_that_is_missing(world, chat, convert, use):
    code, printed, _ = convert(str(chat), "--rights")
    assert code == 0
    rights = single_rights(yaml.safe_load_all(printed))
    assert len(rights) >= 5
    with identities.client(world) as api:
        tokens = identities.tokens_without(api, rights, NAMESPACE, "convert")
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        api.create(accounts, {"metadata": {"name": "all"}})
        everything = api.create(f"{accounts}/all/token", {"spec": {}})["status"]["token"]
    bind(world, printed, "all")
    with identities.client(world) as api:
        eventually(lambda: all(api.may(everything, right) for right in rights))

    use(everything)
    _, out, err = convert(str(chat), "--live")
    (service,) = stack(out)["services"].values()
    assert service["engine"]["image"] == f"r/vllm@{DIGEST}"
    assert service["replicas"] == 3
    assert service["endpointPicker"]["config"]["plugins"][0] == {"type": "queue-scorer"}
    assert f"{DIGEST} is taken, which runs in 1 pod" in err
    assert "may not be read" not in err
    assert "Traceback" not in err

    for right, token in tokens.items():
        use(token)
        _, out, err = convert(str(chat), "--live")
        resource = f"{right.resource}.{right.group}".removesuffix(".")
        text = f"the right to {right.verb} {resource} in namespace {right.namespace} is missing"
        assert text in err, (right, err)
        assert "Traceback" not in err
        assert stack(out)["services"], right


def bind(plane, printed, account):
    """Create the printed Roles, and bind them to an account."""
    items = []
    for role in yaml.safe_load_all(printed):
        place = role["metadata"]["namespace"]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": role["metadata"]["name"]}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
        api = "rbac.authorization.k8s.io/v1"
        items += [role, named("RoleBinding", account, place, api, roleRef=reference, subjects=[subject])]
    apply(plane, *items)
