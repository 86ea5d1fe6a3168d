"""Parameters are judged together, by the demands of a release's tables."""

import pytest
import yaml

from cli import lint
from planning.releases import channel


def judged(plugins, release="llm-d-0.10", **keys):
    """Return the findings in a configuration alone, without those that only cannot be meant."""
    text = yaml.safe_dump({"plugins": plugins, **keys})
    return [str(finding.problem) for finding in lint.judge(text, channel(release)).findings if finding.reason is None]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"matchLengthWeight": 2}, "matchLengthWeight: is above 1; write a value of at most 1"),
        (
            {"matchLengthWeight": 0.5, "matchLengthScaleTokens": 0},
            "matchLengthScaleTokens: is not above 0 beside matchLengthWeight; write a value above 0",
        ),
        ({"matchLengthWeight": None, "matchLengthScaleTokens": 0}, None),
        ({"MATCHLENGTHWEIGHT": 2}, "MATCHLENGTHWEIGHT: is above 1; write a value of at most 1"),
    ],
)
def test_parameters_are_judged_by_their_ranges_and_together(parameters, expected):
    messages = judged([{"type": "prefix-cache-scorer", "parameters": parameters}])
    assert messages == ([] if expected is None else [f"plugins[0].parameters.{expected}"])
