"""Where weights lie, and how they come there."""

from planning.weights.rules import fills, problems, subject_problems

__all__ = ["fills", "problems", "subject_problems"]
