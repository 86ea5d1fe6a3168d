"""Amounts of resources that Kubernetes refuses, or counts as other amounts, are refused before."""

import pytest

from models.paths import Path
from planning.refusals import resources
from tests.support.stacks import lines


@pytest.mark.parametrize(
    ("requests", "limits", "message"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, None),
        ({"cpu": "2"}, {"cpu": "1"}, "at.requests.cpu: is above its limit (2, 1)"),
        ({"cpus": "1"}, {}, "at.requests.cpus: is no resource of a container (cpus)"),
        ({"example.com/device": "1"}, {}, "at.requests.example.com/device: needs a limit of the same amount (1)"),
        ({}, {"hugepages-2Mi": "3Mi"}, "at.limits.hugepages-2Mi: is no multiple of the page (3Mi)"),
        ({}, {"requests.cpu": "1"}, "at.limits.requests.cpu: is a name of quotas"),
    ],
)
def test_amounts_are_those_that_kubernetes_takes(requests, limits, message):
    messages = lines(resources.problems(Path("at"), requests, limits, computes=True), "error")
    assert [line[: len(message or "")] for line in messages] == ([] if message is None else [message])


def test_huge_pages_need_cpu_or_memory():
    (line,) = lines(resources.problems(Path("at"), {}, {"hugepages-2Mi": "4Mi"}, computes=False), "error")
    assert line.startswith("at: has huge pages without cpu or memory (hugepages-2Mi)")


@pytest.mark.parametrize(
    ("amounts", "first"), [({"memory": "7Ei"}, None), ({"memory": "8Ei"}, "8Ei"), ({"cpu": "10P"}, "10P")]
)
def test_amounts_beyond_64_bits_are_found(amounts, first):
    assert resources.uncountable(amounts) == first
