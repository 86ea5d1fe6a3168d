"""`render`: the objects of a stack as YAML, in the order of their registration, byte for byte the same each time."""

import sys
from functools import partial
from pathlib import Path
from typing import Any, cast

import yaml

import planning
from cli import stackfile
from facts import cluster
from facts import source_sizes as sizes
from manifests import validation
from manifests.assembly import objects
from manifests.assembly import render as render_stack
from manifests.objects import Rendered
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.plans import StackPlan
from planning.routes import acceptance as waits
from planning.routes.acceptance import Waits

_WIDE = 10_000
"""Long strings stay on one line, so that a diff shows the words that changed."""


class _Dumper(yaml.SafeDumper):
    """Block text for strings of several lines, and no anchors."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002, the signature is YAML's
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return cast("Any", dumper).represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def render(file_or_stack: str, facts_file: str | None) -> str:
    """Return the rendered stack with a header that names release, facts and number of objects.

    Raises `ConfigError` with every mistake of the user.
    """
    facts = NOTHING_READ if facts_file is None else cluster.from_file(Path(facts_file))
    plan, awaited, rendered = stackfile.parse(stackfile.locate(file_or_stack)).judged(partial(_rendered, facts))
    for warning in () if facts_file is None else awaited.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    everything = [one.manifest for one in rendered]
    digest = facts.digest((f"{one['apiVersion']}/{one['kind']}" for one in everything), awaited.gateways)
    header = f"# release: {plan.release}\n# facts: {digest or 'none'}\n# objects: {len(everything)}\n"
    documents = [yaml.dump(dict(one), Dumper=_Dumper, sort_keys=False, width=_WIDE) for one in everything]
    return header + "".join(f"---\n{document}" for document in documents)


def _rendered(facts: ClusterFacts, tree: object) -> tuple[StackPlan, Waits, list[Rendered]]:
    known, warnings = sizes.asked(load(tree))
    for warning in warnings:
        sys.stderr.write(f"warning: {warning}\n")
    plan = planning.plan(known)
    for warning in plan.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    awaited = waits.decide(plan.routes, facts.gateways)
    rendered = list(objects(render_stack(plan, awaited.routes)))
    validation.check(rendered)
    return plan, awaited, rendered
