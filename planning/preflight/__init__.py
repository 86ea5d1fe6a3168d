"""Checks before a deployment: whether the cluster has the objects that a stack needs.

A missing kind, namespace, class or listener is an error, because only a person can add it. A missing Secret, metric,
node or approval of a controller is a warning, because it may come while pods wait. If facts could not be read, a
warning names them. `checks.preflight: warn` turns the errors into warnings. With `skip`, only `origin`, `changes`,
`addresses`, `pools` and `unresolved_ids` still report problems.
"""

from planning.preflight.admission import levels
from planning.preflight.changes import EARLIER, changes
from planning.preflight.gaps import gaps
from planning.preflight.kinds import addresses, bundles, kinds, metrics
from planning.preflight.listeners import listeners
from planning.preflight.metering import metering, unresolved_ids
from planning.preflight.namespaces import namespaces
from planning.preflight.nodes import nodes
from planning.preflight.origin import origin
from planning.preflight.pools import pools
from planning.preflight.references import classes, secrets
from planning.preflight.severity import Mode

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
