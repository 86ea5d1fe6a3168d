"""Command `facts`: prints the facts of the kubeconfig's cluster as JSON."""

import sys
from argparse import ArgumentParser, Namespace

from facts import cluster, facts_file
from planning.ground.cluster_facts import PARTS, Unknown
from planning.ground.differences import differences

HELP = "print the facts of the kubeconfig's cluster as JSON"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--context", help="context of the kubeconfig; its current one if absent")
    parser.add_argument("--secrets", action="store_true", help="add the names of all Secrets")
    parser.add_argument("--previewed", metavar="FILE", help="list the differences from these earlier facts")


def run(options: Namespace) -> int:
    """Print the facts of a live cluster and return the exit code: 1 if the cluster cannot be read.

    Standard error gets the names of facts that could not be read, with reasons, and the differences from the facts of
    `--previewed`.
    """
    facts = cluster.read_all(cluster.KubeAccess(None, options.context), secrets=options.secrets)
    for name in ("apis", *PARTS):
        part = getattr(facts, name)
        if isinstance(part, Unknown) and (name != "secrets" or options.secrets):
            print(f"{name}: {part.reason}", file=sys.stderr)
    if isinstance(facts.apis, Unknown):
        return 1
    if options.previewed is not None:
        previewed = facts_file.from_option(options.previewed, "--previewed")
        print(*differences(previewed, facts), sep="\n", file=sys.stderr)
    sys.stdout.write(facts_file.text(facts))
    return 0
