"""Metering: the interceptor, its contract with routes and Services, and settings without effect on metered requests."""

from planning.interceptor import grants
from planning.interceptor.grants import InterceptorGrant
from planning.interceptor.records import OWNER, InterceptorPlan, plan
from planning.interceptor.rules import judge, judge_plan, judge_service

__all__ = ["OWNER", "InterceptorGrant", "InterceptorPlan", "grants", "judge", "judge_plan", "judge_service", "plan"]
