"""`render`: the objects of a stack in the order of their registration, byte for byte the same each time.

As YAML: a header of comments (`release`, `facts`, `objects`), then one document an object. As JSON, for programs: one
document with the keys `release`, `factsDigest` (null where no facts are known) and `objects`, in ASCII.
"""

import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, cast

import yaml

from cli import stackfile
from composition import Composition, Given, Refusal, compose
from facts import cluster
from models.problems import Problem, warnings
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts

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
    """Return the rendered stack as YAML, with a header that names release, facts and number of objects.

    Raises `ConfigError` with every mistake of the user.
    """
    composed = _composition(file_or_stack, facts_file)
    everything = [rendered.manifest for rendered in composed.objects]
    facts = composed.facts_digest or "none"
    header = f"# release: {composed.plan.release}\n# facts: {facts}\n# objects: {len(everything)}\n"
    documents = [yaml.dump(dict(manifest), Dumper=_Dumper, sort_keys=False, width=_WIDE) for manifest in everything]
    return header + "".join(f"---\n{document}" for document in documents)


def render_json(file_or_stack: str, facts_file: str | None) -> str:
    """Return the rendered stack as one JSON document.

    Raises `ConfigError` with every mistake of the user.
    """
    composed = _composition(file_or_stack, facts_file)
    document = {
        "release": composed.plan.release,
        "factsDigest": composed.facts_digest,
        "objects": [rendered.manifest for rendered in composed.objects],
    }
    return json.dumps(document, indent=2) + "\n"


def _composition(file_or_stack: str, facts_file: str | None) -> Composition:
    facts = NOTHING_READ if facts_file is None else cluster.from_file(Path(facts_file))
    composed = stackfile.parse(stackfile.locate(file_or_stack)).judged(partial(_composed, facts))
    if facts_file is not None:
        _warn(composed.waits.warnings)
    return composed


def _composed(facts: ClusterFacts, tree: object) -> Composition:
    composed = compose(tree, Given(facts))
    _warn((*composed.source_warnings, *composed.plan_warnings))
    if isinstance(composed, Refusal):
        raise composed.error
    return composed


def _warn(problems: Iterable[Problem]) -> None:
    for problem in warnings(problems):
        sys.stderr.write(f"warning: {problem}\n")
