"""zerfoo's ZerfooInferenceService: the names of its objects."""

from migration import names as compatibility


def test_zerfoos_names():
    """See zerfoo 1.5."""
    theirs = compatibility.zerfoo("my-llama")
    assert (theirs.primary, theirs.canary) == ("my-llama-primary", "my-llama-canary")
    assert (theirs.service, theirs.autoscaler) == ("my-llama-svc", "my-llama-hpa")
