"""LLMInferenceServices as configuration."""

from pathlib import Path as File

from tests.support.migration import llm_service, objects, only_service, places, stack

SAMPLE = (File(__file__).with_name("samples") / "kserve-roles.yaml").read_text(encoding="utf-8")
CONFIG = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: shared}
spec:
  template:
    containers:
      - name: main
        image: ghcr.io/acme/vllm:v0.25.0
        command: [/bin/sh, -c]
        args:
          - >-
            vllm serve /mnt/models --served-model-name "{{ .Spec.Model.Name }}" --max-num-seqs 64 $VLLM_ADDITIONAL_ARGS
        env: [{name: LEVEL, value: info}]
  router:
    scheduler: {config: {ref: {name: picker, key: config}}}
"""
PICKER = """
apiVersion: v1
kind: ConfigMap
metadata: {name: picker}
data:
  config: |
    plugins: [{type: single-profile-handler}, {type: queue-scorer}, {type: max-score-picker}]
    schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}, {pluginRef: max-score-picker}]}]
"""


def test_what_is_lost_is_noted_at_its_place() -> None:
    """An adapter in a claim, a percentage, a script for network cards, NFS, a command as a probe, other devices."""
    printed = objects(SAMPLE)
    lost = places(printed, "cannot")
    assert {path for path in lost if path.startswith("spec")} == {
        "spec.model.lora.adapters[1]",
        "spec.rolloutStrategy.maxUnavailable",
        "spec.template.containers[1].env[2]",
        "spec.template.containers[1].readinessProbe",
        "spec.template.containers[1].volumeMounts[2]",
        "spec.template.volumes[3]",
        "spec.prefill.template.containers[0].resources.limits.nvidia.com/gpu",
    }
    assert not printed.is_whole


def test_prefill_has_nothing_of_decode_alone() -> None:
    """Roles of KServe have nothing in common but the model."""
    printed = objects(SAMPLE)
    prefill = stack(printed)["services"]["chat"]["prefill"]
    assert prefill["engine"] == {"image": "ghcr.io/acme/vllm:v0.26.0", "args": None, "env": {"LEVEL": None}}
    assert prefill["parallelism"] == {"tensor": 1}
    assert prefill["pod"]["privileges"] is None
    assert "kv-cache-0" not in prefill["pod"]["volumes"]


def test_prefill_has_no_flag_of_decode_alone() -> None:
    """A role here inherits flags that it does not state."""
    spec = """
  model: {uri: "hf://acme/chat"}
  template: {containers: [{name: main, args: [--enforce-eager, --seed=1]}]}
  prefill: {template: {containers: [{name: main, args: [--seed=2]}]}}
"""
    service = only_service(objects(llm_service(spec)))
    assert service["engine"]["args"] == ["--enforce-eager", "--seed=1"]
    assert service["prefill"]["engine"] == {"args": ["--seed=2"], "withoutArgs": ["--enforce-eager"]}


def test_configs_are_merged_below_thellm_service() -> None:
    """The script of a config starts vLLM, and the service's variable adds arguments to it."""
    spec = """
  baseRefs: [{name: shared}]
  model: {uri: "pvc://weights/chat", name: acme/chat}
  router: {scheduler: {}}
  template:
    containers:
      - name: main
        env: [{name: VLLM_ADDITIONAL_ARGS, value: --enforce-eager}]
        resources: {limits: {amd.com/gpu: 1}}
"""
    service = stack(objects(llm_service(spec), CONFIG, PICKER))["services"]["chat"]
    assert service["engine"] == {
        "image": "ghcr.io/acme/vllm:v0.25.0",
        "maxNumSeqs": 64,
        "args": ["--enforce-eager"],
        "env": {"LEVEL": "info"},
    }
    assert service["accelerator"] == "amd"
    assert service["endpointPicker"]["preset"] == "custom"
    assert [plugin["type"] for plugin in service["endpointPicker"]["config"]["plugins"]][1] == "queue-scorer"
    asked = places(objects(llm_service(spec)), "ask")
    assert "spec.baseRefs[0]" in asked


def test_a_stopped_service_has_no_pods() -> None:
    """KServe stops a service by an annotation."""
    text = llm_service(
        "  model: {uri: 'hf://acme/chat'}\n  replicas: 3\n", annotations="{serving.kserve.io/stop: 'true'}"
    )
    assert stack(objects(text))["services"]["chat"]["replicas"] == 0


def test_an_unknown_field_is_noted() -> None:
    """A field that KServe itself drops is lost, too."""
    assert places(objects(llm_service("  model: {uri: 'hf://acme/chat'}\n  workload: {cpu: 1}\n")), "cannot") == {
        "spec.workload.cpu"
    }


def test_model_engine_and_stack_are_carried() -> None:
    """Words of a variable of KServe's configs become keys and arguments."""
    configuration = stack(objects(SAMPLE))
    service = configuration["services"]["chat"]
    assert configuration["namespace"] == "ml"
    assert configuration["observability"]["tracing"]["endpoint"] == "http://collector:4317"
    assert service["model"] == {
        "source": "hf://acme/chat-7b",
        "name": "acme/chat",
        "maxModelLen": 4096,
        "secrets": [{"name": "hub", "key": "token"}],
        "lora": {
            "adapters": {"sql": {"source": "hf://acme/sql"}},
            "maxRank": 32,
            "maxAdapters": 2,
            "maxCpuAdapters": 4,
        },
    }
    assert service["engine"] == {
        "image": "ghcr.io/acme/vllm:v0.26.0",
        "args": ["--enforce-eager"],
        "env": {"LEVEL": "debug"},
    }
    assert service["resources"] == {"limits": {"cpu": "8", "memory": "64Gi", "rdma/nic": "1"}}


