"""Facts files: unknown facts stay unknown, and a broken file has none."""

import json

import pytest

from facts import facts_file
from models.paths import Path as ConfigPath
from models.problems import ConfigError
from planning.ground.cluster_facts import PARTS, ClusterFacts, Served, Unknown


def test_what_is_unknown_is_unknown_in_the_file_too(tmp_path):
    served = Served(frozenset({"v1/Service"}))
    (tmp_path / "facts.json").write_text(facts_file.text(ClusterFacts(served)))
    found = facts_file.read(tmp_path / "facts.json")
    assert found == ClusterFacts(served, **{name: Unknown(f"facts.json has no {name}") for name in PARTS})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"apis": 1}', '{"apis": [], "routes": [{"name": "x"}]}'])
def test_a_broken_file_is_unknown(tmp_path, text):
    (tmp_path / "facts.json").write_text(text)
    found = facts_file.read(tmp_path / "facts.json")
    assert {type(part) for part in (found.apis, found.gateways, found.routes, found.metrics)} == {Unknown}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"apis": "abc"}, "apis"),
        ({"apis": {"v1/Service": 1}}, "apis"),
        ({"apis": [1]}, "apis"),
        ({"apis": [], "nodes": [{"name": "a"}]}, "nodes"),
        ({"apis": [], "nodes": "abc"}, "nodes"),
        ({"apis": [], "storage_classes": {"a": "yes"}}, "storage_classes"),
        ({"apis": [], "storage_classes": {"a": 1}}, "storage_classes"),
        ({"apis": [], "secrets": ["ab"]}, "secrets"),
        ({"apis": [], "time": 1, "cluster": None, "version": None}, "time"),
    ],
)
def test_a_facts_file_has_the_types_that_the_command_writes(tmp_path, content, part):
    """See defects H26."""
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(content))
    reason = f"facts.json holds no facts of a cluster (wrong type below {part})"
    assert facts_file.read(file).apis == Unknown(reason)
    with pytest.raises(ConfigError) as error:
        facts_file.from_option(str(file), "--facts")
    (problem,) = error.value.problems
    assert (problem.path, problem.what) == (ConfigPath("--facts"), reason)


def test_a_facts_file_of_a_later_version_is_read(tmp_path):
    file = tmp_path / "facts.json"
    file.write_text(json.dumps({"apis": ["v1/Service"], "later": 1}))
    assert facts_file.read(file).apis == Served(frozenset({"v1/Service"}))
    assert isinstance(facts_file.read(file), ClusterFacts)
