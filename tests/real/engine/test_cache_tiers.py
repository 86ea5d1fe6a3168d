"""vLLM makes a configuration of the tiers of the KV cache as they are rendered, in every version that is installed."""

import json
from pathlib import Path

import pytest

from local.vllm import installation
from local.vllm.command import command_and_environment
from tests.support.engine import scripts
from tests.support.engine.engines import make_model
from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import engine, model_servers
from tests.support.stacks.varied_caches import VOLUMES

pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).parents[2] / "support/engine/configure_script.py"
CPU = {"type": "cpu", "size": "1Gi"}
CACHES = {
    "short form": {"cpuOffload": "1Gi"},
    "files and other pods": {"tiers": [CPU, {"type": "file-system", "volume": "files"}, {"type": "p2p"}]},
    "lmcache": {"tiers": [{"type": "lmcache", "size": "1Gi", "volume": "files", "volumeSize": "1Gi"}]},
    "mooncake": {"tiers": [{"type": "mooncake-store", "volume": "store"}]},
}
MISTAKES = {
    "tier": ('"type":"fs"', '"type":"file-system"'),
    "key of a tier": ('"root_dir"', '"root_directory"'),
    "connector": ('"NixlConnector"', '"NixlConnectors"'),
}
"""Mistakes in the value of `--kv-transfer-config`, by name."""


def command_lines(version, model):
    """Return the command lines of engines by the name of the cache and the role, with another model."""
    lines = {}
    for name, cache in CACHES.items():
        for further in ({}, {"prefill": {}}):
            image = {"image": f"registry.example/vllm-openai:v{version.name}"}
            service = {"kvCache": cache, "engine": image, "pod": {"volumes": VOLUMES}, **further}
            for number, template in enumerate(model_servers(rendered(tree(qwen=service)))):
                command, _ = command_and_environment(engine(template), lambda _: "127.0.0.1")
                lines[name, len(further), number] = [str(model), *command[3:]]
    return lines


@pytest.mark.parametrize("version", [version.name for version in installation.versions().values()])
def test_vllm_takes_every_tier_alone_and_beside_prefill(version, tmp_path):
    row = installation.versions()[version]
    lines = command_lines(row, make_model(tmp_path / "model"))
    with_tiers = next(line for key, line in lines.items() if key[:2] == ("files and other pods", 1))
    for name, (right, wrong) in MISTAKES.items():
        lines[name, "mistake"] = [token.replace(right, wrong) for token in with_tiers]
        assert lines[name, "mistake"] != with_tiers
    answers = dict(zip(lines, scripts.run(row, SCRIPT, [], json.dumps([*lines.values()])), strict=True))
    assert {key: answer for key, answer in answers.items() if "mistake" not in key and answer} == {}
    assert [key for key, answer in answers.items() if "mistake" in key and not answer] == []
