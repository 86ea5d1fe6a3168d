"""Documents of `convert` with the objects, the status and the digests of a cluster, or with the rights that lack."""

import contextlib
import functools
import json
import operator
import random
import threading

import pytest
import yaml

from cli import commands, live
from facts import hosts, live_objects, reading
from migration import conversion, files, references
from migration.accounts import all_leaves
from tests.support.cluster import loopback
from tests.support.cluster.kubeconfigs import config
from tests.support.migration import CREDENTIALS, OBJECTS, SAMPLES, aim_service, chart_values, llm_service

DIGEST = f"sha256:{'1' * 64}"
OTHER = f"sha256:{'2' * 64}"
API = "/apis/serving.kserve.io/v1alpha2/namespaces"
CHAT = f"{API}/ml/llminferenceservices/chat"
BASE = f"{API}/ml/llminferenceserviceconfigs/base"
SHARED = BASE.replace("/ml/", "/kserve/")
SETTINGS = "/api/v1/namespaces/kserve/configmaps/inferenceservice-config"
SELECTOR = "app.kubernetes.io%2Fpart-of%3Dllminferenceservice%2Capp.kubernetes.io%2Fname%3Dchat"
PODS = f"/api/v1/namespaces/ml/pods?limit=500&labelSelector={SELECTOR}"
CHART_PODS = "/api/v1/namespaces/ml/pods?limit=500&labelSelector=llm-d.ai%2Frole%2Cllm-d.ai%2Finference-serving%3Dtrue"
ENGINE = "  template: {containers: [{name: main, image: 'r/vllm:latest'}]}\n"
SERVICE = llm_service(f"  model: {{uri: 'hf://acme/chat', name: chat}}\n{ENGINE}")
REFERRING = llm_service("  baseRefs: [{name: base}]\n  model: {uri: 'hf://acme/chat', name: chat}\n")

MODELSERVICE = (
    "apiVersion: model.otterscale.io/v1alpha1\nkind: ModelService\nmetadata: {name: chat, namespace: ml}\n"
    "spec: {model: {name: m, image: 'r/m:v1'}, engine: {}, accelerator: {type: nvidia}, decode: {}}\n"
)
VALUES = chart_values("{image: 'r/vllm:latest', modelCommand: vllmServe}")

UNNAMED = {"aim.yaml", "aim-caches.yaml"}
"""Samples with caches that no object names, because their services have no status."""


@pytest.fixture
def api(monkeypatch, tmp_path, nobody):
    """Serve a cluster, and name it in the kubeconfig."""
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(live, "_DEADLINE_SECONDS", 300)
    with loopback.serve({}) as server:
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config(server.url, {"token": "right"})), encoding="utf-8")
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield server


@pytest.fixture
def run(tmp_path, capsys):
    """Convert a text with options; the result has exit code, configuration and standard error."""

    def call(text, *options):
        path = tmp_path / "chat.yaml"
        path.write_text(text, encoding="utf-8")
        code = commands.main(["convert", str(path), *options])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def service(out):
    (tree,) = yaml.safe_load(out)["config"]["inference-stacks:stack"]["services"].values()
    return tree


def pod(digest, image="r/vllm:latest"):
    return {
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "main", "image": image}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "imageID": f"r/vllm@{digest}"}]},
    }


def base(**spec):
    return {"metadata": {"name": "base", "namespace": "ml"}, "spec": spec}


@pytest.mark.parametrize(
    ("text", "options", "place"),
    [
        (SERVICE, (), "spec.template.containers[0].image"),
        (MODELSERVICE.replace("engine: {}", "engine: {image: 'r/vllm'}"), (), "spec.engine.image"),
        (VALUES, ("--from", "llm-d-modelservice", "-n", "ml"), "decode.containers[0].image"),
    ],
)
def test_without_live_an_image_without_a_version_is_that_of_the_release_with_a_question(api, run, text, options, place):
    code, out, err = run(text, *options)
    assert code == 1
    assert "image" not in service(out).get("engine", {})
    assert f"{place}: its tag is latest, which is no version: give the digest that runs, which --live reads" in err
    assert "its tag is latest" in out
    assert "the image is that of the release" in err
    assert api.seen == []


