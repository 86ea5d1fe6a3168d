"""Two stacks of two projects, in a folder and in a bucket: a platform gives values, and reads those of the models."""

import json
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.support.cluster import backend_files
from tests.support.cluster.buckets import BACKENDS, Bucket
from tests.support.cluster.deployments import in_namespace, told

pytestmark = pytest.mark.real

SECRET = "marked-secret-of-the-platform"
PROGRAM = """
import json, pathlib, pulumi
import inference_stacks_outputs as reader

for name, value in json.loads(pathlib.Path("outputs.json").read_text()).items():
    pulumi.export(name, pulumi.Output.secret(value) if name.startswith("secret") else value)
async def main():
    models = pulumi.StackReference("organization/inference-stacks/dev")
    details = {name: await models.get_output_details(name) for name in reader.NAMES}
    found = reader.read({name: detail.value for name, detail in details.items()}, "inference-stacks/dev")
    return {"paths": reader.service(found, "qwen")["paths"], "weight": found["services"]["qwen"]["weight"]}

if pathlib.Path("models").exists():
    pulumi.run(main)
"""
READER = Path("reader/inference_stacks_outputs.py").resolve()
GIVEN = {
    "contractVersion": 1,
    "gateway": {"name": "of-the-platform", "namespace": "gateways", "provider": "istio"},
    "storageClassName": "standard",
}


class Platform:
    """A stack of another project, in the backend of a deployment."""

    def __init__(self, folder: Path, engine):
        engine.ensure_stack()
        self._folder = folder
        self._environment = engine._environment() | {"PULUMI_STACK": "prod"}
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text("{name: platform, runtime: python}")
        (folder / "__main__.py").write_text(PROGRAM)
        (folder / READER.name).symlink_to(READER)
        self.run("stack", "init", "prod")

    def run(self, *command: str) -> str:
        done = subprocess.run(
            ["pulumi", *command, "--non-interactive"],
            cwd=self._folder,
            env=self._environment,
            executable=f"{self._environment['PATH'].split(':')[1]}/pulumi",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, told(done)
        return done.stdout

    def export(self, **outputs) -> None:
        """Deploy with these outputs."""
        (self._folder / "outputs.json").write_text(json.dumps(outputs))
        self.run("up", "--yes", "--skip-preview")

    def read_models(self) -> None:
        """Read the outputs of the models from now on."""
        (self._folder / "models").touch()


def on_platform(namespace, **platform):
    """Return a stack that has its gateway from the platform."""
    stack = {key: value for key, value in in_namespace(namespace, qwen={}).items() if key != "gateway"}
    return stack | {"platform": {"stack": "organization/platform/prod", "kubeconfig": "secretAdmin", **platform}}


@pytest.fixture(scope="module")
def stacks(deploy_for_all, backends, tmp_path_factory):
    """Return a function that makes models, their platform, and the namespace of the models, once in each backend."""

    @cache
    def made(backend):
        namespace = f"on-platform-in-{backend}"
        models = deploy_for_all(on_platform(namespace), backend=backends[backend](namespace))
        return models, Platform(tmp_path_factory.mktemp("platform") / "project", models.engine), namespace

    return made


def texts(models):
    """Return all that the backend of an engine holds."""
    backend = models.engine._backend
    if isinstance(backend, Bucket):
        return "".join(backend.texts())
    return "".join(backend_files.texts(models.engine.directory / "backend"))


def refusal(models):
    """Return what a preview says that fails."""
    done = models.engine.run("preview", check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    return told(done)


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_flow_both_ways_and_secrets_stay_secret(backend, stacks):
    models, platform, namespace = stacks(backend)
    platform.export(inferencePlatform=GIVEN, secretAdmin=SECRET)
    models.up()
    (found,) = models.outputs()["services"].values()
    assert found["gateway"]["name"] == "of-the-platform"
    assert models.get("httproute", "qwen", namespace)["spec"]["parentRefs"][0]["name"] == "of-the-platform"
    platform.read_models()
    platform.export(inferencePlatform=GIVEN, secretAdmin=SECRET)
    found = json.loads(platform.run("stack", "output", "--json"))
    assert (found["paths"], found["weight"]) == ([f"/{namespace}/qwen"], 100)
    exported = json.dumps(models.engine.export()) + platform.run("stack", "export")
    assert ("of-the-platform" in exported, SECRET in exported) == (True, False)
    assert ("of-the-platform" in texts(models), SECRET in texts(models)) == (True, False)
    written = Path(models.project / "platform.json")
    written.write_text(platform.run("stack", "output", "--json"))
    assert SECRET not in written.read_text()


def test_the_kubeconfig_of_a_platform_deploys(stacks, plane, monkeypatch):
    models, platform, _ = stacks("folder")
    text = plane.kubeconfig.read_text()
    platform.export(inferencePlatform=GIVEN, secretAdmin=text)
    models.up()
    models.engine._call("config", "rm", "inference-stacks:kubeconfig")
    monkeypatch.setitem(models.engine._extra, "KUBECONFIG", "/nowhere")
    models.up("--refresh")
    (token,) = (user["user"]["token"] for user in yaml.safe_load(text)["users"])
    assert token not in texts(models)


NEWER = {"inferencePlatform": GIVEN | {"contractVersion": 2}}
CASES = {
    "another version": (NEWER, "platform.output: follows version 2 of the contract"),
    "a typo": (
        {"inferencePlatform": GIVEN | {"gateway": {"nme": 1}}},
        "gateway.nme: unknown key (nme, from organization/",
    ),
    "a secret": (
        {"secretPlatform": GIVEN | {"cluster": {"name": SECRET}}},
        "platform.output: is a secret (secretPlatform of",
    ),
    "nothing": ({}, "platform.output: is no output of organization/platform/prod (inferencePlatform)"),
}


@pytest.mark.parametrize(("backend", "case"), [*(("folder", case) for case in CASES), ("bucket", "another version")])
def test_outputs_that_do_not_keep_the_contract_are_told(backend, case, stacks):
    (models, platform, namespace) = stacks(backend)
    (outputs, message) = CASES[case]
    platform.export(secretAdmin=SECRET, **outputs)
    models.write(on_platform(namespace, output=next(iter(outputs), "inferencePlatform")))
    text = refusal(models)
    assert message in text
    assert SECRET not in text
