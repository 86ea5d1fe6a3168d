"""Observation of services: names of metrics, queries, recorded series, alerts, and counters of gates."""

from planning.observing.gate_counters import VariantCounters
from planning.observing.gate_counters import plan as gate_counters
from planning.observing.observed import ObservedVariant
from planning.observing.observing import Observing, plan

__all__ = ["ObservedVariant", "Observing", "VariantCounters", "gate_counters", "plan"]
