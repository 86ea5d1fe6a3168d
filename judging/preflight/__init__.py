"""Checks before a deployment: whether the cluster has the objects that a stack needs.

A missing kind, namespace, class or listener is an error, because only a person can add it. A missing Secret, metric,
node or approval of a controller is a warning, because it may come while pods wait. If facts could not be read, a
warning names them. `checks.preflight: warn` turns the errors into warnings. With `skip`, only `origin`, `changes`,
`addresses`, `pools` and `unresolved_ids` still report problems.
"""

from judging.preflight.admission import levels
from judging.preflight.changes import EARLIER, changes
from judging.preflight.gaps import gaps
from judging.preflight.kinds import addresses, bundles, kinds, metrics
from judging.preflight.listeners import listeners
from judging.preflight.metering import metering, unresolved_ids
from judging.preflight.namespaces import namespaces
from judging.preflight.nodes import nodes
from judging.preflight.origin import origin
from judging.preflight.pools import pools
from judging.preflight.references import classes, secrets
from judging.preflight.severity import Mode

__all__ = [
    "EARLIER",
    "Mode",
    "addresses",
    "bundles",
    "changes",
    "classes",
    "gaps",
    "kinds",
    "levels",
    "listeners",
    "metering",
    "metrics",
    "namespaces",
    "nodes",
    "origin",
    "pools",
    "secrets",
    "unresolved_ids",
]
