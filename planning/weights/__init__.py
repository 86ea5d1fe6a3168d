"""Weights: their sources and sizes, the claims that store them, and the containers and Jobs that fetch them."""

from planning.weights.claims import FillRequests, fill_requests
from planning.weights.rules import fills, judge, judge_variant

__all__ = ["FillRequests", "fill_requests", "fills", "judge", "judge_variant"]
