"""Metering: the interceptor, its contract with routes and Services, and settings without effect on metered requests."""

from planning.interceptor.grants import InterceptorGrant
from planning.interceptor.records import OWNER, InterceptorPlan, plan
from planning.interceptor.rules import problems, service_warnings, warnings

__all__ = ["OWNER", "InterceptorGrant", "InterceptorPlan", "plan", "problems", "service_warnings", "warnings"]
