"""The endpoint picker: the plan of its objects, the configuration that it reads, and the validation of both."""

from planning.picker.context import PickerContext, resolve
from planning.picker.deployment import Picker, plan
from planning.picker.rules import judge

__all__ = ["Picker", "PickerContext", "judge", "plan", "resolve"]
