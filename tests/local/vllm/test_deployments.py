"""An engine runs for a Deployment if its image names a version, its model is known, and nothing else is missing."""

import copy
import json

import pytest

from local.errors import LocalError
from local.vllm import installation
from local.vllm.deployments import ENGINE_MEGABYTES, check_memory, image_settings, select

VERSION = [*installation.versions()][-1]
OLD = "vllm/vllm-openai:v0.26.0"
LABELS = {"inference-stacks.io/service": "chat", "inference-stacks.io/variant": "primary"}
DEPLOYMENT = {
    "kind": "Deployment",
    "metadata": {
        "name": "chat-decode",
        "namespace": "models",
        "labels": {"app.kubernetes.io/component": "model-server"},
    },
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": {**LABELS, "other": "label"}},
            "spec": {
                "initContainers": [{"name": "model-download", "args": ["hf://Qwen/Qwen3-0.6B:c1", "/models"]}],
                "containers": [
                    {
                        "name": "vllm",
                        "image": f"vllm/vllm-openai:v{VERSION}@sha256:8a",
                        "command": ["vllm", "serve"],
                        "args": ["/models", "--served-model-name=chat"],
                    }
                ],
            },
        },
    },
}
GROUP = DEPLOYMENT | {"kind": "LeaderWorkerSet"}


def deployment(**changes):
    """Return the Deployment, with changed fields of its container."""
    manifest = copy.deepcopy(DEPLOYMENT)
    manifest["spec"]["template"]["spec"]["containers"][0] |= changes
    return manifest


def canary():
    return json.loads(json.dumps(deployment()).replace('"primary"', '"canary"').replace("chat-decode", "chat-canary"))


def test_an_engine_runs_for_each_pod_and_keeps_its_image():
    service = {"kind": "Service", "metadata": DEPLOYMENT["metadata"]}
    selection = select([service, deployment(), canary()])
    engine, other = selection.engines
    assert (engine.namespace, engine.name, engine.replicas) == ("models", "chat-decode", 2)
    assert engine.labels == LABELS
    assert (engine.version.name, engine.family.name, other.name) == (VERSION, "qwen3", "chat-canary")
    assert selection.simulated == {}
    assert [version.name for version in selection.versions] == [VERSION]
    image = f"vllm/vllm-openai:v{VERSION}@sha256:8a"
    assert image_settings(selection) == {
        "services.chat.engine.image": image,
        "services.chat.canary.engine.image": image,
    }


def autoscaler(kind, **spec):
    target = {"kind": "Deployment", "name": "chat-decode"}
    metadata = {"name": "chat-decode", "namespace": "models", "labels": DEPLOYMENT["metadata"]["labels"]}
    return {"kind": kind, "metadata": metadata, "spec": {"scaleTargetRef": target, **spec}}


@pytest.mark.parametrize(
    ("scaler", "replicas", "is_autoscaled"),
    [
        (autoscaler("HorizontalPodAutoscaler", minReplicas=3), 3, True),
        (autoscaler("HorizontalPodAutoscaler", minReplicas=0), 1, True),
        (autoscaler("ScaledObject", minReplicaCount=3), 1, False),
    ],
)
def test_pods_that_an_autoscaler_makes_are_counted_and_none_that_keda_would_make(scaler, replicas, is_autoscaled):
    manifest = deployment()
    del manifest["spec"]["replicas"]
    (engine,) = select(iter([manifest, scaler])).engines
    assert (engine.replicas, engine.is_autoscaled) == (replicas, is_autoscaled)


def sidecar(kind):
    manifest = deployment()
    container = {"name": "routing-proxy", "restartPolicy": "Always"}
    manifest["spec"]["template"]["spec"][kind].append(container)
    return manifest


def without_source(name, *arguments, **changes):
    manifest = deployment(args=["/models", f"--served-model-name={name}", *arguments], **changes)
    del manifest["spec"]["template"]["spec"]["initContainers"]
    return manifest


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (GROUP, "each of its groups has several pods"),
        (sidecar("initContainers"), "its pods have the sidecar routing-proxy"),
        (sidecar("containers"), "its pods have the sidecar routing-proxy"),
        (deployment(command=["sglang", "serve"]), "its engine is no vLLM whose image names the version: vllm/"),
        (deployment(image="a/vllm:latest"), "its engine is no vLLM whose image names the version: a/vllm:latest"),
        (deployment(image="a/server:v1.2.3"), "its engine is no vLLM whose image names the version: a/server:v1.2.3"),
        (deployment(args=["org/model", "--port=8000"]), "its engine opens the source of the model itself"),
        (deployment(args=["s3://bucket/m", "--port=8000"]), "its engine opens the source of the model itself"),
        (deployment(args=["/models", "--kv-transfer-config={}"]), "--kv-transfer-config: it hands KV caches"),
        (deployment(args=["/models", "--lora-modules", "a=/b"]), "--lora-modules: no small adapters are made"),
        (deployment(args=["/models", "-sc", "{}"]), "--speculative-config: its draft model may be a model of its own"),
        (deployment(args=["/models", "--speculative_config={}"]), "--speculative-config: its draft model"),
        (deployment(args=["/models", "--spec-method=ngram"]), "--speculative-config: its draft model"),
        (deployment(args=["/models", "--kv-transfer-config.kv_connector=A"]), "--kv-transfer-config: it hands KV"),
        (deployment(env=[{"name": "VLLM_API_KEY"}]), "VLLM_API_KEY: the printed command would have to show the key"),
        (without_source("google/gemma-3-4b-it", image=OLD), "vLLM runs gemma-3 on CPUs since 0.30.0"),
        (without_source("deepseek-ai/DeepSeek-R1", "--kv-cache-dtype", "fp8"), "the latent cache of CPUs has no type"),
        (without_source("org/unknown"), "no small model stands for org/unknown"),
    ],
)
def test_other_pods_stay_simulated_and_the_reason_is_said(manifest, reason):
    selection = select([manifest, canary()])
    assert [engine.name for engine in selection.engines] == ["chat-canary"]
    ((name, text),) = selection.simulated.items()
    assert name == f"{manifest['kind']} models/chat-decode"
    assert text.startswith(reason)


def test_a_stack_without_an_engine_that_can_run_is_refused():
    with pytest.raises(LocalError, match=r"no pod of this stack \(LeaderWorkerSet models/chat-decode: each of its"):
        select([GROUP])
    with pytest.raises(LocalError, match=r"\(it has none\)"):
        select([])


def test_a_version_that_cannot_be_installed_is_refused_with_those_that_can():
    image = "registry.example/team/vllm-openai:v0.15.1"
    expected = rf"runs vLLM 0\.15\.1, .*; set services\.chat\.engine\.image to an image of one of .*{VERSION}"
    with pytest.raises(LocalError, match=expected):
        select([deployment(image=image)])


def test_engines_that_do_not_fit_into_memory_are_refused(tmp_path):
    selection = select([deployment()])
    memory = tmp_path / "meminfo"
    memory.write_text(f"MemTotal: 9 kB\nMemAvailable: {2 * ENGINE_MEGABYTES * 1000} kB\n")
    check_memory(selection, memory)
    memory.write_text(f"MemTotal: 9 kB\nMemAvailable: {2 * ENGINE_MEGABYTES * 1000 - 1000} kB\n")
    with pytest.raises(LocalError, match=r"^2 engines need 6 GB of memory; this machine has 6\.0 GB available; reduce"):
        check_memory(selection, memory)
    check_memory(selection, memory, freed=1.0)
