"""Network of a variant: flows between pods, the policies that allow only these flows, and the scraping of metrics."""

from planning.network.policies import plan
from planning.network.rules import problems, variant_problems, warnings

__all__ = ["plan", "problems", "variant_problems", "warnings"]
