"""The endpoint picker: what is decided about it, the configuration it reads, and the mistakes in both."""

from planning.picker.deployment import Picker, plan
from planning.picker.rules import problems

__all__ = ["Picker", "plan", "problems"]
