"""Objectives of a service as users write them."""

import pytest
from pydantic import ValidationError

from models.objectives import Slo


def test_a_window_is_a_month_by_default():
    assert Slo.model_validate({"availability": 99}).window == "30d"


@pytest.mark.parametrize("percent", [0, 100, 99.9999, "99", True])
def test_a_percentage_is_a_number_above_0_and_below_100(percent):
    with pytest.raises(ValidationError):
        Slo.model_validate({"availability": percent})


@pytest.mark.parametrize("slo", [{}, {"window": "28d"}, {"source": "picker"}])
def test_objectives_without_an_objective_are_refused(slo):
    with pytest.raises(ValidationError, match="states no objective"):
        Slo.model_validate(slo)