def test_the_digest_that_runs_is_taken_and_said(api, run):
    api.answers[PODS] = {"items": [pod(DIGEST), pod(DIGEST), pod(OTHER, "r/other:latest")]}
    code, out, err = run(SERVICE, "--live")
    assert service(out)["engine"]["image"] == f"r/vllm@{DIGEST}"
    line = f"its tag is latest, which is no version: {DIGEST} is taken, which runs in 2 pods"
    assert f"chat.yaml spec.template.containers[0].image: differs: {line}\n" in err
    assert "# differs: its tag is latest" in out
    assert code == 0


def test_each_service_gets_the_digest_of_its_own_pods(api, run):
    code = SERVICE.replace("name: chat, namespace: ml", "name: chat, namespace: code")
    api.answers[PODS] = {"items": [pod(DIGEST)]}
    api.answers[PODS.replace("/ml/", "/code/")] = {"items": [pod(OTHER)]}
    _, out, _ = run(f"{SERVICE}---\n{code}", "--live")
    services = yaml.safe_load(out)["config"]["inference-stacks:stack"]["services"]
    images = {key: tree["engine"]["image"] for key, tree in services.items()}
    assert images == {"chat": f"r/vllm@{DIGEST}", "chat-code": f"r/vllm@{OTHER}"}


def test_several_digests_at_once_are_a_question(api, run):
    api.answers[PODS] = {"items": [pod(DIGEST), pod(OTHER)]}
    code, out, err = run(SERVICE, "--live")
    assert code == 1
    assert f"pods run several digests ({DIGEST} in 1 pod, {OTHER} in 1 pod); write the right one" in err
    assert "image" not in service(out).get("engine", {})


def test_without_pods_the_question_stays(api, run):
    api.answers[PODS] = {"items": []}
    code, _, err = run(SERVICE, "--live")
    assert code == 1
    assert "give the digest that runs" in err


def test_pods_are_read_only_for_images_without_a_version(api, run):
    api.refused.add(PODS)
    _, _, err = run(SERVICE.replace(":latest", ":v1"), "--live")
    assert "list pods" not in err
    assert "may not be read: the right to list pods in namespace ml is missing" in run(SERVICE, "--live")[2]


def test_the_digest_of_values_of_a_chart_is_that_of_the_pods_with_its_labels(api, run):
    api.answers[CHART_PODS] = {"items": [pod(DIGEST)]}
    _, out, _ = run(VALUES, "--live", "--from", "llm-d-modelservice", "-n", "ml")
    assert service(out)["engine"]["image"] == f"r/vllm@{DIGEST}"


def test_pods_that_cannot_be_told_from_others_leave_a_question(api, run):
    text = VALUES.replace("name: acme/chat", "name: acme/chat, labels: {a: 'b c'}")
    code, _, err = run(text, "--live", "--from", "llm-d-modelservice", "-n", "ml")
    assert code == 1
    assert "its pods cannot be told from others" in err


def test_an_object_that_a_document_refers_to_is_read_and_used(api, run):
    api.answers[BASE] = base(replicas=3)
    api.answers[SETTINGS] = {"metadata": {"name": "inferenceservice-config", "namespace": "kserve"}, "data": {}}
    code, out, err = run(REFERRING, "--live")
    assert service(out)["replicas"] == 3
    assert "read from the cluster: LLMInferenceServiceConfig ml/base, ConfigMap kserve/inferenceservice-config\n" in err
    assert code == 0
    code, out, err = run(REFERRING)
    assert code == 1
    assert "replicas" not in service(out)


def test_an_object_of_the_namespace_of_the_program_counts_if_the_own_namespace_has_none(api, run):
    api.answers[SHARED] = base(replicas=5)
    assert service(run(REFERRING, "--live")[1])["replicas"] == 5
    api.answers[BASE] = base(replicas=3)
    assert service(run(REFERRING, "--live")[1])["replicas"] == 3