ROLES_CONFIG = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: kserve-config-llm-decode-template}
spec:
  template:
    containers:
      - name: main
        image: ghcr.io/acme/vllm:v0.26.0
        command:
          - /bin/bash
          - -c
          - eval "exec vllm serve /mnt/models --served-model-name "{{ .Spec.Model.Name }}" ${VLLM_ADDITIONAL_ARGS} $@"
          - --
        env: [{name: HOME, value: /home}, {name: HF_HUB_CACHE, value: /models}]
        volumeMounts:
          - {name: home, mountPath: /home}
          - {name: model-cache, mountPath: /models}
          - {name: tls-certs, mountPath: /var/run/kserve/tls, readOnly: true}
    initContainers:
      - name: llm-d-routing-sidecar
        image: ghcr.io/acme/sidecar:v1
        restartPolicy: Always
        ports: [{containerPort: 8000}]
        resources: {requests: {cpu: "2"}}
        volumeMounts: [{name: tls-certs, mountPath: /var/run/kserve/tls}]
    volumes:
      - {name: home, emptyDir: {}}
      - {name: model-cache, emptyDir: {}}
      - {name: tls-certs, secret: {secretName: certs}}
"""


def test_what_kserves_own_configs_make_is_made_by_this_program() -> None:
    """Home, weights, certificates and sidecar are no volumes and containers of the user."""
    spec = """
  model: {uri: "hf://acme/chat"}
  template:
    containers:
      - name: main
        args: [--max-num-seqs, "8"]
        env: [{name: VLLM_ADDITIONAL_ARGS, value: --enforce-eager}]
  prefill: {template: {containers: [{name: main}]}}
"""
    printed = objects(llm_service(spec), ROLES_CONFIG)
    service = stack(printed)["services"]["chat"]
    assert service["engine"] == {
        "image": "ghcr.io/acme/vllm:v0.26.0",
        "maxNumSeqs": 8,
        "args": ["--enforce-eager"],
    }
    assert service["sidecar"] == {"resources": {"requests": {"cpu": "2"}}}
    assert "pod" not in service
    assert places(printed, "cannot") == set()


def test_of_two_configs_with_one_name_that_of_the_services_namespace_counts() -> None:
    """KServe looks into the namespace of the service, and then into its own."""
    text = llm_service("  model: {uri: 'hf://acme/chat', name: chat}\n  baseRefs: [{name: shared}]")
    near = CONFIG.replace("name: shared", "name: shared, namespace: ml")
    far = near.replace("namespace: ml", "namespace: kserve").replace("v0.25.0", "v0.24.0")
    for configs in ((near, far), (far, near)):
        assert only_service(objects(text, *configs))["engine"]["image"] == "ghcr.io/acme/vllm:v0.25.0"
    assert only_service(objects(text, far))["engine"]["image"] == "ghcr.io/acme/vllm:v0.24.0"


def test_prefill_overwrites_nothing_that_all_roles_have() -> None:
    """The length of requests is one for all roles: that of decode."""
    roles = """
  model: {uri: "hf://acme/chat"}
  template: {containers: [{name: main, image: "acme/vllm:v1", args: ["--max-model-len=8192"]}]}
  prefill: {template: {containers: [{name: main, image: "acme/vllm:v1", args: ["--max-model-len=4096"]}]}}
"""
    printed = objects(llm_service(roles))
    assert stack(printed)["services"]["chat"]["model"]["maxModelLen"] == 8192
    assert any("model.maxModelLen of prefill" in note.reason for note in printed.notes if note.fate == "cannot")
    assert places(objects(llm_service(roles.replace("4096", "8192"))), "cannot") == set()


def test_a_name_that_changes_is_noted() -> None:
    """A name here is a label of DNS."""
    text = llm_service('  model: {uri: "hf://acme/chat"}\n').replace("name: chat", "name: 9b.chat")
    printed = objects(text)
    assert list(stack(printed)["services"]) == ["m-9b-chat"]
    assert "metadata.name" in places(printed, "differs")


def test_an_action_that_nothing_fills_is_asked_about() -> None:
    """Its text would be an argument of the engine."""
    container = "{name: main, image: 'acme/vllm:v1', args: ['--seed={{ .Seed }}', '--revision={{ .Spec.Model.Name }}']}"
    printed = objects(llm_service(f"  model: {{uri: 'hf://a/b'}}\n  template: {{containers: [{container}]}}\n"))
    assert "spec.template.containers[0].args[0]" in places(printed, "ask")
    assert "spec.template.containers[0].args[1]" not in places(printed, "ask")


def test_a_token_that_may_be_absent_becomes_one_that_must_not() -> None:
    """Secrets of a model have to exist."""
    reference = "{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: HF_TOKEN, optional: true}}}"
    container = f"{{name: main, image: 'acme/vllm:v1', env: [{reference}]}}"
    for text, is_noted in ((container, True), (container.replace(", optional: true", ""), False)):
        printed = objects(llm_service(f"  model: {{uri: 'hf://a/b'}}\n  template: {{containers: [{text}]}}\n"))
        assert any("has to exist" in note.reason for note in printed.notes) is is_noted
