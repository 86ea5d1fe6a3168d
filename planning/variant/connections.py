"""Idle connections of engines: an engine keeps an idle connection longer than its client does.

If a server closes an idle connection while a client sends the next request, the request fails (502 or 503).
"""

from datetime import date

from models.base import Spec
from planning.ground import tables

SIDECAR = "routing-sidecar"
"""Name of the routing sidecar in the table of clients."""
_MARGIN = 30
"""Time in seconds by which an engine keeps a connection longer than its client."""


class Client(Spec):
    """A client of engines."""

    idle_seconds: int
    """Time in seconds for which the client keeps an idle connection."""
    source: str
    date: date
    """Day on which the source was read."""


class _Table(Spec):
    clients: dict[str, Client]


def keep_alive_seconds(client: str | None) -> int:
    """Return the time in seconds for which an engine keeps an idle connection of the client.

    For a client that the table does not have, the longest time of the table counts.
    """
    clients = tables.read(_Table, "variant/connections.yaml").clients
    known = [clients[client]] if client in clients else clients.values()
    return max(entry.idle_seconds for entry in known) + _MARGIN
