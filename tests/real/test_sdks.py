"""SDKs of the package: they compile, and complete nested keys from their types; a program with one deploys."""

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from models import version
from package.committed import committed_schema
from tests.support.cluster.deployments import ROOT, Deployed, told
from tests.support.cluster.server import read
from tests.support.package_process import PLUGIN
from tests.support.sdks import generator, node

pytestmark = pytest.mark.real

SCHEMA = committed_schema(version.read())
TYPES = {token.rpartition(":")[2]: node for token, node in SCHEMA["types"].items()}
PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"```typescript\n(.*?)```", PAGE, re.DOTALL)
NAMESPACE = "by-typescript"
RESOURCE = SCHEMA["resources"]["inference-stacks:index:InferenceStack"]


def keys(name, *written):
    """Return the keys of a type, without those that the program has written."""
    return sorted(TYPES[name]["properties"].keys() - {*written})


COMPLETIONS = {
    "top": sorted(RESOURCE["inputProperties"].keys() - {"namespace", "checks", "caches", "services"}),
    "checks": keys("Checks", "fit"),
    "caches.*": keys("Cache", "source"),
    "services.*.model": keys("Model", "source"),
    "services.*.endpointPicker.tls": keys("Certificate", "type"),
    "services.*.autoscaling": keys("KedaAutoscaling", "type", "maxReplicas", "metrics"),
    "services.*.pod.tolerations[]": keys("Toleration", "operator"),
    "services.*.pod.volumes.*": keys("SecretVolume", "type", "name"),
    "outputs": keys("DeployedVariant"),
}
"""Names that an editor offers, by mark in `completions.ts`."""
MISTAKES = {
    "namespace": "Property 'namespace' is missing",
    "misspelt": "'sorce' does not exist in type 'ModelArgs'",
    "number": "Type 'string' is not assignable to type 'number'",
    "word": '"ReadWriteSome"',
    "late": "Type 'Output<string>' is not assignable to type 'string",
    "typed": "Property 'target' is missing",
}
"""A part of the compiler's message, by a word on the line of `mistakes.ts` that has the mistake."""


@pytest.fixture(scope="module")
def sdks(tools, tmp_path_factory):
    """Return a folder with the SDK of each language."""
    folder = tmp_path_factory.mktemp("sdks")
    done = generator.generate(tools["pulumi-sdk-generator"], SCHEMA, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def programs(sdks):
    """Return a folder for programs in TypeScript, and what an editor with the compiled SDK knows of them."""
    generator.compile_typescript(sdks / "nodejs")
    texts = {path.name: path.read_text(encoding="utf-8") for path in node.FOLDER.glob("*.ts")}
    folder = sdks / "programs"
    folder.mkdir()
    return folder, generator.ask(
        folder, sdks / "nodejs", {**texts, "index.ts": PROGRAM.replace('"models"', f'"{NAMESPACE}"')}
    )


@pytest.mark.parametrize(
    ("source", "part"),
    [
        pytest.param({"$ref": "#/types/inference-stacks:index:Sauce"}, "properties/source/$ref", id="no such type"),
        pytest.param({"type": "text"}, "inference-stacks:index:Model: doesn't validate", id="not in the metaschema"),
    ],
)
def test_pulumi_refuses_a_schema_with_a_mistake(tools, tmp_path, source, part):
    broken = copy.deepcopy(SCHEMA)
    broken["types"]["inference-stacks:index:Model"]["properties"]["source"] = source
    done = generator.generate(tools["pulumi-sdk-generator"], broken, tmp_path)
    assert (done.returncode, part in done.stderr) == (1, True), done.stderr
    assert [*tmp_path.iterdir()] == [tmp_path / "schema.json"]


def test_the_engine_gets_the_schema_from_the_package(tools, tmp_path):
    command = [str(tools["pulumi"].path), "package", "get-schema", str(PLUGIN)]
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {**SCHEMA, "config": {}, "provider": {}}


def test_the_sdk_of_python_has_the_types_of_nested_keys(sdks):
    metadata = sdks / "python" / f"pulumi_inference_stacks-{version.read()}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: pulumi_inference_stacks\nVersion: {version.read()}\n")
    right = (
        "import pulumi_inference_stacks as p; print(p.ServiceArgs(model=p.ModelArgs(source='s3://a/b')).model.source)"
    )
    environment = {**os.environ, "PYTHONPATH": str(sdks / "python")}
    ends = []
    for program in (right, right.replace("source='", "sauce='")):
        command = [sys.executable, "-c", program]
        ends.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=False))
    assert ends[0].stdout == "s3://a/b\n", ends[0].stderr
    assert "unexpected keyword argument 'sauce'" in ends[1].stderr


