"""Checks of the cluster: whether a stack can be deployed to it as it is, before anything is changed.

A missing kind, namespace, class or listener is an error, because only a person can add it. A missing Secret, metric,
node or approval of a controller is a warning, because it may come while pods wait. Facts that could not be read lead to
a warning that names them. `checks.preflight: warn` turns errors into warnings, and
`skip` checks nothing.
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
