"""Services, what they become, and sound configurations: shared by the tests about the picker's configuration."""

import copy

import yaml

from models.load import load
from models.problems import ConfigError, errors
from models.service import Service
from planning import rules
from planning.resolve import resolve
from tests.support.stacks import SERVICE, lines, plan, tree, with_copies

AT = "services.qwen.endpointPicker"
SINGLE = {
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
    "schedulingProfiles": [
        {"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "max-score-picker"}]}
    ],
}


def service(**keys):
    return Service.model_validate(copy.deepcopy(SERVICE) | keys)


def planned(release="llm-d-0.10", **keys):
    """Return the picker of a service."""
    (service,) = plan(tree(qwen=keys) | {"release": release}).services
    return service.primary.picker


def warned(release="llm-d-0.10", **keys):
    """Return the warnings about a service."""
    return lines(plan(tree(qwen=keys) | {"release": release}).warnings, "warning")


def config(release="llm-d-0.10", **keys):
    return yaml.load(planned(release, **keys).config, yaml.CSafeLoader)


def said(release="llm-d-0.10", **keys):
    """Return what is wrong with a service, below its picker."""
    loaded = load(with_copies(tree(qwen=keys) | {"release": release}))
    try:
        loaded.finish(errors(judgement.problem for judgement in rules.judge(resolve(loaded.stack))))
    except ConfigError as error:
        return [str(problem).removeprefix(f"{AT}.") for problem in error.problems]
    return []


def custom(written, release="llm-d-0.10", **keys):
    return said(release, endpointPicker={"preset": "custom", "config": written}, **keys)


def single(*more, profile=(), **keys):
    """Return a sound configuration with further plugins, entries of its profile and sections."""
    written = copy.deepcopy(SINGLE) | keys
    written["plugins"] += more
    written["schedulingProfiles"][0]["plugins"][:0] = profile
    return written
