"""The room for the cache is what vLLM's logs say, within ten percent."""

import datetime as dt
from pathlib import Path

import pytest
import yaml

from planning.fit import memory, models
from planning.fit.cache import Precision
from planning.fit.memory import Devices, Request
from planning.hardware import accelerators

GI = 2**30
TOLERANCE = 0.1
TABLE = yaml.load(Path("tests/planning/fit/examples.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
EXAMPLES = TABLE["examples"]


def fit(example):
    """Return the fit of an example, whose weights are those of its log."""
    found, cls = models.find(example["model"]), accelerators.classes({})[example["class"]]
    tensor = example.get("tensor", 1)
    return memory.fits(
        Request(
            found.architecture,
            int(example["weights"] * tensor * GI),
            Devices(cls.vendor, cls.product, cls.memory),
            example["context"],
            tensor=tensor,
            utilization=example.get("utilization", 0.9),
            precision=Precision(example["precision"]) if "precision" in example else None,
            block=example.get("block"),
            batch_tokens=example.get("step"),
            sequences=example.get("sequences"),
            graphs=False,
        )
    )


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_room_for_the_cache_is_that_of_the_log(number):
    example = EXAMPLES[number]
    found = fit(example)
    assert found.is_sufficient
    assert found.room / GI == pytest.approx(example["available"], rel=TOLERANCE)
    if "tokens" in example:
        assert found.cached_tokens == pytest.approx(example["tokens"], rel=TOLERANCE)


def test_the_examples_are_of_six_models_on_three_classes_of_two_vendors_and_say_where_they_are_from():
    assert len({each["model"] for each in EXAMPLES}) >= 6
    assert len({each["class"] for each in EXAMPLES}) >= 3
    assert {each["class"].partition("-")[0] for each in EXAMPLES} >= {"amd", "nvidia"}
    assert all(each["page"].startswith("https://") for each in EXAMPLES)
    assert isinstance(TABLE["date"], dt.date)
