"""Command `render`: prints the objects of a stack in the order of registration.

The same inputs always give the same bytes. The YAML output has a header of comments (`release`, `facts`,
`objects`) and one document for each object. The JSON output is one document in ASCII with the keys `release`,
`factsDigest` (null if the facts are unknown) and `objects`.
"""

import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from cli import stackfile, stackname
from composition import Composition, Given, LockFile, Refusal, compose
from facts import facts_file, platform_file
from models.platform import Outputs
from models.problems import Problem, warnings
from planning.ground import yaml_text
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.marks import StackName


def render(
    file_or_stack: str, facts_path: str | None, name: str | None = None, platform_path: str | None = None
) -> str:
    """Return the rendered stack as YAML. Its header states the release, the digest of the facts and the object count.

    `facts_path` is the path of a file with the facts of a cluster; if it is None, the facts count as unknown. `name` is
    `project/stack`; if it is None, `Pulumi.yaml` names the project, and the stack file names the stack. `platform_path`
    is the path of a file with the outputs of the platform. Raises `ConfigError` with all mistakes of the user.
    """
    composition = _composition(file_or_stack, facts_path, name, platform_path)
    manifests = [rendered.manifest for rendered in composition.objects]
    facts = composition.facts_digest or "none"
    header = f"# release: {composition.plan.release}\n# facts: {facts}\n# objects: {len(manifests)}\n"
    documents = [yaml_text.with_blocks(manifest) for manifest in manifests]
    return header + "".join(f"---\n{document}" for document in documents)


def render_json(
    file_or_stack: str, facts_path: str | None, name: str | None = None, platform_path: str | None = None
) -> str:
    """Return the rendered stack as one JSON document.

    `facts_path` is the path of a file with the facts of a cluster; if it is None, the facts count as unknown. `name` is
    `project/stack`; if it is None, `Pulumi.yaml` names the project, and the stack file names the stack. `platform_path`
    is the path of a file with the outputs of the platform. Raises `ConfigError` with all mistakes of the user.
    """
    composition = _composition(file_or_stack, facts_path, name, platform_path)
    document = {
        "release": composition.plan.release,
        "factsDigest": composition.facts_digest,
        "objects": [rendered.manifest for rendered in composition.objects],
    }
    return json.dumps(document, indent=2) + "\n"


def _composition(
    file_or_stack: str, facts_path: str | None, name: str | None, platform_path: str | None
) -> Composition:
    facts = NOTHING_READ if facts_path is None else facts_file.from_option(facts_path, "--facts")
    file = stackfile.locate(file_or_stack)
    content = stackfile.parse(file)
    platform = None if platform_path is None else platform_file.read(Path(platform_path))
    composition = content.apply(partial(_compose, facts, stackname.of(file, name), platform))
    if facts_path is not None:
        _warn(composition.waits.warnings)
    return composition


def _compose(facts: ClusterFacts, name: StackName, platform: Outputs | None, tree: object) -> Composition:
    """Compose a stack and print its warnings. Raises `ConfigError` if the stack is refused."""
    composition = compose(tree, Given(facts), name, platform=platform, lock=LockFile(Path.cwd()))
    _warn((*composition.source_warnings, *composition.plan_warnings))
    if isinstance(composition, Refusal):
        raise composition.error
    return composition


def _warn(problems: Iterable[Problem]) -> None:
    for problem in warnings(problems):
        sys.stderr.write(f"warning: {problem}\n")
