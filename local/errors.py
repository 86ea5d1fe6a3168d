"""The error whose text is shown to the user.

Exception
└── LocalError    a failure that the user can act on
"""

from __future__ import annotations


class LocalError(Exception):
    """A failure that the user can act on; its text is shown without a traceback."""
