import pytest

from planning.ground.api_groups import plural


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Deployment", "deployments"),
        ("NetworkPolicy", "networkpolicies"),
        ("InferencePool", "inferencepools"),
        ("Gateway", "gateways"),
        ("Rules", "rules"),
    ],
)
def test_kinds_have_the_plural_of_their_urls(kind, name):
    assert plural(kind) == name
