"""Names of release channels whose meaning has changed: a stack stays on its channel until the user chooses another."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from models.paths import Path
from models.problems import Problem, warning
from models.stack import Stack
from models.trees import at, mapping, sequence
from planning.ground.cluster_facts import Unknown
from planning.ground.instances import MAIN, Instance
from planning.ground.recorded import Recorded
from planning.releases import channel, engine_versions, present_name
from planning.releases.lines import line_has

CHOICE = "meaning"
"""Word in `allow` with which a run takes a name in its present meaning."""
_PATH = Path("release")


class Interpretation(NamedTuple):
    """A stack whose name of a channel means what it meant when the stack was deployed, and problems of the name."""

    stack: Stack
    problems: tuple[Problem, ...]


def interpret(stack: Stack, state: Callable[[], Recorded | Unknown], instance: Instance = MAIN) -> Interpretation:
    """Return the stack with the channel that runs, and a warning if the written name means another release today.

    Only the name in the stack's `release` can be old: services could not name channels when the names changed. An
    error if Pulumi's state could not be read, because the channel that runs is then unknown.
    """
    name = stack.release
    former = present_name(name)
    if former == name or CHOICE in stack.allow:
        return Interpretation(stack, ())
    recorded = state()
    if isinstance(recorded, Unknown):
        return Interpretation(stack, (_unknown_meaning(name, former, recorded.reason),))
    if not _runs(former, recorded, instance):
        return Interpretation(stack, ())
    return Interpretation(stack.model_copy(update={"release": former}), (_former_meaning(name, former),))


def takes_present_meaning(stack: Stack, recorded: Recorded, instance: Instance = MAIN) -> bool:
    """Tell whether a word in `allow` gives the name of the stack's channel its present meaning in this run."""
    former = present_name(stack.release)
    return former != stack.release and CHOICE in stack.allow and _runs(former, recorded, instance)


def _runs(former: str, recorded: Recorded, instance: Instance) -> bool:
    """Tell whether an inference stack was deployed with a former channel.

    A run that did not end may leave no record of its channel. Then the images of the pickers show the channel.
    """
    if instance.name in recorded.releases:
        return recorded.releases[instance.name] == former
    objects = (item for item in recorded.objects if item.identity.name.startswith(instance.prefix))
    images = (image for item in objects for image in _images(item.content))
    return any(line_has(channel(former), image) for image in images)


def _images(workload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the images of the containers of a Deployment."""
    pod = at(workload, "spec", "template", "spec", "containers")
    for container in sequence(pod):
        image = mapping(container).get("image")
        if isinstance(image, str):
            yield image


def _unknown_meaning(name: str, former: str, reason: str) -> Problem:
    what = f"may have meant {_contents(former)} when this stack was deployed ({name}): {reason}"
    remedy = f"write release: {former} to keep what runs, or allow: [{CHOICE}]"
    return Problem(_PATH, what, remedy, (_PATH,))


def _former_meaning(name: str, former: str) -> Problem:
    what = f"meant {_contents(former)} when this stack was deployed, and the stack keeps that ({name})"
    remedy = f"write release: {former} to keep it; or write allow: [{CHOICE}] for one run, to get {_contents(name)}"
    return warning(_PATH, what, remedy)


def _contents(name: str) -> str:
    """Return the software of a channel, such as `llm-d-router v0.10.0 with vLLM 0.21.0`."""
    images = channel(name).images
    router = images.picker.ref.partition("@")[0].rpartition("/")[2].replace("-endpoint-picker:", " ")
    engine = engine_versions.of_image(images.engine["nvidia"].ref, "nvidia", channel(name))
    return f"{router} with vLLM {engine.number}"
