"""Weights: their sources and sizes, the claims that store them, and the containers and Jobs that fetch them."""

from planning.weights.pins import cache_warnings, variant_warnings
from planning.weights.rules import fills, problems, variant_problems

__all__ = ["cache_warnings", "fills", "problems", "variant_problems", "variant_warnings"]
