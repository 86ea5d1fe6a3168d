"""A control plane serves every kind when its start returns."""

import pytest

pytestmark = pytest.mark.real


def test_every_custom_resource_is_served_when_start_returns(plane):
    defined = plane.kubectl("get", "crd", "-o", "name").split()
    served = plane.kubectl("api-resources", "-o", "name").split()
    assert len(defined) > 20
    assert {name.partition("/")[2] for name in defined} <= set(served)
