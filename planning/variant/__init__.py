"""Variants of services: the primary and the canary, with the contexts that rules and plans read."""

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
