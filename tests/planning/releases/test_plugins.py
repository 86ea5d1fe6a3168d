"""Facts of tables about plugins of a picker."""

import pytest
from pydantic import ValidationError

from planning.releases.plugins import Demand, Plugin


def test_a_demand_is_on_the_whole_mapping_or_on_the_items_of_a_list():
    assert Demand.model_validate({"must": {"at": "a", "empty": False}}).items_of is None
    assert Demand.model_validate({"itemsOf": "rows", "must": {"at": "a", "count": 1}}).items_of == "rows"


@pytest.mark.parametrize("table", [{}, {"groups": ["scorer"], "unknown": 1}])
def test_a_plugin_without_groups_or_with_unknown_facts_is_no_row_of_a_table(table):
    with pytest.raises(ValidationError):
        Plugin.model_validate(table)
