"""The one kind of failure that a user is told about in a sentence."""

from __future__ import annotations


class LocalError(Exception):
    """Something the user can act on; its text is shown as it is, without a traceback."""