def test_an_object_that_the_cluster_does_not_have_is_a_question(api, run):
    code, _, err = run(REFERRING, "--live")
    assert code == 1
    assert (
        "the cluster: it has no LLMInferenceServiceConfig ml/base and no LLMInferenceServiceConfig kserve/base\n" in err
    )
    assert "inferenceservice-config" not in err


def test_a_right_that_is_missing_is_named_once_with_its_place(api, run):
    api.refused |= {BASE, SETTINGS}
    code, out, err = run(REFERRING, "--live")
    right = "the right to get llminferenceserviceconfigs.serving.kserve.io in namespace ml is missing"
    (line,) = [line for line in err.splitlines() if right in line]
    assert line == (
        f"the cluster: llminferenceserviceconfigs.serving.kserve.io base may not be read: {right} "
        "(--rights prints the Roles)"
    )
    assert "the cluster: differs: configmaps inferenceservice-config may not be read" in err
    assert code == 1
    assert "chat:" in out


def test_the_status_of_the_object_completes_a_file_without_one(api, run):
    pinned = f"{API}/ml/llminferenceserviceconfigs/v2-template"
    annotations = {"serving.kserve.io/config-llm-template": "v2-template"}
    api.answers[CHAT] = {"metadata": {"name": "chat"}, "status": {"annotations": annotations}}
    api.answers[pinned] = {**base(replicas=7), "metadata": {"name": "v2-template", "namespace": "ml"}}
    _, out, err = run(SERVICE, "--live")
    assert service(out)["replicas"] == 7
    assert "read from the cluster: status of LLMInferenceService ml/chat, LLMInferenceServiceConfig ml/v2-" in err
    asked = len(api.seen)
    run(f"{SERVICE}status: {{annotations: {{serving.kserve.io/config-llm-template: v2-template}}}}\n", "--live")
    with_status = len(api.seen) - asked
    assert with_status == asked - 1


def test_an_aim_service_by_image_gets_what_its_status_names(api, run):
    """Model and template of the cluster, and the runtime config that every service has."""
    api_of_aim = "/apis/aim.eai.amd.com/v1alpha1"
    text = aim_service("model: {image: 'r/aim:1'}\n")
    _, out, err = run(text, "--live")
    assert "which weights it serves" in err
    assert "source: image://r/aim:1" in out
    status = {"resolvedModel": {"name": "m"}, "resolvedTemplate": {"name": "two"}}
    hardware = {"gpu": {"requests": 2, "model": "MI300X"}}
    sources = [{"modelId": "acme/chat", "sourceUri": "hf://acme/chat"}]
    api.answers |= {
        f"{api_of_aim}/namespaces/ml/aimservices/chat": {"metadata": {"name": "chat"}, "status": status},
        f"{api_of_aim}/namespaces/ml/aimmodels/m": {"metadata": {"name": "m"}, "spec": {"image": "r/aim:1"}},
        f"{api_of_aim}/aimclusterservicetemplates/two": {
            "metadata": {"name": "two"},
            "spec": {"modelName": "m"},
            "status": {"resolvedHardware": hardware, "modelSources": sources},
        },
        f"{api_of_aim}/aimclusterruntimeconfigs/default": {
            "metadata": {"name": "default"},
            "spec": {"storage": {"defaultStorageClassName": "fast"}},
        },
    }
    code, out, err = run(text, "--live")
    assert code == 0, err
    stack = yaml.safe_load(out)["config"]["inference-stacks:stack"]
    assert stack["caches"] == {"acme-chat": {"source": "hf://acme/chat", "storageClassName": "fast"}}
    assert (service(out)["accelerator"], service(out)["parallelism"]) == ("amd-mi300x", {"tensor": 2})


