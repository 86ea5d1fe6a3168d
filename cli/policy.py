"""Command `policy`: judges a stack, or rendered objects of any program, by the rules of the policy pack.

The rules are those of the folder `policy`, which the engine runs by `--policy-pack`. The output has a line for each
violation, and for each question that a rule cannot answer.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import yaml

from cli import named_stack
from facts import regular_files
from facts.regular_files import LARGEST_YAML, UnreadableError
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from policy.rules import contracts, judging, settings
from policy.rules.records import DeployedObject, View
from policy.rules.settings import ConfiguredRule, SettingsError

HELP = "judge a stack or rendered objects by the rules of the policy pack"
VIOLATED = 1
"""Exit code if a mandatory rule is violated."""
_RENDERED = "--rendered"
_CONFIG = "--config"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser, nargs="?")
    named_stack.add_name(parser)
    named_stack.add_facts(parser)
    text = "judge the objects of a file in YAML or JSON instead of a stack; - for standard input"
    parser.add_argument(_RENDERED, metavar="FILE", help=text)
    config = "levels and parameters of rules in JSON, as pulumi takes them by --policy-pack-config"
    parser.add_argument(_CONFIG, metavar="FILE", help=config)


def run(options: Namespace) -> int:
    """Print the verdicts, and return the exit code: `VIOLATED` if a mandatory rule is violated, else 0.

    Raises `ConfigError` for a stack with mistakes, for a file that cannot be read, and if the command names both a
    stack and a file with rendered objects, or neither.
    """
    rules = _rules(options.config)
    if (options.stack is None) == (options.rendered is None):
        what = "judges a stack or the objects of a file, and needs one of them"
        raise ConfigError([Problem(ConfigPath("policy"), what, f"name a stack, or a file by {_RENDERED}")])
    if options.rendered is None:
        view = _view_of_stack(options)
    else:
        view = View(tuple(_objects(options.rendered)))
    verdicts = list(judging.judge(view, rules))
    for verdict in verdicts:
        print(f"{verdict.level} {verdict}")
    refusals = sum(verdict.is_refusal for verdict in verdicts)
    if refusals:
        print(f"{refusals} of {len(verdicts)} verdicts refuse the stack", file=sys.stderr)
        return VIOLATED
    return 0


def _rules(config: str | None) -> tuple[ConfiguredRule, ...]:
    text = "{}"
    if config is not None:
        text = _text(config, _CONFIG)
    try:
        return settings.read(text)
    except SettingsError as error:
        remedy = "policy/README.md lists rules and parameters"
        raise ConfigError([Problem(ConfigPath(_CONFIG), line, remedy) for line in str(error).splitlines()]) from None


def _view_of_stack(options: Namespace) -> View:
    composition = named_stack.of(options).compose()
    objects = tuple(DeployedObject(rendered.manifest) for rendered in composition.objects)
    return View(objects, (contracts.read(composition.contract),))


def _objects(file: str) -> Iterator[DeployedObject]:
    """Yield the objects of a file: documents of YAML, Lists, or the document that `render --json` prints."""
    try:
        documents = list(yaml.load_all(_text(file, _RENDERED), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        what = f"is neither YAML nor JSON ({type(error).__name__})"
        raise ConfigError([Problem(ConfigPath(_RENDERED), what, "name a file with objects of Kubernetes")]) from None
    for index, document in enumerate(documents):
        yield from _of_document(document, ConfigPath(_RENDERED) / index)


def _of_document(document: object, at: ConfigPath) -> Iterator[DeployedObject]:
    if document is None:
        return
    tree = cast("dict[str, Any]", document if isinstance(document, dict) else {})
    items = tree.get("objects", tree.get("items"))
    if isinstance(items, list) and "spec" not in tree:
        for index, item in enumerate(cast("list[object]", items)):
            yield from _of_document(item, at / index)
        return
    if not isinstance(tree.get("kind"), str) or not isinstance(tree.get("metadata"), dict):
        what = "is no object of Kubernetes"
        raise ConfigError([Problem(at, what, "write apiVersion, kind and metadata, as cli render prints them")])
    yield DeployedObject(tree)


def _text(file: str, option: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return regular_files.text(Path(file), LARGEST_YAML, pipe=True)
    except UnreadableError as error:
        raise ConfigError([Problem(ConfigPath(option), str(error), error.remedy or "name a file in UTF-8")]) from error
