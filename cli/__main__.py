"""Commands of `python -m cli`.

Exit codes: 0 for success, 1 for a cluster that cannot be read and for findings of `lint`, 2 for a mistake in the
configuration or the command and for a file that `lint` cannot read, 3 for a mistake of this program.
"""

import argparse
import gc
import sys

from cli import affected, lint, reference, rights, schema
from cli.render import render, render_json
from composition import defects
from facts import cluster, facts_file
from models.problems import ConfigError
from planning.ground.cluster_facts import PARTS, Unknown
from planning.ground.differences import differences
from planning.rights import Options, Purpose


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
                return _print_facts(options)
            case "lint":
                return lint.run(options.file, options.release, options.app_protocol, after)
            case "affected":
                sys.stdout.writelines(f"{stack}\n" for stack in affected.since(options.ref))
            case "rights":
                options_of = Options(secrets=options.secrets, dry_run=options.dry_run)
                sys.stdout.write(rights.text(options.stack, Purpose(options.purpose), options_of, options.platform))
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
    _add_render(
        commands.add_parser("render", help="print the objects of a stack as YAML, in the order of registration")
    )
    facts_options = commands.add_parser("facts", help="print the facts of the kubeconfig's cluster as JSON")
    facts_options.add_argument("--context", help="context of the kubeconfig; its current one if absent")
    facts_options.add_argument("--secrets", action="store_true", help="add the names of all Secrets")
    facts_options.add_argument("--previewed", metavar="FILE", help="tell what differs from these earlier facts")
    _add_rights(
        commands.add_parser("rights", help="print the Roles that suffice to preview, deploy or look at a stack")
    )
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


def _add_render(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `render`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    parser.add_argument(
        "--as", dest="name", metavar="PROJECT/STACK", help="name of the stack; absent: Pulumi.yaml's and the file's"
    )
    parser.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    _add_platform(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document: release, factsDigest, objects")


def _add_platform(parser: argparse.ArgumentParser) -> None:
    text = "outputs of the platform's stack, as `pulumi stack output --json` prints them"
    parser.add_argument("--platform", metavar="FILE", help=text)


def _add_rights(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `rights`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    parser.add_argument("--for", dest="purpose", choices=list(Purpose), required=True, help="purpose of the rights")
    _add_platform(parser)
    parser.add_argument("--secrets", action="store_true", help="let a preview read Secrets, and hence their values")
    parser.add_argument("--dry-run", action="store_true", help="let a preview ask the API server, as only writers may")


def _print_facts(options: argparse.Namespace) -> int:
    """Print the facts of a live cluster and return the exit code: 1 if the cluster cannot be read.

    On standard error: what could not be read, and what differs from the facts of `--previewed`.
    """
    facts = cluster.read_all(cluster.Access(None, options.context), secrets=options.secrets)
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


# All objects that a command makes stay in use until it ends. Garbage collection would examine them again and again,
# which takes half of the time.
gc.disable()
sys.exit(main(sys.argv[1:]))
