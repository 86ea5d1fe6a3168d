"""Command `rights`: prints the Roles and the ClusterRole that suffice for a `Purpose`, such as previews of a stack."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from cli import named_stack
from composition import Composition
from judging import needs, rights
from judging.rights import Options, Purpose, Rights
from manifests import rbac
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from planning.ground import yaml_text

HELP = "print the Roles that suffice to preview, deploy, look at or compare a stack"
_NAMES: Mapping[Purpose, str] = {purpose: f"inference-stacks-{purpose}" for purpose in Purpose}
"""Name of the Roles and of the ClusterRole, by purpose."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    parser.add_argument("--for", dest="purpose", choices=list(Purpose), required=True, help="purpose of the rights")
    named_stack.add_surroundings(parser)
    parser.add_argument("--secrets", action="store_true", help="let a preview read Secrets, and hence their values")
    parser.add_argument("--dry-run", action="store_true", help="let a preview send dry runs, which need write rights")
    parser.add_argument("--logs", action="store_true", help="let a status read the logs of pods")
    parser.add_argument(
        "--certificates",
        action="append",
        default=[],
        metavar="SECRET",
        help="let a status read this Secret of the Gateway, and hence its private key; may be repeated",
    )


def run(options: Namespace) -> int:
    """Print one Role for each namespace and a ClusterRole, which together suffice for a purpose.

    Raises `ConfigError` with all mistakes of the user.
    """
    purpose = Purpose(options.purpose)
    _check(options, purpose)
    extent = Options(
        secrets=options.secrets,
        dry_run=options.dry_run,
        logs=options.logs,
        certificates=tuple(sorted({*options.certificates})),
    )
    required = of_composition(named_stack.of(options).compose(), purpose, extent)
    sys.stdout.writelines(f"---\n{yaml_text.with_blocks(manifest)}" for manifest in roles(required, purpose))
    return 0


def _check(options: Namespace, purpose: Purpose) -> None:
    """Refuse the options of a status for another purpose. Raises `ConfigError`."""
    asked = {"--logs": options.logs, "--certificates": options.certificates}
    problems = [
        Problem(
            ConfigPath(option), f"has no effect on the rights for a {purpose}", f"omit {option}, or use --for status"
        )
        for option, value in asked.items()
        if value and purpose is not Purpose.STATUS
    ]
    if problems:
        raise ConfigError(problems)


def of_composition(composition: Composition, purpose: Purpose, options: Options) -> Rights:
    """Return the rights that a user needs for a purpose with a composed stack."""
    rendered = composition.objects
    needed = needs.of(rendered, composition.plan)
    return rights.rights(purpose, rights.of_components(composition.components), needed, options)


def roles(required: Rights, purpose: Purpose) -> Iterable[Mapping[str, Any]]:
    """Yield the manifests of the Roles and of the ClusterRole."""
    name = _NAMES[purpose]
    for namespace, rules in required.rules.items():
        if namespace:
            yield rbac.role({"name": name, "namespace": namespace}, rules)
        else:
            yield rbac.cluster_role({"name": name}, rules)
