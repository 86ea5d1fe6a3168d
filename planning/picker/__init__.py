"""The endpoint picker: the plan of its objects, the configuration that it reads, and the validation of both."""

from planning.picker.deployment import Picker, plan
from planning.picker.rules import problems

__all__ = ["Picker", "plan", "problems"]
