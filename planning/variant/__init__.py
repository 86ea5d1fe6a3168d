"""Variants of services: the primary and the canary, with the contexts that rules and plans read."""

from planning.variant.context import (
    ConfiguredVariant,
    Contexts,
    RoleContext,
    RoleId,
    RoleSpecAt,
    VariantContext,
    VariantId,
    configured_variants,
    resolve,
)
from planning.variant.rules import judge

__all__ = [
    "ConfiguredVariant",
    "Contexts",
    "RoleContext",
    "RoleId",
    "RoleSpecAt",
    "VariantContext",
    "VariantId",
    "configured_variants",
    "judge",
    "resolve",
]
