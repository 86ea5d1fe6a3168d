"""A program in YAML makes the component by the package, on the real engine, provider and API server."""

import json
import signal
import time
from pathlib import Path

import pytest
import yaml

from tests.support.cluster.deployments import ROOT, Deployed, told
from tests.support.cluster.server import read
from tests.support.package_process import PLUGIN

pytestmark = pytest.mark.real

KINDS = "deployments,services,inferencepools,httproutes,configmaps,roles,rolebindings,serviceaccounts"
TEN_LINES = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"]["inference-stacks:stack"]
NAMESPACE = "by-package"
MARK = "inference-stacks.io/stack"
TREE = {**TEN_LINES, "namespace": NAMESPACE, "extends": ["base.yaml"]}
EXPORTS = ("contractVersion", "release", "factsDigest", "services")
IMPORT = f"""
import sys
import pulumi

sys.path.append("inference-stacks")
from inference_stacks import InferenceStack

stack = InferenceStack("inference-stack", {TREE!r}, prefix="", kubeconfig=pulumi.Config().require("kubeconfig"))
for name in {EXPORTS!r}:
    pulumi.export(name, stack.outputs[name])
"""
MISTAKES = (
    "services.qwen.replicas: is not a whole number from 0 to 2147483647 (-1); write 0 or more",
    "services.qwen.accelerator: unknown class (nvidja); use nvidia, or define nvidja under accelerators",
)
SECONDS = 60
"""Time for a process to begin or to end, of which only a busy machine needs more than one second."""


@pytest.fixture
def deployment(tools, plane, packages, tmp_path):
    """Make a project whose engine finds a language host of YAML, and the package on PATH."""
    deployment = Deployed(tmp_path / "deployment", tools, plane, packages)
    commands = deployment.engine.directory / "bin"
    commands.mkdir(parents=True)
    (commands / "pulumi-language-yaml").symlink_to(tools["pulumi-language-yaml"].path)
    (commands / PLUGIN.name).symlink_to(PLUGIN)
    (deployment.project / "inference-stacks").symlink_to(ROOT)
    (deployment.project / "Pulumi.dev.yaml").write_text("config: {}\n")
    (deployment.project / "base.yaml").write_text("defaults: {replicas: 2}\n")
    yield deployment
    deployment.discard()


def use_package(deployment, **components):
    """Let the project be a program in YAML with some components, by name."""
    resources = {
        name: {"type": "inference-stacks:InferenceStack", "properties": properties}
        for name, properties in components.items()
    }
    program = {"resources": resources}
    if "inference-stack" in components:
        # The value of the configuration is the text of a JSON object, which the language host would parse.
        write(deployment, "kubeconfig.json", deployment.plane.kubeconfig.read_text(encoding="utf-8").strip())
        components["inference-stack"]["kubeconfig"] = {"fn::secret": {"fn::readFile": "./kubeconfig.json"}}
        program["outputs"] = {name: f"${{inference-stack.{name}}}" for name in EXPORTS}
    write(deployment, "Pulumi.yaml", "name: inference-stacks\nruntime: yaml\n")
    write(deployment, "Main.yaml", json.dumps(program, indent=2))


def use_python(deployment, text):
    """Let the project be a program in Python."""
    write(deployment, "Pulumi.yaml", "name: inference-stacks\nruntime: python\n")
    write(deployment, "__main__.py", text)


def write(deployment, name, text):
    (deployment.project / name).unlink(missing_ok=True)
    (deployment.project / name).write_text(text)


def resources(deployment):
    """Return inputs of all objects and outputs of all components in the state, by URN, as text."""
    state = deployment.engine.export()["deployment"]["resources"]
    fields = {resource["urn"]: (resource.get("inputs"), component_outputs(resource)) for resource in state}
    ours = {urn: values for urn, values in fields.items() if "InferenceStack" in urn and "pulumi:providers" not in urn}
    return {urn: json.dumps(values, sort_keys=True) for urn, values in ours.items()}


def operations(deployment):
    """Deploy, and return what was done to objects. A program without the package has no default provider of it."""
    return {name: operation for name, operation in deployment.operate().done.items() if name != "default"}


def component_outputs(resource):
    return None if resource["custom"] else resource.get("outputs")


def objects(plane):
    """Return what the program wrote into the objects of the cluster, as text."""
    items = [item for item in read(plane, KINDS, NAMESPACE) if MARK in item["metadata"].get("labels", {})]
    return {
        (item["kind"], item["metadata"]["name"]): json.dumps([item["metadata"]["uid"], content(item)], sort_keys=True)
        for item in items
    }


def content(item):
    return {key: value for key, value in item.items() if key not in {"metadata", "status"}}


def test_the_package_an_import_and_the_program_make_the_same(deployment, plane):
    mistaken = {"qwen": {**TREE["services"]["qwen"], "accelerator": "nvidja", "replicas": -1}}
    use_package(deployment, chat={**TREE, "services": mistaken}, search={**TREE, "services": mistaken})
    refused = deployment.engine.run("up", "--yes", "--skip-preview", check=False)
    assert refused.returncode != 0
    assert "Traceback" not in told(refused)
    # The engine ends the run at the first component that is refused, maybe before it prints the other refusal.
    assert any(all(f"- {name}.{line}" in told(refused) for line in MISTAKES) for name in ("chat", "search"))
    assert objects(plane) == {}
    assert deployment.engine._processes() == {}

    use_package(deployment, **{"inference-stack": {**TREE, "prefix": ""}})
    deployment.up()
    decode = deployment.outputs()["services"]["qwen"]["primary"]["roles"]["decode"]
    assert decode["scaling"] == {"type": "fixed", "replicas": 2}
    by_package = resources(deployment)
    in_cluster = objects(plane)
    assert {kind for kind, _ in in_cluster} >= {"Deployment", "Service", "InferencePool", "HTTPRoute"}

    use_python(deployment, IMPORT)
    assert operations(deployment) == {}
    assert resources(deployment) == by_package
    use_python(deployment, (ROOT / "__main__.py").read_text(encoding="utf-8"))
    write(deployment, "Pulumi.dev.yaml", yaml.safe_dump({"config": {"inference-stacks:stack": TREE}}))
    assert operations(deployment) == {}
    assert resources(deployment) == by_package
    assert objects(plane) == in_cluster

    use_package(deployment, **{"inference-stack": {**TREE, "prefix": ""}})
    deployment.assert_unchanged()
    deployment.destroy()
    assert objects(plane) == {}
    assert deployment.engine._processes() == {}


def test_the_process_of_the_package_ends_with_an_engine_that_is_killed(deployment):
    use_package(deployment, chat={**TREE, "namespace": "killed"})
    engine = deployment.engine.popen("preview")
    package = awaited(
        lambda: next((process for process in deployment.engine._processes() if is_package(process)), None)
    )
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    awaited(lambda: not package.alive())


def is_package(process):
    """Tell whether a process is that of the package."""
    try:
        return str(ROOT).encode() in Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def awaited(condition):
    """Return the first true value of a condition."""
    until = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return value
