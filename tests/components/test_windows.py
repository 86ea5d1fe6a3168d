"""A run outside of the stack's windows registers nothing, and a preview registers everything and warns."""

from datetime import UTC, datetime, timedelta

import pulumi
import pytest

from components import drafts
from judging.windows import DeploymentRun
from models.windows import WEEKDAYS
from tests.support.program import run
from tests.support.stacks import tree

NOW = datetime(2026, 11, 28, 12, 10, tzinfo=UTC)


def closed():
    """Return a stack whose only window was yesterday."""
    yesterday = WEEKDAYS[(NOW - timedelta(days=1)).weekday()]
    window = {"days": [yesterday], "start": "09:00", "end": "17:00", "timezone": "UTC"}
    return tree() | {"windows": [window]}


@pytest.fixture(autouse=True)
def _saturday(monkeypatch):
    def of(settings, *, deploys):
        return DeploymentRun(NOW, deploys, settings.outside_windows)

    monkeypatch.setattr(drafts, "_run", of)


def test_a_run_outside_of_the_windows_registers_nothing():
    with pytest.raises(pulumi.RunError) as error:
        run(closed())
    headline, line = str(error.value).splitlines()
    assert headline == "No window of this stack is open, nothing was changed:"
    assert line.startswith("  - windows: are closed on Sat 2026-11-28 12:10 UTC; wait until Fri 2026-12-04 09:00 UTC, ")


def test_a_run_on_the_day_of_the_key_deploys():
    passed = run(closed(), **{"inference-stacks:outsideWindows": "2026-11-28"})
    assert passed.keys() == run(tree()).keys() != set()
