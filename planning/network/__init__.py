"""Network of a variant: flows between pods, the policies that allow only these flows, and the scraping of metrics."""

from planning.network.interceptor import of_interceptor
from planning.network.policies import plan
from planning.network.rules import judge, judge_plan, judge_variant

__all__ = ["judge", "judge_plan", "judge_variant", "of_interceptor", "plan"]
