"""Command `upgrade`: rehearses another release channel, or another engine, for a stack.

The command composes the stack twice, as it is and as it would be. It reads neither a cluster nor Pulumi's state. If the
new channel refuses the stack, the command prints the mistakes, each with the words that replace it.
"""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from cli import named_stack
from composition import Composition
from judging.report import rehearsal
from judging.report.rehearsal import PlannedStack, Rehearsal, ServiceStep
from models import trees
from models.paths import Path
from models.problems import ConfigError, Problem, warnings
from models.stack import Stack
from planning.ground import turns
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.releases import (
    channel,
    former_channels,
    known_channels,
    offered_channels,
    present_name,
    repository_and_tag,
)
from planning.serving import Workload

HELP = "say what another release channel or engine would change, restart and need"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    named_stack.add_name(parser)
    named_stack.add_facts(parser)
    parser.add_argument("--to", required=True, metavar="CHANNEL", help="the release channel to rehearse")
    text = "the release channel that runs; absent: the one in the stack file"
    parser.add_argument("--from", dest="former", metavar="CHANNEL", help=text)
    text = "the version of vLLM to rehearse, such as 0.30.0; absent: the channel's"
    parser.add_argument("--engine", metavar="VERSION", help=text)


def run(options: Namespace) -> int:
    """Print the rehearsal, and return the exit code. Raises `ConfigError` with all mistakes of the user."""
    _check_names(options)
    stack = named_stack.of(options)
    old = stack.compose(lambda tree: _with_channel(tree, options.former))
    new = stack.compose(lambda tree: _with_release(tree, old.plan, options.to, options.engine))
    rehearsed = rehearsal.rehearse(_planned_stack(old), _planned_stack(new))
    sys.stdout.writelines(f"{line}\n" for line in lines(rehearsed, new.stack, old.plan.release))
    former = present_name(old.plan.release)
    if former != old.plan.release:
        print(f"if an earlier version of this program deployed the stack, {former} runs: add --from {former}")
    return 0


def lines(rehearsed: Rehearsal, stack: Stack, former: str) -> Iterator[str]:
    """Yield the lines that describe an upgrade of a stack. `former` is its channel before the upgrade."""
    restarting = [step.service for step in rehearsed.restarting]
    if not restarting:
        yield "no pod restarts"
    else:
        yield f"{len(restarting)} of {len(rehearsed.services)} services restart{_order(restarting, stack)}"
    for step in rehearsed.services:
        yield from _service_lines(step)
    for problem in warnings(rehearsed.warnings):
        yield f"warning: {problem}"
    way_back = "the commit before"
    if former in former_channels():
        way_back = f"release: {former}"
    yield f"way back: {way_back}; a claim that a run has replaced does not come back"


def _order(restarting: list[str], stack: Stack) -> str:
    """Return the order of restarts as the end of a sentence."""
    order = turns.of(restarting, stack.upgrades)
    if not order.at_once:
        return ", all in one run (upgrades.atOnce limits them)"
    return f", {order.at_once} at a time: {', '.join(order.services)}"


def _service_lines(step: ServiceStep) -> Iterator[str]:
    yield f"{step.service}: {' → '.join(step.channels)}, vLLM {' → '.join(step.engines)}"
    for workload in step.workloads:
        edited = "".join(f" ({edit})" for edit in workload.edits)
        yield f"  {workload.kind} {workload.namespace}/{workload.name}: {workload.text}{edited}"
    if step.devices.high:
        yield f"  devices beside those that run: {step.devices}"
    if step.cache is not None:
        yield f"  KV cache: {step.cache.fate}: {step.cache.words}"
    for problem in step.warnings:
        yield f"  warning: {problem}"


def _check_names(options: Namespace) -> None:
    """Raise `ConfigError` if an option names no channel or no version."""
    named = {"--to": options.to, "--from": options.former}
    unknown = [
        Problem(Path(option), f"is no release channel ({name})", f"choose one: {', '.join(offered_channels())}")
        for option, name in named.items()
        if name is not None and name not in known_channels()
    ]
    if options.engine is not None and re.fullmatch(r"v?\d+\.\d+\.\d+", options.engine) is None:
        unknown.append(Problem(Path("--engine"), f"is no version ({options.engine})", "write one, such as 0.30.0"))
    if unknown:
        raise ConfigError(unknown)


def _with_channel(tree: object, name: str | None) -> object:
    """Return a configuration with another channel of the stack, or the configuration itself if `name` is None."""
    words = trees.mapping(tree)
    if name is None or not words:
        return tree
    return {**words, "release": name}


def _with_release(tree: object, plan: StackPlan, name: str, engine: str | None) -> object:
    """Return a configuration in which all variants have a channel, and their engines a version."""
    words = trees.mapping(tree)
    services = dict(trees.mapping(words.get("services")))
    for service in plan.services:
        services[service.key] = _service_words(trees.mapping(services.get(service.key)), service, name, engine)
    return {**words, "release": name, "services": services}


def _service_words(
    written: Mapping[str, Any], service: ServicePlan, name: str, engine: str | None
) -> Mapping[str, Any]:
    """Return the words of a service with another channel, where it sets one, and another engine."""
    words = dict(written)
    if service.primary.has_own_release:
        words["release"] = name
    if engine is not None:
        words = _with_engine(words, service.primary, name, engine)
    if service.canary is not None and service.canary.has_own_release:
        words["canary"] = {**trees.mapping(words.get("canary")), "release": name}
    return words


def _with_engine(words: Mapping[str, Any], variant: VariantPlan, name: str, version: str) -> dict[str, Any]:
    """Return the words of a service with the images of a version of vLLM: its own, and those of its sets of pods."""
    image = _engine_image(variant.destinations[0], name, version)
    with_image = {**words, "engine": {**trees.mapping(words.get("engine")), "image": image}}
    if not variant.is_divided:
        return with_image
    section = trees.mapping(words.get("decode"))
    sets = dict(trees.mapping(section.get("sets")))
    for workload in variant.destinations:
        pods = trees.mapping(sets.get(workload.set_name))
        image = _engine_image(workload, name, version)
        sets[workload.set_name] = {**pods, "engine": {**trees.mapping(pods.get("engine")), "image": image}}
    return {**with_image, "decode": {**section, "sets": sets}}


def _engine_image(workload: Workload, name: str, version: str) -> str:
    """Return the image of a version of vLLM, from the repository of the channel's image for the pods' devices."""
    images = channel(name).images.engine
    default = (images.get(workload.accelerator.vendor) or images["nvidia"]).ref
    repository = default.partition("@")[0].removesuffix(f":{repository_and_tag(default)[1]}")
    return f"{repository}:v{version.removeprefix('v')}"


def _planned_stack(composition: Composition) -> PlannedStack:
    return PlannedStack(composition.stack, composition.plan, composition.objects)
