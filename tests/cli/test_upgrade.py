"""The command `upgrade`."""

import json

import pytest

from cli import named_stack
from tests.support.commands import ended
from tests.support.stacks import tree

OLD = "llm-d-0.8"
NEW = "llm-d-0.9"


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a stack file and returns its path."""

    def write(stack):
        path = tmp_path / "stack.yaml"
        path.write_text(json.dumps({"config": {"inference-stacks:stack": stack}}), encoding="utf-8")
        return str(path)

    return write


def printed(capsys, *arguments):
    code, output, errors = ended(capsys, "upgrade", *arguments, "--offline", "--as", "inference-stacks/dev")
    assert code == 0, errors
    return output.splitlines()


def test_services_pods_devices_cache_and_the_way_back_are_said(capsys, file):
    bert = {"engine": {"image": "vllm/vllm-openai:v0.21.0"}}
    stack = tree(qwen={"prefill": {}}, bert=bert, chat={}) | {"release": OLD}
    lines = printed(capsys, file(stack), "--to", NEW)
    assert lines[0] == "3 of 3 services restart, all in one run (upgrades.atOnce limits them)"
    assert lines[-1].startswith("way back: ")
    assert any(line.startswith(f"qwen: {OLD} → {NEW}, vLLM ") for line in lines)
    assert any("no replica stays ready · **unavailable for up to" in line for line in lines)
    assert any(line.startswith("  KV cache: never share: ") for line in lines)
    assert f"bert: {OLD} → {NEW}, vLLM 0.21.0 → 0.21.0" in lines
    assert any(line.startswith("  Deployment models/bert-epp: restarts") for line in lines)


def test_the_order_is_that_of_the_run(capsys, file):
    stack = tree(a={}, b={}, c={}) | {"release": OLD, "upgrades": {"atOnce": 2, "order": ["c"]}}
    assert printed(capsys, file(stack), "--to", NEW)[0] == "3 of 3 services restart, 2 at a time: c, a, b"


def test_an_upgrade_to_what_runs_restarts_nothing(capsys, file):
    lines = printed(capsys, file(tree() | {"release": OLD}), "--to", OLD)
    assert lines[0] == "no pod restarts"
    assert len([line for line in lines if line.startswith("  ")]) == 0
    assert "way back: the commit before" in lines[-1]


def test_a_name_with_a_former_meaning_is_told(capsys, file):
    last = printed(capsys, file(tree() | {"release": NEW}), "--to", NEW)[-1]
    assert last == "if an earlier version of this program deployed the stack, router-0.9 runs: add --from router-0.9"


def test_a_former_channel_is_what_runs(capsys, file):
    lines = printed(capsys, file(tree() | {"release": NEW}), "--from", "router-0.9", "--to", NEW)
    assert any(line.startswith(f"qwen: router-0.9 → {NEW}, vLLM 0.21.0 → ") for line in lines)
    assert lines[-1].startswith("way back: release: router-0.9; ")


def test_services_and_canaries_with_channels_of_their_own_follow(capsys, file):
    stack = tree(qwen={"release": OLD, "canary": {"weight": 1, "release": OLD}}) | {"release": OLD}
    lines = printed(capsys, file(stack), "--to", NEW)
    assert any("qwen-epp: restarts" in line for line in lines)
    assert any("qwen-canary-epp: restarts" in line for line in lines)


def test_an_engine_takes_the_repository_of_the_channel(capsys, file):
    lines = printed(capsys, file(tree() | {"release": OLD}), "--to", OLD, "--engine", "0.32.0")
    assert any(line.endswith("→ 0.32.0") for line in lines)
    assert any("→ v0.32.0" in line for line in lines if "qwen-decode" in line)


def test_an_engine_takes_the_repository_for_the_devices_of_each_set(capsys, file):
    sets = {"amd": {"accelerator": "amd", "replicas": 2}, "nvidia": {}}
    lines = printed(
        capsys, file(tree(qwen={"decode": {"sets": sets}}) | {"release": OLD}), "--to", OLD, "--engine", "0.32.0"
    )
    (amd,) = [line for line in lines if "qwen-decode-amd" in line]
    (nvidia,) = [line for line in lines if "qwen-decode-nvidia" in line]
    for line in (amd, nvidia):
        assert "→ v0.32.0" in line


def test_words_that_the_channel_lacks_are_mistakes_with_what_replaces_them(capsys, file):
    plugins = [{"type": "tokenizer"}]
    custom = {"preset": "custom", "config": {"plugins": plugins}}
    stack = tree(qwen={"endpointPicker": custom}) | {"release": NEW}
    code, output, errors = ended(capsys, "upgrade", file(stack), "--to", "gie-1.3", "--offline", "--as", "p/dev")
    assert (code, output) == (2, "")
    assert "is not in gie-1.3 (tokenizer)" in errors


def test_unknown_channels_are_mistakes_together(capsys, file):
    code, _, errors = ended(
        capsys, "upgrade", file(tree()), "--to", "llm-d-9", "--from", "x", "--engine", "abc", "--offline"
    )
    assert code == 2
    assert "--to: is no release channel (llm-d-9); choose one: " in errors
    assert "--from: is no release channel (x)" in errors
    assert "--engine: is no version (abc); write one, such as 0.30.0" in errors
    assert "llm-d-0.6" not in errors


def test_the_stack_file_stays_as_it_is(capsys, file):
    path = file(tree() | {"release": OLD})
    before = named_stack.read(path, "p/dev").file
    printed(capsys, path, "--to", NEW)
    assert named_stack.read(path, "p/dev").file == before
