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
    return devices.layout(Parallelism.model_validate(parallelism), memory, cls)


def refused(cls, accelerator="own", memory=None, **parallelism):
    return [
        str(problem)
        for problem in rules.layout_problems(Path("services", "qwen"), a_role(accelerator, memory, **parallelism), cls)
    ]
