"""Mistakes in metering, and tasks of other people."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import plan
from tests.support.stacks.varied_metering import DIGEST, metered, warnings


@pytest.mark.parametrize("identity", ["org/model", "a b", "-x", "x-", "x" * 64])
def test_illegal_ids_are_refused(identity):
    """See phoebe 8.8, 5.7."""
    with pytest.raises(ConfigError, match=r"services\.qwen\.interceptor\.resourceId"):
        plan(metered(qwen={"interceptor": {"resourceId": identity}}))


def test_an_unknown_image_is_told_with_the_check_that_did_not_run():
    """See phoebe 7.5."""
    (line,) = (
        line for line in warnings(metered(deploy={"image": f"registry.example/meter@{DIGEST}"})) if "image" in line
    )
    assert line.startswith("interceptor.deploy.image: support for the mode went unchecked: the image is unknown")
    assert not [line for line in warnings(metered()) if "image" in line]


def test_a_missing_identity_is_a_warning_until_every_route_sets_it():
    """See phoebe 1.3."""
    assert [line for line in warnings(metered()) if "X-Saturn-Auth-Id" in line and "gateways/gateway" in line]
    fixed = {"route": {"setHeaders": {"x-saturn-auth-id": "house"}}}
    assert not [line for line in warnings(metered(qwen=fixed)) if "X-Saturn-Auth-Id" in line]