def test_the_operator_of_modelservices_answers_its_question(api, run):
    path = "/apis/apps/v1/namespaces/otterscale-system/deployments?limit=500"
    path += "&labelSelector=app.kubernetes.io%2Fname%3Dmodel-operator"
    containers = [{"name": "manager", "image": "r/model-operator:v1", "args": ["--provider=gke"]}]
    template = {"spec": {"containers": containers}}
    api.answers[path] = {"items": [{"metadata": {"name": "operator"}, "spec": {"template": template}}]}
    assert "the flags of the model-operator decide" in run(MODELSERVICE)[2]
    code, _, err = run(MODELSERVICE, "--live")
    assert "the flags of the model-operator decide" not in err
    assert code == 0


@pytest.mark.parametrize("status", [500, 503])
def test_a_cluster_that_fails_is_said_once_and_the_files_are_converted(api, run, status):
    api.statuses = dict.fromkeys((CHAT, BASE), status)
    code, out, err = run(REFERRING, "--live")
    assert code == 1
    assert err.count(f"the cluster: could not be read (it answered {status})\n") == 1
    assert "chat:" in out


@pytest.mark.parametrize("name", sorted({*OBJECTS, "aim-live.yaml"} - UNNAMED))
def test_services_alone_convert_as_with_everything_beside_them_if_a_cluster_has_it(api, run, name):
    objects = [raw.tree for raw in files.documents((SAMPLES / name).read_text(encoding="utf-8"), name)]
    for tree in objects:
        metadata = tree["metadata"]
        path = live_objects.path(f"{tree['apiVersion']}/{tree['kind']}", metadata.get("namespace", ""))
        api.answers[f"{path}/{metadata['name']}"] = tree
    kinds = {kind.rpartition("/")[2] for kind in conversion.kinds()}
    services = [tree for tree in objects if tree["kind"] in kinds]
    alone = [{key: value for key, value in tree.items() if key != "status"} for tree in services]
    for tree in alone:
        tree["metadata"] = {key: value for key, value in tree["metadata"].items() if key != "uid"}
    _, of_files, _ = run("\n---\n".join(map(json.dumps, objects)))
    _, of_cluster, _ = run("\n---\n".join(map(json.dumps, alone)), "--live")
    assert yaml.safe_load(of_cluster) == yaml.safe_load(of_files)


def test_an_offline_run_reads_no_cluster(api, run, monkeypatch):
    monkeypatch.setenv(hosts.OFFLINE, "true")
    code, _, err = run(REFERRING, "--live")
    assert code == 1
    assert err.count("the cluster: this run is offline\n") == 1
    assert api.seen == []


def test_a_cluster_that_is_silent_ends_with_the_deadline(api, run, monkeypatch):
    monkeypatch.setattr(live, "_DEADLINE_SECONDS", 0.2)
    api.hang = threading.Event()
    code, out, err = run(REFERRING, "--live")
    assert code == 1
    assert err.count("the cluster: did not answer within 0.2 seconds\n") == 1
    assert "chat:" in out


@pytest.mark.parametrize("content", ["{", "[]", '{"current-context": "nowhere"}'])
def test_a_kubeconfig_that_leads_nowhere_is_a_note(run, monkeypatch, tmp_path, content):
    path = tmp_path / "broken"
    path.write_text(content, encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(path))
    code, _, err = run(REFERRING, "--live")
    assert code == 1
    assert "the cluster: could not be read (" in err
    assert "Traceback" not in err


def test_nothing_that_a_cluster_adds_is_printed_if_it_is_a_credential(api, run):
    token, words = CREDENTIALS
    env = [{"name": "HF_TOKEN", "value": token}]
    api.answers[BASE] = {
        **base(template={"containers": [{"name": "main", "env": env, "args": [f"--api-key={token}"]}]}),
        "metadata": {"name": "base", "namespace": "ml", "annotations": {"a": words}, "managedFields": [{token: words}]},
    }
    code, out, err = run(REFERRING, "--live", "--notes")
    assert code == 1
    assert "is a credential in clear" in err
    assert not [credential for credential in CREDENTIALS if credential in out + err]
    api.answers[BASE]["metadata"]["name"] = token
    _, out, err = run(REFERRING, "--live", "--notes")
    assert "read from the cluster: LLMInferenceServiceConfig/" in err
    assert not [credential for credential in CREDENTIALS if credential in out + err]


