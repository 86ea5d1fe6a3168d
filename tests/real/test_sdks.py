"""SDKs of the package: they compile, and complete nested keys from their types; a program with one deploys."""

import copy
import re
from pathlib import Path

import pytest

from models import version
from package.committed import committed_schema
from tests.support.cluster.deployments import ROOT, Deployed, told
from tests.support.cluster.server import read
from tests.support.sdks import generator, node

pytestmark = pytest.mark.real

SCHEMA = committed_schema(version.read())
TYPES = {token.rpartition(":")[2]: node for token, node in SCHEMA["types"].items()}
PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"```typescript\n(.*?)```", PAGE, re.DOTALL)
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


def source(name):
    """Return a program in TypeScript."""
    return (node.FOLDER / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sdks(tools, tmp_path_factory):
    """Return a folder with the SDK of each language."""
    folder = tmp_path_factory.mktemp("sdks")
    done = generator.generate(tools["pulumi-sdk-generator"], SCHEMA, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def typescript(sdks):
    """Return the compiled SDK of TypeScript."""
    generator.compile_typescript(sdks / "nodejs")
    return sdks / "nodejs"


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


def test_an_editor_completes_nested_keys_in_typescript(typescript, tmp_path):
    answer = generator.ask(generator.make_typescript(tmp_path, typescript, source("completions.ts")))
    assert answer["mistakes"] == {}
    assert answer["completions"] == COMPLETIONS


def test_the_compiler_of_typescript_refuses_a_mistake_in_a_nested_key(typescript, tmp_path):
    program = generator.make_typescript(tmp_path, typescript, source("mistakes.ts"))
    lines = program.read_text(encoding="utf-8").splitlines()
    mistakes = {lines[int(line) - 1]: "\n".join(texts) for line, texts in generator.ask(program)["mistakes"].items()}
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
def deployment(typescript, tools, plane, tmp_path):
    """Make the project of the program in docs/embedding.md. The engine finds the package on PATH."""
    program = generator.make_typescript(tmp_path / "source", typescript, PROGRAM)
    answer = generator.ask(program)
    assert answer["mistakes"] == {}
    deployment = Deployed(tmp_path / "deployment", tools, plane, program=program.parent)
    settings = "name: teams\nruntime: {name: nodejs, options: {typescript: false}}\n"
    (deployment.project / "Pulumi.yaml").write_text(settings)
    (deployment.project / "Pulumi.dev.yaml").write_text("config: {}\n")
    (deployment.project / "node_modules").symlink_to(program.parent / "node_modules")
    (deployment.project / "index.js").write_text(answer["javascript"])
    deployment.engine.ensure_stack()
    binaries = Path(deployment.engine.directory) / "bin"
    for path in (node.NODE, tools["pulumi-language-nodejs"].path, ROOT / "pulumi-resource-inference-stacks"):
        (binaries / path.name).symlink_to(path)
    yield deployment
    deployment.discard()


def objects(plane):
    """Return kind and name of what the program made."""
    kinds = "deployments,services,inferencepools,httproutes,configmaps"
    items = read(plane, kinds, "models")
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
