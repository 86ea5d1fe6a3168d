"""Commands of `python -m cli`.

Exit codes: 0 for success, 1 for a cluster that cannot be read and for findings of `lint`, 2 for a mistake in the
configuration or the command and for a file that `lint` cannot read, 3 for a mistake of this program.
"""

import argparse
import gc
import sys

from cli import affected, lint, reference, schema
from cli.render import render, render_json
from composition import defects
from facts import cluster
from models.problems import ConfigError
from planning.ground.cluster_facts import Unknown


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    before, separator, after = _split(arguments)
    options = _parser().parse_args(before)
    if separator and options.command != "lint":
        options = _parser().parse_args(arguments)
    try:
        match options.command:
            case "render":
                write = render_json if options.json else render
                sys.stdout.write(write(options.stack, options.facts, options.name, options.platform))
            case "facts":
                return _print_facts(options.context)
            case "lint":
                return lint.run(options.file, options.release, options.app_protocol, after)
            case "affected":
                sys.stdout.writelines(f"{stack}\n" for stack in affected.since(options.ref))
            case "reference":
                sys.stdout.write(reference.text())
            case _:
                sys.stdout.write(schema.text(options.kind))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001, no user should see a traceback
        print(f"{defects.HEADLINE}:", *defects.lines(error), sep="\n  ", file=sys.stderr)
        return 3
    return 0


def _split(arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    """Return the arguments before `--`, whether it is there, and those after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], at < len(arguments), arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cli", description="The plan of a stack, without the engine.")
    commands = parser.add_subparsers(dest="command", required=True)
    render_options = commands.add_parser(
        "render", help="print the objects of a stack as YAML, in the order of registration"
    )
    render_options.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    render_options.add_argument(
        "--as", dest="name", metavar="PROJECT/STACK", help="name of the stack; absent: Pulumi.yaml's and the file's"
    )
    render_options.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    render_options.add_argument(
        "--platform",
        metavar="FILE",
        help="outputs of the platform's stack, as `pulumi stack output --json` prints them",
    )
    render_options.add_argument(
        "--json", action="store_true", help="print one JSON document: release, factsDigest, objects"
    )
    facts_options = commands.add_parser("facts", help="print the facts of the kubeconfig's cluster as JSON")
    facts_options.add_argument("--context", help="context of the kubeconfig; its current one if absent")
    lint_options = commands.add_parser(
        "lint",
        help="judge the configuration of an endpoint picker, as the picker of a release does",
        epilog="Arguments after -- are the picker's command line, which is judged, too.",
    )
    lint_options.add_argument("file", nargs="?", metavar="FILE", help="an EndpointPickerConfig; none for the default")
    lint_options.add_argument("--release", required=True, metavar="R", help="the release, such as llm-d-0.10")
    lint_options.add_argument(
        "--app-protocol", metavar="P", help="appProtocol of the pool; its parsers are judged by it"
    )
    schema_options = commands.add_parser("schema", help="print the JSON schema of a kind of file")
    schema_options.add_argument("kind", nargs="?", choices=schema.KINDS, default="stack", help="absent: a stack file")
    affected_options = commands.add_parser("affected", help="print the stacks that a change of files touches")
    affected_options.add_argument(
        "--since", dest="ref", metavar="REF", required=True, help="the commit before the change, such as origin/main"
    )
    commands.add_parser("reference", help="print the page of every configuration word")
    return parser


def _print_facts(context: str | None) -> int:
    """Print the facts of a live cluster and return the exit code: 1 if the cluster cannot be read."""
    facts = cluster.read_all(cluster.Access(None, context))
    for name in ("apis", "gateways", "routes", "bundles"):
        part = getattr(facts, name)
        if isinstance(part, Unknown):
            print(f"{name}: {part.reason}", file=sys.stderr)
    if isinstance(facts.apis, Unknown):
        return 1
    sys.stdout.write(cluster.to_json(facts))
    return 0


# All objects that a command makes stay in use until it ends. Garbage collection would examine them again and again,
# which takes half of the time.
gc.disable()
sys.exit(main(sys.argv[1:]))