def test_roles_are_printed_without_a_cluster_and_a_context_needs_one(api, run, tmp_path):
    code, out, err = run(REFERRING, "--rights")
    assert (code, err) == (0, "")
    roles = list(yaml.safe_load_all(out))
    assert {(role["kind"], role["metadata"]["namespace"]) for role in roles} == {("Role", "kserve"), ("Role", "ml")}
    assert {verb for role in roles for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    assert api.seen == []
    path = tmp_path / "roles.yaml"
    assert run(REFERRING, "--rights", "-o", str(path)) == (0, "", "")
    assert path.read_text(encoding="utf-8") == out
    code, out, err = run(REFERRING, "--context", "a")
    assert (code, out) == (2, "")
    assert "--context: has no effect without --live" in err


def test_objects_of_the_whole_cluster_are_in_a_cluster_role(monkeypatch):
    rules = {"": [{"apiGroups": ["a"], "resources": ["things"], "verbs": ["get"]}]}
    monkeypatch.setattr(references, "rights", lambda *_: rules)
    (role,) = map(yaml.safe_load, live.roles([], [], None, "default"))
    assert (role["kind"], role["rules"]) == ("ClusterRole", rules[""])
    assert "namespace" not in role["metadata"]


def test_a_default_config_that_the_cluster_does_not_have_is_no_question(api, run):
    text = aim_service(
        "model: {custom: {baseImage: 'r/aim:1', modelSources: [{modelId: a/b, sourceUri: 'hf://a/b'}]}}\n"
    )
    question = "the runtime config default of the cluster, if there is one, decides"
    assert question in run(text)[2]
    assert question not in run(text, "--live")[2]
    api.refused.add("/apis/aim.eai.amd.com/v1alpha1/aimclusterruntimeconfigs/default")
    err = run(text, "--live")[2]
    assert question in err
    assert "the right to get aimclusterruntimeconfigs.aim.eai.amd.com in the whole cluster is missing" in err


def test_an_object_that_no_file_could_hold_is_a_question(api, run):
    deep = json.loads('{"a":' * 600 + "1" + "}" * 600)
    api.answers[BASE] = base(replicas=3, extra=deep)
    api.answers[CHAT] = {"metadata": {"name": "chat"}, "status": deep}
    code, out, err = run(REFERRING, "--live")
    assert code == 1
    assert "replicas" not in service(out)
    for name in ("LLMInferenceServiceConfig/base", "LLMInferenceService/chat"):
        assert f"the cluster {name}: the object is nested too deeply" in err


PIECES = (None, True, -1, 2.5, "", "\x1b[2J", [], {}, [None], {"a": [{}]}, "hf_" + "aB3dE6gH9j" * 4)


def test_broken_answers_are_never_a_mistake_of_the_program(api, run):
    source = random.Random(39)
    answers = {BASE: base(replicas=3), CHAT: {"metadata": {"name": "chat"}, "status": {"annotations": {"a": "b"}}}}
    answers |= {PODS: {"items": [pod(DIGEST)], "metadata": {}}}
    text = REFERRING + ENGINE
    for _ in range(60):
        broken = json.loads(json.dumps(answers))
        leaves = [path for path in all_leaves(broken) if path]
        for path in source.sample(leaves, 2):
            edited = path[: source.randint(1, len(path))]
            with contextlib.suppress(LookupError, TypeError):  # the place may be gone already
                functools.reduce(operator.getitem, edited[:-1], broken)[edited[-1]] = source.choice(PIECES)
        api.answers = broken
        code, out, err = run(text, "--live")
        assert code in {0, 1}, (broken, err)
        assert PIECES[-1] not in out + err
        assert "\x1b" not in out + err
