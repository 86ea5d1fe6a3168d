"""Network of a variant: flows between pods, the policies that allow only these flows, and the scraping of metrics."""

from planning.network.interceptor import of_interceptor
from planning.network.policies import plan
from planning.network.rules import problems, variant_problems, warnings

__all__ = ["of_interceptor", "plan", "problems", "variant_problems", "warnings"]
