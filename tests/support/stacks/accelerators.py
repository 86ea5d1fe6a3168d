"""Accelerator classes for tests, and what a spread over their devices comes to."""

from models.accelerators import UserClass
from models.paths import Path
from models.role import Parallelism, Role
from planning.hardware import devices, rules
from planning.hardware.accelerators import classes

SHIPPED = classes({})


def user(**given_classes):
    return {name: UserClass.model_validate(given) for name, given in given_classes.items()}


def a_class(**given):
    return classes(user(own={"vendor": "nvidia"} | given))["own"]


def a_role(accelerator="own", memory=None, **parallelism):
    given = {"accelerator": accelerator, "parallelism": parallelism}
    return Role.model_validate(given | ({"acceleratorMemory": memory} if memory is not None else {}))


def layout(cls, memory=None, **parallelism):
    spec = Parallelism.model_validate(parallelism)
    return devices.layout(devices.spread_of(spec, memory, cls), spec, memory, cls)


def refused(cls, accelerator="own", memory=None, **parallelism):
    role = a_role(accelerator, memory, **parallelism)
    return list(map(str, layout_problems(Path("services", "qwen"), role, cls)))


def layout_problems(at, role, cls):
    return rules.layout_problems(at, role, cls, devices.spread_of(role.parallelism, role.accelerator_memory, cls))