def test_an_editor_completes_nested_keys_in_typescript(programs):
    _, answers = programs
    assert answers["completions.ts"]["mistakes"] == {}
    assert answers["completions.ts"]["completions"] == COMPLETIONS


def test_the_compiler_of_typescript_refuses_a_mistake_in_a_nested_key(programs):
    folder, answers = programs
    lines = (folder / "mistakes.ts").read_text(encoding="utf-8").splitlines()
    messages = answers["mistakes.ts"]["mistakes"]
    mistakes = {lines[int(line) - 1]: "\n".join(texts) for line, texts in messages.items()}
    assert len(mistakes) == len(MISTAKES)
    for (line, text), (word, part) in zip(mistakes.items(), MISTAKES.items(), strict=True):
        assert word in line.lower()
        assert part in text


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_program_in_go_compiles_unless_it_misspells_a_nested_key(sdks, tmp_path):
    program = generator.make_go(tmp_path, sdks / "go")
    assert generator.compile_go(program) == ""
    right = program.read_text(encoding="utf-8")
    program.write_text(right.replace("Source:", "Sauce:"), encoding="utf-8")
    assert "unknown field Sauce in struct literal of type inferencestacks.ModelArgs" in generator.compile_go(program)


@pytest.fixture
def deployment(programs, tools, plane, tmp_path):
    """Make the project of the program in docs/embedding.md. The engine finds the package on PATH."""
    folder, answers = programs
    assert answers["index.ts"]["mistakes"] == {}
    deployment = Deployed(tmp_path / "deployment", tools, plane, program=folder)
    settings = "name: teams\nruntime: {name: nodejs, options: {typescript: false}}\n"
    (deployment.project / "Pulumi.yaml").write_text(settings)
    (deployment.project / "Pulumi.dev.yaml").write_text("config: {}\n")
    (deployment.project / "node_modules").symlink_to(folder / "node_modules")
    (deployment.project / "index.js").write_text(answers["index.ts"]["javascript"])
    deployment.engine.ensure_stack()
    binaries = Path(deployment.engine.directory) / "bin"
    for path in (node.NODE, tools["pulumi-language-nodejs"].path, PLUGIN):
        (binaries / path.name).symlink_to(path)
    yield deployment
    deployment.discard()


def objects(plane):
    """Return kind and name of what the program made."""
    kinds = "deployments,services,inferencepools,httproutes,configmaps"
    items = read(plane, kinds, NAMESPACE)
    marked = [item for item in items if item["metadata"].get("labels", {}).get("inference-stacks.io/stack")]
    return sorted((item["kind"], item["metadata"]["name"]) for item in marked)


def test_a_program_in_typescript_deploys_the_stack_of_the_readme(deployment, plane):
    program = deployment.project / "index.js"
    right = program.read_text()
    program.write_text(right.replace("accelerator:", "acelerator:"))
    done = deployment.engine.run("up", "--yes", "--skip-preview", check=False)
    assert done.returncode != 0
    assert "prod.services.qwen.acelerator: unknown key (acelerator); did you mean accelerator?" in told(done)
    assert "Traceback" not in told(done)
    assert objects(plane) == []
    program.write_text(right)
    deployment.up()
    assert ("Deployment", "qwen-decode") in objects(plane)
    outputs = deployment.outputs()
    assert outputs["pool"] == "qwen"
    assert outputs["message"].startswith("the route was not awaited")
    deployment.assert_unchanged()
    deployment.destroy()
    assert objects(plane) == []
