"""Checks of the cluster: whether a stack can be deployed to it as it is, before anything is changed.

One rule decides what is an error. What only a person can change makes a run fail, and is an error: kinds, namespaces,
classes, listeners. What may still come while pods wait for it is a warning: Secrets, metrics, nodes, and what
controllers write. What could not be read is a warning that names it. `checks.preflight: warn` makes warnings of the
errors, and `skip` checks nothing.
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
