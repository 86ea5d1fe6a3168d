"""Command `render`: prints the objects of a stack in the order of registration.

The same inputs always give the same bytes. The YAML output has a header of comments (`release`, `facts`,
`objects`) and one document for each object. The JSON output is one document in ASCII with the keys `release`,
`factsDigest` (null if the facts are unknown) and `objects`. If the configuration sets release channels of services or
canaries, both name these channels by owner, such as `chat.canary`: the JSON output under `ownReleases`.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from cli import named_stack
from cli.named_stack import NamedStack, print_warnings
from composition import Composition
from facts import facts_file
from planning.ground import yaml_text

HELP = "print the objects of a stack as YAML, in the order of registration"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    named_stack.add_name(parser)
    named_stack.add_facts(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document: release, factsDigest, objects")


def run(options: Namespace) -> int:
    """Print the objects of a stack, and return the exit code."""
    stack = named_stack.of(options)
    if options.json:
        sys.stdout.write(json_text(stack))
    else:
        sys.stdout.write(text(stack))
    return 0


def text(stack: NamedStack) -> str:
    """Return the rendered stack as YAML. Its header states the release, the digest of the facts and the object count.

    Without facts of a cluster, the facts count as unknown. Prints the warnings of the stack. Raises `ConfigError` with
    all mistakes of the user.
    """
    composition = _composition(stack)
    manifests = [rendered.manifest for rendered in composition.objects]
    facts = composition.facts_digest or "none"
    others = "".join(f"# release of {owner}: {name}\n" for owner, name in composition.plan.own_releases.items())
    header = f"# release: {composition.plan.release}\n{others}# facts: {facts}\n# objects: {len(manifests)}\n"
    documents = [yaml_text.with_blocks(manifest) for manifest in manifests]
    return header + "".join(f"---\n{document}" for document in documents)


def json_text(stack: NamedStack) -> str:
    """Return the rendered stack as one JSON document. Warnings and mistakes are those of `text`."""
    composition = _composition(stack)
    plan = composition.plan
    document: dict[str, Any] = {"release": plan.release}
    if plan.own_releases:
        document["ownReleases"] = plan.own_releases
    document["factsDigest"] = composition.facts_digest
    document["objects"] = [rendered.manifest for rendered in composition.objects]
    return json.dumps(document, indent=2) + "\n"


def render_json(file_or_stack: str, facts: str | None = None, name: str | None = None) -> str:
    """Return what `render --json` prints, for programs in Python.

    `facts` is the path of a file with facts of the cluster, and `name` is `project/stack`. Prints warnings to standard
    error. Raises `ConfigError` with all mistakes of the user.
    """
    facts_of_cluster = None if facts is None else facts_file.from_option(facts, "--facts")
    return json_text(named_stack.read(file_or_stack, name, facts_of_cluster))


def _composition(stack: NamedStack) -> Composition:
    composition = stack.compose(report=print_warnings)
    if stack.facts is not None:
        print_warnings(composition.waits.warnings)
    return composition
