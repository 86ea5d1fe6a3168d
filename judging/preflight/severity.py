"""Severity of problems with objects that a cluster lacks."""

from collections.abc import Mapping
from typing import Literal

Mode = Literal["strict", "warn", "skip"]
"""Value of `checks.preflight`."""
SEVERITIES: Mapping[Mode, Literal["error", "warning"]] = {"strict": "error", "warn": "warning", "skip": "warning"}
"""Severity, for each mode, of a problem that only a person can solve."""
