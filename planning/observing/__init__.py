"""Observation of services: names of metrics, queries, recorded series, alerts, and counters of gates."""

from planning.observing.gate_counters import VariantCounters, counters
from planning.observing.observed import ObservedVariant
from planning.observing.observing import Observing, plan
from planning.observing.rules import judge, judge_variant

__all__ = ["ObservedVariant", "Observing", "VariantCounters", "counters", "judge", "judge_variant", "plan"]
