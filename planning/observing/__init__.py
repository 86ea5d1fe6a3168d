"""Observation of services: names of metrics, queries, recorded series and alerts."""

from planning.observing.observed import ObservedVariant
from planning.observing.observing import Observing, plan

__all__ = ["ObservedVariant", "Observing", "plan"]
