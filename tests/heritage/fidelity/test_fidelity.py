"""Channel llm-d-0.6 makes what OtterScale's model-operator v1.0.1 makes, but for deviations that have a number.

The fingerprints are those of the operator's own objects in three scenarios. `docs/deviations.md` has the reasons
and numbers, `docs/fidelity.md` shows object by object how much is ours. `scenarios` renders our objects, `mapping`
undoes our deviations one by one, `canonical` compares.
"""

import fnmatch
from collections import Counter
from pathlib import Path

import pytest

from tests.heritage import citations
from tests.heritage.fidelity import canonical
from tests.heritage.fidelity.deviation import mapped, stages
from tests.heritage.fidelity.mapping import DEVIATIONS
from tests.heritage.fidelity.origin import origin, table
from tests.heritage.fidelity.scenarios import SCENARIOS

OBJECTS = [(name, part) for name, scenario in SCENARIOS.items() for part in scenario.fingerprints]
OURS = {name: scenario.ours() for name, scenario in SCENARIOS.items()}
WITHOUT_COUNTERPART = {
    "Service": "3.0 routed Service",
    "PodDisruptionBudget decode": "W10 disruptions",
    "ServiceAccount decode": "S8 sidecar",
    "Role decode": "S8 sidecar",
    "RoleBinding decode": "S8 sidecar",
    "ServiceAccount EPP-metrics-reader": "S4 scraper's token",
    "ClusterRoleBinding EPP-metrics-reader": "S4 scraper's token",
}
READABLE_BY_DEFAULT = {
    "ClusterRoleBinding EPP", "Secret EPP-metrics-reader", "ClusterRole EPP-metrics-reader", "ServiceMonitor EPP",
}  # fmt: skip
"""Objects that their picker lacks if its block is absent, so that nobody can read its metrics (A3)."""


def rows():
    """Return the items about otterscale in `docs/deviations.md`."""
    text = citations.DEVIATIONS.read_text(encoding="utf-8")
    return {row.item for row in citations.deviation_rows(text) if row.system == "otterscale"}


def wrong(undone):
    """Return the objects that do not come out as theirs if these deviations are undone."""
    return {(name, part) for name, part in OBJECTS if not comes_out(name, part, undone)}


def comes_out(name, part, undone):
    try:
        manifest = mapped(OURS[name][part], part, name, undone)
    except (AttributeError, IndexError, KeyError, ValueError):
        return False
    return canonical.fingerprint(manifest) == SCENARIOS[name].fingerprints[part]


@pytest.mark.parametrize(("name", "part"), OBJECTS)
def test_an_object_is_theirs_once_the_deviations_are_undone(name, part):
    """See otterscale 3.24."""
    manifest = mapped(OURS[name][part], part, name, DEVIATIONS)
    assert canonical.fingerprint(manifest) == SCENARIOS[name].fingerprints[part], canonical.text(manifest)


def test_all_of_their_objects_are_there():
    assert Counter(name for name, _ in OBJECTS) == {"min": 11, "full": 17, "alt": 9}


def test_no_object_is_theirs_as_it_is():
    assert wrong([]) == set(OBJECTS)


@pytest.mark.parametrize("left_out", DEVIATIONS, ids=lambda each: f"{each.item}: {each.edit.__name__}")
def test_every_deviation_is_needed(left_out):
    others = [each for each in DEVIATIONS if each is not left_out]
    assert any(not comes_out(name, part, others) for name, part in OBJECTS)


@pytest.mark.parametrize(("name", "part"), OBJECTS)
def test_a_deviation_touches_only_what_it_is_about(name, part):
    through = stages(OURS[name][part], part, name, DEVIATIONS)
    leaves = [Counter((leaf.path, leaf.value) for leaf in canonical.leaves(stage)) for stage in through]
    for each, before, after in zip(DEVIATIONS, leaves, leaves[1:], strict=False):
        touched = {path for path, _ in (before - after) + (after - before)}
        outside = {path for path in touched if not any(fnmatch.fnmatchcase(path, about) for about in each.about)}
        assert (each.item, outside) == (each.item, set())


@pytest.mark.parametrize(("name", "part"), OBJECTS)
def test_what_no_deviation_touches_makes_the_fingerprint(name, part):
    assert origin(name, part).unread == ()


@pytest.mark.parametrize(("name", "part"), OBJECTS)
def test_most_of_an_object_is_ours(name, part):
    found = origin(name, part)
    # Their role has three rules, of which two are those of the role that Kubernetes ships.
    least = 0.4 if part.startswith("ClusterRole ") else 0.65
    assert found.ours >= least * found.count, found


def test_most_of_all_objects_is_ours():
    found = [origin(name, part) for name, part in OBJECTS]
    assert sum(record.ours for record in found) > 0.8 * sum(record.count for record in found)
    assert sum(record.same for record in found) > 0.5 * sum(record.count for record in found)


def test_every_deviation_has_its_row():
    items = {each.item for each in DEVIATIONS} | set(WITHOUT_COUNTERPART.values()) | {"A3 readable by default"}
    assert items - rows() == set()


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_they_have_not_has_a_reason(name):
    """See otterscale 3.0, A3, S4, S8, W10."""
    beyond = set(OURS[name]) - set(SCENARIOS[name].fingerprints)
    by_default = READABLE_BY_DEFAULT if name == "min" else set()
    assert beyond - set(WITHOUT_COUNTERPART) == by_default


def test_how_much_is_ours_is_written_down(golden):
    text = Path("docs/fidelity.md").read_text(encoding="utf-8")
    golden(Path("docs/fidelity.md"), f"{text.partition('| Scenario')[0]}{table()}")
