"""Proposals of weights in every stack file with a canary that the project ships."""

import re
import stat
from pathlib import Path

import pytest
import yaml

from cli import named_stack, proposals, stackfile
from models.problems import ConfigError
from models.trees import at, mapping
from tests.support import commands
from tests.support.stacks import SHIPPED, WORDS, varied_canaries

CANARIES = [
    (path, key)
    for path in (*SHIPPED, *WORDS)
    for key, service in mapping(at(stackfile.read(path), "services")).items()
    if mapping(service).get("canary") is not None
]
NUMBER = re.compile(r"\d+")


def changed_numbers(before, after):
    """Return the numbers that differ between two texts that are otherwise alike."""
    assert NUMBER.sub("#", before) == NUMBER.sub("#", after)
    pairs = zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)
    return [(old, new) for old, new in pairs if old != new]


def test_several_shipped_stacks_have_a_canary():
    assert {path.stem for path, _ in CANARIES} >= {"canary", "service", "existing-pods", "existing-pool"}


@pytest.mark.parametrize(("path", "key"), CANARIES, ids=lambda value: getattr(value, "stem", value))
def test_one_number_of_a_shipped_stack_changes_and_it_still_renders(path, key, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    weight = at(stackfile.read(path), "services", key, "canary", "weight")
    proposal = proposals._write(str(copy), key, weight, 37)
    assert (proposal.weight, proposal.file) == (37, str(copy))
    assert changed_numbers(path.read_text(), copy.read_text()) == [(str(weight), "37")]
    assert at(stackfile.read(copy), "services", key, "canary", "weight") == 37
    assert commands.rendering(copy, "--as", "inference-stacks/dev", "--offline")


@pytest.mark.parametrize("name", ["canary", "service"])
def test_a_shipped_canary_is_folded_in_or_left_with_the_way_to_do_it(name, tmp_path):
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(Path(f"examples/{name}.yaml").read_bytes())
    key = next(key for shipped, key in CANARIES if shipped.stem == name)
    before = at(stackfile.read(path), "services", key)
    named = named_stack.read(str(path), "inference-stacks/dev")
    proposal = proposals._fold(named, str(path), key)
    after = at(stackfile.read(path), "services", key)
    if proposal.file is None:
        assert after == before
        return
    assert "canary" not in after
    assert at(after, "model", "source") == (at(before, "canary", "model", "source") or at(before, "model", "source"))
    assert commands.rendering(path, "--as", "inference-stacks/dev", "--offline")


@pytest.mark.parametrize("flow", [None, True, False])
def test_one_number_of_every_varied_canary_changes_in_every_layout(flow, tmp_path):
    for number, stack in enumerate(varied_canaries.CANARIES.values()):
        for key, service in stack["services"].items():
            if "canary" not in service:
                continue
            path = tmp_path / f"{number}.yaml"
            tree = {"config": {"inference-stacks:stack": stack}}
            path.write_text(yaml.safe_dump(tree, default_flow_style=flow, width=60))
            before = path.read_text()
            proposals._write(str(path), key, service["canary"]["weight"], 37)
            assert changed_numbers(before, path.read_text()) == [(str(service["canary"]["weight"]), "37")]


def test_the_rights_and_the_place_of_a_file_stay(tmp_path):
    target = tmp_path / "shared.yaml"
    text = "config:\r\n  inference-stacks:stack:\r\n    services: {qwen: {canary: {weight: 10}}}\r\n"
    target.write_bytes(text.encode())
    target.chmod(0o640)
    link = tmp_path / "Pulumi.prod.yaml"
    link.symlink_to(target)
    proposals._write(str(link), "qwen", 10, 25)
    assert link.is_symlink()
    assert target.read_bytes() == text.replace("weight: 10", "weight: 25").encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Pulumi.prod.yaml", "shared.yaml"]


def test_a_folder_that_cannot_be_written_leaves_everything_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text("config: {inference-stacks:stack: {services: {qwen: {canary: {weight: 10}}}}}\n")
    before = path.read_bytes()

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigError, match=r"cannot be written \(PermissionError\) in .*, so nothing was changed"):
        proposals._write(str(path), "qwen", 10, 25)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["Pulumi.prod.yaml"]


def test_a_weight_that_no_file_has_is_refused(tmp_path):
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text("config: {inference-stacks:stack: {services: {qwen: {canary: {}}}}}\n")
    with pytest.raises(ConfigError, match="is written in no file"):
        proposals._write(str(path), "qwen", 10, 25)
