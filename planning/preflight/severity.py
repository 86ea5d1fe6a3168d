"""Severity of what a cluster lacks."""

from collections.abc import Mapping
from typing import Literal

Mode = Literal["strict", "warn", "skip"]
"""Value of `checks.preflight`."""
SEVERITIES: Mapping[Mode, Literal["error", "warning"]] = {"strict": "error", "warn": "warning", "skip": "warning"}
"""Severity of what only a person can change."""
