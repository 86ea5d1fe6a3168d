"""Two stacks of two projects in one backend: a platform gives values to a stack of models, and reads its outputs."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster.deployments import in_namespace, told

pytestmark = pytest.mark.real

NAMESPACE = "on-platform"
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


@pytest.fixture(scope="module")
def stacks(deploy_for_all, tmp_path_factory):
    stack = {key: value for key, value in in_namespace(NAMESPACE, qwen={}).items() if key != "gateway"}
    models = deploy_for_all(stack | {"platform": {"stack": "organization/platform/prod", "kubeconfig": "secretAdmin"}})
    return models, Platform(tmp_path_factory.mktemp("platform") / "project", models.engine)


def refusal(models):
    """Return what a preview says that fails."""
    done = models.engine.run("preview", check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    return told(done)


def test_values_flow_both_ways_and_secrets_stay_secret(stacks):
    models, platform = stacks
    platform.export(inferencePlatform=GIVEN, secretAdmin=SECRET)
    models.up()
    (found,) = models.outputs()["services"].values()
    assert found["gateway"]["name"] == "of-the-platform"
    assert models.get("httproute", "qwen", NAMESPACE)["spec"]["parentRefs"][0]["name"] == "of-the-platform"
    platform.read_models()
    platform.export(inferencePlatform=GIVEN, secretAdmin=SECRET)
    found = json.loads(platform.run("stack", "output", "--json"))
    assert (found["paths"], found["weight"]) == ([f"/{NAMESPACE}/qwen"], 100)
    assert SECRET not in json.dumps(models.engine.export()) + platform.run("stack", "export")
    written = Path(models.project / "platform.json")
    written.write_text(platform.run("stack", "output", "--json"))
    assert SECRET not in written.read_text()


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"inferencePlatform": GIVEN | {"contractVersion": 2}}, "platform.output: keeps version 2 of the contract"),
        ({"inferencePlatform": GIVEN | {"gateway": {"nme": 1}}}, "gateway.nme: unknown key (nme, from organization/"),
        ({"secretPlatform": GIVEN | {"cluster": {"name": SECRET}}}, "platform.output: is a secret (secretPlatform of"),
        ({}, "platform.output: is no output of organization/platform/prod (inferencePlatform)"),
    ],
    ids=["another version", "a typo", "a secret", "nothing"],
)
def test_outputs_that_do_not_keep_the_contract_are_told(stacks, outputs, message):
    models, platform = stacks
    platform.export(secretAdmin=SECRET, **outputs)
    stack = {"namespace": NAMESPACE, "platform": {"stack": "organization/platform/prod", "kubeconfig": "secretAdmin"}}
    stack["platform"]["output"] = next(iter(outputs), "inferencePlatform")
    models.write({key: value for key, value in in_namespace(NAMESPACE, qwen={}).items() if key != "gateway"} | stack)
    text = refusal(models)
    assert message in text
    assert SECRET not in text
