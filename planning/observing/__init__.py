"""Observation of services: names of metrics, queries, recorded series and alerts."""

from planning.observing.observed import ObservedVariant
from planning.observing.observing import Observing, plan
from planning.observing.rules import judge, judge_variant

__all__ = ["ObservedVariant", "Observing", "judge", "judge_variant", "plan"]
