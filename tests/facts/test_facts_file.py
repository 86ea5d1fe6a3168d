"""Facts files: unknown facts stay unknown, and a broken file has none."""

import pytest

from facts import facts_file
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
