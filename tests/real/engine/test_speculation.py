"""vLLM makes a configuration of speculative decoding as it is rendered, in every version that is installed."""

import json
import shutil
from pathlib import Path

import pytest

from local.vllm import installation
from local.vllm.command import command_and_environment
from tests.support.engine import scripts
from tests.support.engine.engines import make_model
from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import engine, model_servers

pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).parents[2] / "support/engine/configure_script.py"
EAGLE = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"}


def command_line(version, method, model, draft=None):
    """Return the command line of an engine, with another model and another draft."""
    image = {"image": f"registry.example/vllm-openai:v{version.name}"}
    settings = {"method": method, "tokens": 2, **({} if draft is None else {"draft": {"source": "hf://org/draft"}})}
    service = {"model": {"source": "hf://org/model", "speculative": settings}, "engine": image}
    (template,) = model_servers(rendered(tree(qwen=service)))
    command, _ = command_and_environment(engine(template), lambda _: "127.0.0.1")
    return [str(model), *(token.replace('"/draft"', json.dumps(str(draft))) for token in command[3:])]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the directory of a small model."""
    return make_model(tmp_path_factory.mktemp("guessing") / "model")


def relative(model, directory, **fields):
    """Write a model with other fields of its configuration; its weights do not matter. Return its directory."""
    shutil.copytree(model, directory)
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    return directory


@pytest.mark.parametrize("version", [version.name for version in installation.versions().values()])
def test_vllm_takes_what_is_rendered_and_refuses_what_is_refused(version, model, tmp_path):
    row = installation.versions()[version]
    other = relative(model, tmp_path / "other", vocab_size=1024)
    eagle = relative(model, tmp_path / "eagle", **EAGLE)
    lines = {
        "ngram": command_line(row, "ngram", model),
        "draft-model": command_line(row, "draft-model", model, model),
        "eagle3": command_line(row, "eagle3", model, eagle),
        "another vocabulary": command_line(row, "draft-model", model, other),
        "no layers for several tokens": command_line(row, "mtp", model),
        "no draft": [token.replace('"ngram"', '"eagle3"') for token in command_line(row, "ngram", model)],
    }
    answers = dict(zip(lines, scripts.run(row, SCRIPT, [], json.dumps([*lines.values()])), strict=True))
    assert [answers[name] for name in ("ngram", "draft-model", "eagle3")] == ["", "", ""]
    assert "same vocabulary size" in answers["another vocabulary"]
    assert "Unsupported speculative method: 'mtp'" in answers["no layers for several tokens"]
    assert "without speculative model" in answers["no draft"]
