"""Files with facts of another cluster, or of another day."""

from dataclasses import replace

import pytest

from composition import Given, compose
from planning.ground.inventory import (
    FactsOrigin,
)
from tests.support.stacks import NAME, tree
from tests.support.stacks.whole_clusters import whole


@pytest.mark.parametrize(
    ("origin", "messages"),
    [
        (FactsOrigin("prod", "v1.36.0", "2999-01-01T00:00:00Z"), []),
        (FactsOrigin(None, None, "2999-01-01T00:00:00Z"), []),
        (
            FactsOrigin("test", None, "2999-01-01T00:00:00Z"),
            ["cluster.facts: the file describes cluster test, but this run is for prod; write it again with "],
        ),
        (FactsOrigin("prod", None, "2026-01-01T00:00:00Z"), ["cluster.facts: the file is "]),
        (FactsOrigin("prod", None, "yesterday"), ["cluster.facts: the file has no time of the form "]),
    ],
)
def test_a_file_of_another_cluster_or_of_another_day_is_told(origin, messages):
    found = compose(tree(), Given(replace(whole(tree()), origin=origin), "prod"), NAME).preflight
    assert [str(problem).startswith(start) for problem, start in zip(found, messages, strict=True)] == [True] * len(
        messages
    )
