"""Command `rights`: prints the Roles and the ClusterRole that suffice for a `Purpose`, such as previews of a stack."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cli import stackfile, stackname
from composition import Composition, Given, LockFile, Refusal, compose
from facts import platform_file
from judging import giving, needs, rights
from judging.rights import Options, Purpose, Rights
from manifests import rbac
from models.platform import Outputs
from planning.ground import yaml_text
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.marks import StackName
from planning.routes import acceptance

_NAMES: Mapping[Purpose, str] = {purpose: f"inference-stacks-{purpose}" for purpose in Purpose}
"""Name of the Roles and of the ClusterRole, by purpose."""


def text(file_or_stack: str, purpose: Purpose, options: Options, platform_path: str | None = None) -> str:
    """Return the YAML of one Role for each namespace and of a ClusterRole, which together suffice for a purpose.

    `file_or_stack` is a stack file, or the name of a stack. `platform_path` is the path of a file with the outputs of
    the platform. Raises `ConfigError` with all mistakes of the user.
    """
    file = stackfile.locate(file_or_stack)
    platform = None if platform_path is None else platform_file.read(Path(platform_path))
    composition = stackfile.parse(file).apply(partial(_compose, stackname.of(file, None), platform))
    manifests = list(roles(of_composition(composition, purpose, options), purpose))
    return "".join(f"---\n{yaml_text.with_blocks(manifest)}" for manifest in manifests)


def of_composition(composition: Composition, purpose: Purpose, options: Options) -> Rights:
    """Return the rights that a user needs for a purpose with a composed stack."""
    rendered = composition.objects
    needed = needs.of(rendered, acceptance.gateways(composition.plan.routes))
    return rights.rights(purpose, giving.of_components(composition.components), needed, options)


def roles(found: Rights, purpose: Purpose) -> Iterable[Mapping[str, Any]]:
    """Yield the manifests of the Roles and of the ClusterRole."""
    for namespace, rules in found.rules.items():
        name = _NAMES[purpose]
        if namespace:
            yield rbac.role({"name": name, "namespace": namespace}, rules)
        else:
            yield rbac.cluster_role({"name": name}, rules)


def _compose(name: StackName, platform: Outputs | None, tree: object) -> Composition:
    composition = compose(tree, Given(NOTHING_READ), name, platform=platform, lock=LockFile(Path.cwd()))
    if isinstance(composition, Refusal):
        raise composition.error
    return composition
