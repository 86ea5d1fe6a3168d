"""Weights: their sources and sizes, the claims that store them, and the containers and Jobs that fetch them."""

from planning.weights.rules import fills, problems, variant_problems

__all__ = ["fills", "problems", "variant_problems"]
