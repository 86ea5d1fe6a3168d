"""Cache and weights of small models are those that a real vLLM reported, within five percent."""

import pytest
import yaml

from local.vllm.families import families
from planning.fit import cache
from tests.support.engine import sizes

RECORD = yaml.safe_load(sizes.RECORD.read_text(encoding="utf-8"))
ALIASES = {"num_experts": "num_local_experts"}
"""Names under which transformers writes fields of a configuration."""
ROWS = [(version, name) for version, rows in RECORD.items() for name in rows]


@pytest.mark.parametrize(("version", "name"), ROWS)
def test_cache_and_weights_are_those_of_the_engine(version, name):
    assert sizes.deviations(RECORD[version][name], sizes.models()[name]) == {}


def test_each_family_is_measured_and_two_of_them_in_three_versions():
    assert set(RECORD["0.30.0"]) == set(sizes.models())
    assert {version: set(rows) >= {"llama", "gemma-3"} for version, rows in RECORD.items()} == dict.fromkeys(
        ["0.26.0", "0.30.0", "0.32.0"], True
    )


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_the_measured_model_of_a_family_is_its_small_model_but_for_the_number_of_layers(family):
    config = RECORD["0.30.0"][family.name]["config"]
    assert config["architectures"] == [family.architecture]
    fields = {ALIASES.get(name, name): value for name, value in family.config.items() if name != "num_hidden_layers"}
    assert {name: config.get(name) for name in fields} == fields


@pytest.mark.parametrize("figure", ["token", "sequence", "weights"])
def test_a_figure_that_is_a_tenth_off_is_noticed(figure):
    row = RECORD["0.30.0"]["llama"]
    assert figure not in sizes.deviations(row, sizes.models()["llama"])
    assert figure in sizes.deviations({**row, figure: row[figure] * 1.1}, sizes.models()["llama"])


def test_windows_decide_the_cache_of_a_sequence(monkeypatch):
    """The comparison above would pass without windows if no model had one."""
    groups = cache.groups
    monkeypatch.setattr(cache, "groups", lambda architecture: cache.without_windows(groups(architecture)))
    row = RECORD["0.30.0"]["gemma-3"]
    assert sizes.deviations(row, sizes.models()["gemma-3"])["sequence"] > 2


def test_each_recurrent_layer_has_two_states():
    row = RECORD["0.30.0"]["qwen3-next"]
    block = row["block"] * row["token"]
    assert "sequence" in sizes.deviations(
        {**row, "sequence": row["sequence"] - 3 * block}, sizes.models()["qwen3-next"]
    )
