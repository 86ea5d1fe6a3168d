"""Variants of services: the primary and the canary, with the contexts that rules and plans read."""

from planning.variant.context import (
    ConfiguredVariant,
    Contexts,
    RoleContext,
    VariantContext,
    configured_variants,
    resolve,
)
from planning.variant.rules import problems, warnings

__all__ = [
    "ConfiguredVariant",
    "Contexts",
    "RoleContext",
    "VariantContext",
    "configured_variants",
    "problems",
    "resolve",
    "warnings",
]
