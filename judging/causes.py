"""Causes for which a run loses running services. Each cause has a word that lets the run pass."""

from enum import StrEnum


class Cause(StrEnum):
    """A cause. Its value is the word in `allow`."""

    CLUSTER = "cluster"
    """The run leads to another cluster than earlier runs."""
    NAME = "name"
    """A service gets another name, and therefore other objects."""
    NAMESPACE = "namespace"
    """A service gets another namespace, or the namespace of a service is deleted."""
    OUTAGE = "outage"
    """No replica of a workload stays ready for a while, and `checks.outage` is strict."""
    RELEASE = "release"
    """Another release channel replaces all serving pods of a service."""
    REMOVAL = "removal"
    """The configuration does not contain the service."""
    TAKEOVER = "takeover"
    """Objects of the stack are in the state of another Pulumi stack."""
