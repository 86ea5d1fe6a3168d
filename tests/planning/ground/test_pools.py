import pytest

from planning.ground.pools import verdict

ACCEPTED = {"type": "Accepted", "status": "True"}
UNRESOLVED = {"type": "ResolvedRefs", "status": "False", "reason": "InvalidExtensionRef", "message": "no such Service"}


def pool(*parents):
    return {"status": {"parents": [{"conditions": conditions} for conditions in parents]}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, (None, "")),
        ({"status": {"parents": [{}]}}, (None, "")),
        (pool([{"type": "Accepted", "status": "Unknown"}]), (None, "")),
        (pool([{"type": "Programmed", "status": "False"}]), (None, "")),
        (pool([ACCEPTED]), (True, "")),
        (pool([ACCEPTED], [ACCEPTED, UNRESOLVED]), (False, "InvalidExtensionRef: no such Service")),
    ],
    ids=["no-status", "no-condition", "undecided", "another-condition", "accepted", "refused-by-one"],
)
def test_a_pool_is_refused_if_one_controller_refuses_it(status, expected):
    assert verdict(status) == expected
