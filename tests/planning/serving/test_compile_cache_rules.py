"""Compiled code has a folder in a volume that outlives the pods, and a volume that cannot serve it is reported."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import lines, plan, rendered, tree
from tests.support.stacks.shapes import engine, model_servers, values
from tests.support.stacks.varied_caches import VOLUMES

AT = "services.qwen.engine.compileCache.volume"
FURTHER = {
    "scratch": {"type": "empty-dir", "mountPath": "/scratch"},
    "node": {"type": "host-path", "path": "/mnt/compiled", "mountPath": "/node"},
    "hidden": {"type": "claim", "claimName": "hidden"},
    "fixed": {"type": "claim", "claimName": "fixed", "mountPath": "/fixed", "readOnly": True},
}


def service(volume="files", env=None, image="registry.example/vllm-openai:v0.30.0", **fields):
    cache = {} if volume is None else {"compileCache": {"volume": volume}}
    settings = {"engine": {"image": image, "env": env or {}, **cache}, "pod": {"volumes": {**VOLUMES, **FURTHER}}}
    return {**settings, **fields}


def folders(**fields):
    templates = model_servers(rendered(tree(qwen=service(**fields))))
    return [values(engine(template)).get("VLLM_CACHE_ROOT") for template in templates]


def errors(**fields):
    try:
        plan(tree(qwen=service(**fields)))
    except ConfigError as error:
        return str(error).splitlines()
    return []


def warned(**fields):
    return [line for line in lines(plan(tree(qwen=service(**fields))).warnings, "warning") if "compileCache" in line]


def test_the_engine_keeps_compiled_code_in_the_volume():
    (folder,) = folders()
    assert folder.startswith("/files/")
    assert folders(volume=None) == [None]


def test_roles_share_code_and_another_image_or_class_has_its_own():
    same, prefill = folders(prefill={})
    assert same == prefill
    (image,) = folders(image="registry.example/vllm-openai:v0.29.0")
    (devices,) = folders(accelerator="nvidia-h100-80gb")
    (replicas,) = folders(replicas=3)
    assert len({same, image, devices}) == 3
    assert replicas == same


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        (
            "other",
            f"{AT}: is no volume of the pods (other); name one of pod.volumes (edited, files, fixed, hidden, ",
        ),
        ("hidden", f"{AT}: is a volume that the engine does not mount (hidden); set pod.volumes.hidden.mountPath"),
        ("fixed", f"{AT}: is a volume that the engine cannot write to (fixed); name a volume of type claim"),
        ("store", f"{AT}: is a volume that the engine cannot write to (store); name a volume of type claim"),
    ],
)
def test_a_volume_that_cannot_hold_it_is_refused(volume, line):
    (error,) = errors(volume=volume)
    assert error.startswith(line)


def test_a_folder_that_kubernetes_makes_for_root_is_refused_for_another_user():
    def of(kind="DirectoryOrCreate", **pod):
        node = {"type": "host-path", "path": "/mnt/compiled", "mountPath": "/node", "kind": kind}
        return errors(volume="node", pod={"volumes": {"node": node}, **pod})

    assert of() == [
        (
            f"{AT}: is a folder that belongs to root if Kubernetes makes it (node, kind DirectoryOrCreate); "
            "make the folder on the nodes for user 1000 and write kind: Directory, or set root: true in pod.privileges"
        )
    ]
    assert "for user 7 " in of(runAsUser=7)[0]
    assert of("Directory") == []
    assert of(privileges={"reason": "the folder belongs to root", "root": True}) == []
    assert len(of(privileges={"reason": "RDMA pins memory", "privileged": True})) == 1


def test_the_variable_is_not_set_twice():
    (error,) = errors(env={"VLLM_CACHE_ROOT": "/scratch"})
    assert error == (
        "services.qwen.engine.env.VLLM_CACHE_ROOT: repeats a field (engine.compileCache); "
        "remove it, or remove engine.compileCache"
    )
    assert errors(env={"VLLM_CACHE_ROOT": "/scratch"}, volume=None) == []


def test_a_folder_that_ends_with_the_pod_is_warned_of():
    (line,) = warned(volume="scratch")
    assert line.startswith(f"{AT}: ends with the pod, so that no later pod finds compiled code (scratch)")
    assert warned(volume="node", replicas=3) == []


def test_a_claim_for_several_pods_is_warned_of():
    (line,) = warned(replicas=3)
    assert line == (
        f"{AT}: is a claim for up to 3 pods, which start only if its access mode is ReadWriteMany; "
        "check the access mode of kv-cache; with ReadWriteOnce all pods need one node"
    )
    scaling = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 50}]}
    assert "up to 4 pods" in warned(autoscaling=scaling)[0]
    assert warned() == []


def test_other_engines_are_refused_by_their_name():
    other = {"type": "sglang", "image": "docker.io/lmsysorg/sglang:v0.5.13.post1", "compileCache": {"volume": "files"}}
    (error,) = errors(engine=other, model={"source": "hf://org/model"})
    assert error == (
        "services.qwen.engine.compileCache: has no effect on SGLang; "
        "remove it, and write the engine's own flag in engine.args"
    )
