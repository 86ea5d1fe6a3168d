"""Node affinity is evaluated as the scheduler does, and what only the scheduler evaluates is named."""

import pytest

from judging.report.affinity import admits, further_demands
from planning.hardware.placement import Placement

LABELS = {"zone": "a", "generation": "7", "name": "seven"}


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def where(*expressions):
    return {"matchExpressions": [dict(zip(("key", "operator", "values"), each, strict=False)) for each in expressions]}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        ({}, True),
        (required(), False),
        (required({}), False),
        (required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}), True),
        (required(where(("zone", "In", ["a", "b"]))), True),
        (required(where(("zone", "In", ["b"]))), False),
        (required(where(("zone", "In", ["b"])), where(("zone", "Exists"))), True),
        (required(where(("zone", "Exists"), ("other", "Exists"))), False),
        (required(where(("generation", "Gt", ["6"]))), True),
        (required(where(("generation", "Gt", ["7"]))), False),
        (required(where(("generation", "Lt", ["8"]))), True),
        (required(where(("generation", "Lt", ["-8"]))), False),
        (required(where(("name", "Gt", ["6"]))), False),
        (required(where(("absent", "Lt", ["6"]))), False),
        (required(where(("generation", "Gt", ["6", "5"]))), False),
        (required(where(("generation", "Gt", ["six"]))), False),
    ],
)
def test_a_node_is_admitted_by_one_term_whose_conditions_it_all_meets(affinity, expected):
    assert admits(affinity, LABELS) is expected


def test_demands_that_only_the_scheduler_evaluates_are_named():
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
    affinity = {"podAffinity": required, "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    spread = ({"topologyKey": "zone", "maxSkew": 1},)
    soft = ({"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},)
    demanding = Placement({}, {}, (), affinity, spread, None, "volcano", None)
    assert further_demands(demanding) == ("podAffinity", "topologySpreadConstraints", "scheduler volcano")
    assert further_demands(Placement({}, {}, (), {}, soft, None, None, None)) == ()
