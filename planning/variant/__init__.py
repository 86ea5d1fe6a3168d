"""A service or its canary, with everything that decisions about it read."""

from planning.variant.context import Contexts, RoleContext, Subject, VariantContext, resolve, subjects
from planning.variant.rules import problems, warnings

__all__ = [
    "Contexts",
    "RoleContext",
    "Subject",
    "VariantContext",
    "problems",
    "resolve",
    "subjects",
    "warnings",
]
