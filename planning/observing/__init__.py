"""Observation of services: names of metrics, queries, recorded series, alerts, and counters of gates."""

from planning.observing.gate_counters import VariantCounters, counters
from planning.observing.observed import ObservedVariant
from planning.observing.observing import Observing, plan

__all__ = ["ObservedVariant", "Observing", "VariantCounters", "counters", "plan"]
