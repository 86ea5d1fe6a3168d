"""zerfoo's ZerfooInferenceService: the names of its objects."""

from migration import names as compatibility


def test_zerfoos_names():
    """See zerfoo 1.5."""
    own = compatibility.zerfoo("my-llama")
    assert (own.primary, own.canary) == ("my-llama-primary", "my-llama-canary")
    assert (own.service, own.autoscaler) == ("my-llama-svc", "my-llama-hpa")
