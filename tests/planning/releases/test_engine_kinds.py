"""Every kind of engine is a table of what it can do, and its flags are those of its versions."""

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from models import flags
from models.role import Engine
from models.service import Service
from planning.releases import engine_flags, engine_kinds, engine_versions

KINDS = [engine_kinds.kind(name) for name in engine_kinds.names()]
SHARED = {"--kv-events-config", "--load-format", "--revision", "--speculative-config"}
"""Flags that users may write as well: they merge with the generated value, or a rule of their own judges them."""
TABLED = [kind for kind in KINDS if kind.versions is not None]


def service(**fields):
    return Service.model_validate({"accelerator": "nvidia", "model": {"source": "hf://org/model"}, **fields})


def test_every_type_that_a_user_may_write_has_a_table():
    literal, _ = get_args(Engine.model_fields["type"].annotation)
    assert set(get_args(literal)) == set(engine_kinds.names())


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "vllm"),
        ({"engine": {"type": "sglang", "image": "registry.example/sglang:v1"}}, "sglang"),
        ({"model": {"source": "image://registry.example/server:v1"}}, "custom"),
    ],
)
def test_the_kind_of_an_engine_follows_its_type_and_the_source_of_its_weights(fields, name):
    spec = service(**fields)
    assert engine_kinds.of(spec, spec).name == name


def own_flags(kind):
    """Return all flags that a kind renders, without values."""
    modes = kind.disaggregation
    group = kind.group
    lists = [list(kind.flags.values()), kind.fixed, [kind.model] if kind.model else []]
    lists += [modes.decode, modes.prefill] if modes is not None else []
    lists += [group.flags, group.worker] if group is not None else []
    return {flag.partition("=")[0] for entries in lists for flag in entries}


@pytest.mark.parametrize("kind", TABLED, ids=lambda kind: kind.name)
def test_every_version_knows_each_flag_of_its_kind(kind):
    table = engine_flags.of_kind(kind)
    for version in table.versions or ["1"]:
        assert own_flags(kind) - table.flags_of(version) == set(), version
    assert "--unknown-flag" not in table.flags_of((table.versions or ["1"])[-1])


def test_the_newest_vllm_knows_each_flag_of_its_kind():
    newest = engine_versions.EngineVersion(engine_versions.table().versions[-1], is_known=True)
    names = {flags.parse([flag])[0].name for flag in own_flags(engine_kinds.kind("vllm"))}
    assert {name for name in names if not newest.knows_flag(name)} == set()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_user_may_write_a_flag_that_a_field_decides(kind):
    names = {flags.parse([flag])[0].name for flag in kind.flags.values()}
    assert names - kind.decided.keys() <= SHARED


def digests_of(name):
    """Return the digests of the files that a table of flags was made from, by version or commit and path."""
    path = Path("planning/releases/engines", f"{name}-sources.yaml")
    document = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    digests = {(file["commit"], path): file["sha256"] for path, file in document.get("files", {}).items()}
    for version, wheel in document.get("wheels", {}).items():
        digests |= {(version, path): digest for path, digest in wheel["files"].items()}
    return digests


@pytest.mark.parametrize("kind", TABLED, ids=lambda kind: kind.name)
def test_facts_name_the_files_that_they_were_read_from(kind):
    """The same digests stand beside the table of flags."""
    named = {(file.version, file.file): file.sha256 for file in kind.files}
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in named.values())
    digests = digests_of(kind.versions)
    common = named.keys() & digests.keys()
    assert common
    assert {key: named[key] for key in common} == {key: digests[key] for key in common}


@pytest.mark.parametrize("kind", TABLED, ids=lambda kind: kind.name)
def test_every_version_of_a_table_has_the_digests_of_its_files(kind):
    digests = digests_of(kind.versions)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests.values())
    versions = engine_flags.of_kind(kind).versions
    if versions:
        assert {version for version, _ in digests} == {*versions}
