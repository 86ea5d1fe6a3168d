"""Commands of `python -m cli`.

Exit codes: 0 for success, 2 for a mistake in the configuration or the command, 3 for a mistake of this program. The
exit code is 1 if a cluster cannot be read, if a forge refuses a comment, if `lint` has findings, if `lock` finds
sources that have moved or do not answer, and if `fit` finds roles that do not fit their devices. The exit code is 7 if
`summarize --drift` finds changed objects.
"""

import argparse
import os
import re
import sys

from cli import affected, diagram, explain, fit, lint, lock, profiles, reference, rights, schema, summarize
from cli.render import render, render_json
from composition import defects
from facts import cluster, facts_file, hosts
from judging.rights import Options, Purpose
from models.problems import ConfigError
from planning.ground.cluster_facts import PARTS, Unknown
from planning.ground.differences import differences


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    before, separator, after = _split(arguments)
    options = _parser().parse_args(before)
    if separator and options.command != "lint":
        options = _parser().parse_args(arguments)
    if getattr(options, "offline", False):
        os.environ[hosts.OFFLINE] = "true"
    try:
        return _run(options, after)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001, no user should see a traceback
        print(f"{defects.HEADLINE}:", *defects.lines(error), sep="\n  ", file=sys.stderr)
        return 3


def _run(options: argparse.Namespace, after: list[str]) -> int:
    """Run the command of parsed options, and return its exit code. `after` are the arguments after `--`."""
    match options.command:
        case "render":
            write = render_json if options.json else render
            sys.stdout.write(write(options.stack, options.facts, options.name, options.platform))
        case "facts" | "summarize" | "comment" | "lock" | "explain" | "fit":
            return _HANDLERS[options.command](options)
        case "lint":
            return lint.run(options.file, options.release, options.app_protocol, after)
        case "affected":
            sys.stdout.writelines(f"{stack}\n" for stack in affected.since(options.ref))
        case "rights":
            options_of = Options(secrets=options.secrets, dry_run=options.dry_run)
            sys.stdout.write(rights.text(options.stack, Purpose(options.purpose), options_of, options.platform))
        case "reference":
            sys.stdout.write(profiles.text() if options.page == "profiles" else reference.text())
        case "diagram":
            sys.stdout.write(diagram.text(options.stack, options.platform))
        case _:
            sys.stdout.write(schema.text(options.kind))
    return 0


def _split(arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    """Return the arguments before `--`, whether there is a `--`, and the arguments after it."""
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
    facts_options.add_argument("--previewed", metavar="FILE", help="list the differences from these earlier facts")
    _add_lock(commands.add_parser("lock", help="write the lock of a stack, which pins the content of each source"))
    _add_fit(commands.add_parser("fit", help="print how much device memory models need"))
    _add_explain(
        commands.add_parser("explain", help="print the profile of each service, and the reasons against other profiles")
    )
    _add_rights(
        commands.add_parser("rights", help="print the Roles that suffice to preview, deploy or look at a stack")
    )
    _add_lint(
        commands.add_parser(
            "lint",
            help="judge the configuration of an endpoint picker by the rules of a release's picker",
            epilog="Arguments after -- are the picker's command line, which is judged, too.",
        )
    )
    schema_options = commands.add_parser("schema", help="print the JSON schema of a kind of file")
    schema_options.add_argument("kind", nargs="?", choices=schema.KINDS, default="stack", help="absent: a stack file")
    affected_options = commands.add_parser("affected", help="print the stacks that a change of files touches")
    affected_options.add_argument(
        "--since", dest="ref", metavar="REF", required=True, help="the commit before the change, such as origin/main"
    )
    _add_summarize(commands.add_parser("summarize", help="print a report on a run of the engine, from its event log"))
    _add_comment(commands.add_parser("comment", help="publish a report as a comment on a pull or merge request"))
    _add_diagram(commands.add_parser("diagram", help="print a stack as a Mermaid flowchart"))
    reference_options = commands.add_parser("reference", help="print a generated page of the documents")
    reference_options.add_argument(
        "page", nargs="?", choices=("words", "profiles"), default="words", help="absent: every configuration word"
    )
    return parser


def _add_lint(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `lint`."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="an EndpointPickerConfig; absent: the default")
    parser.add_argument("--release", required=True, metavar="R", help="the release, such as llm-d-0.10")
    parser.add_argument("--app-protocol", metavar="P", help="the pool's appProtocol; parsers must accept it")


def _add_render(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `render`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    parser.add_argument(
        "--as", dest="name", metavar="PROJECT/STACK", help="name of the stack; absent: from Pulumi.yaml and the file"
    )
    parser.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    _add_surroundings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document: release, factsDigest, objects")


def _add_lock(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `lock`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    parser.add_argument(
        "--as", dest="name", metavar="PROJECT/STACK", help="name of the stack; absent: from Pulumi.yaml and the file"
    )
    parser.add_argument(
        "--update",
        metavar="SERVICE",
        action="append",
        default=[],
        help="a block of the lock to make anew: key of a service, caches.NAME or cluster",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; list sources that have moved, and end with 1 if there are any",
    )
    parser.add_argument(
        "--file", metavar="PATH", help="the lock that a program passes to InferenceStack; absent: the lock of the stack"
    )
    parser.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    _add_surroundings(parser)


def _add_diagram(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `diagram`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    _add_surroundings(parser)


def _add_fit(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `fit`."""
    parser.add_argument("stack", nargs="?", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    _add_surroundings(parser)
    model = "without a stack: the name of a public model, or the path of a config.json"
    parser.add_argument("--model", metavar="NAME|FILE", help=model)
    parser.add_argument("--class", dest="accelerator", metavar="CLASS", help="class of the devices; absent: all")
    parser.add_argument("--size", type=_size, metavar="BYTES", help="bytes of the weights, such as 16Gi")
    parser.add_argument("--context", type=int, metavar="TOKENS", help="longest context; absent: that of the model")


def _size(text: str) -> str:
    """Return a number of bytes as a Kubernetes quantity. Raises `ValueError` if `text` is no number of bytes."""
    if re.fullmatch(r"[0-9]+(\.[0-9]{1,9})?([kKMGTP]i?)?", text) is None:
        raise ValueError(text)
    return text.replace("K", "k") if text.endswith("K") else text


def _fit(options: argparse.Namespace) -> int:
    """Print the table of a stack or of a model, and return the exit code: 1 if a role does not fit."""
    names = ("stack", "platform", "model", "accelerator", "size", "context")
    text, code = fit.run(fit.Options(**{name: getattr(options, name) for name in names}))
    sys.stdout.write(text)
    return code


def _add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `explain`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    parser.add_argument("service", metavar="SERVICE", nargs="?", help="key of a service; absent: all of them")
    parser.add_argument(
        "--as", dest="name", metavar="PROJECT/STACK", help="name of the stack; absent: from Pulumi.yaml and the file"
    )
    parser.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    _add_surroundings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document with all tables")


def _explain(options: argparse.Namespace) -> int:
    """Print tables of selections, and return the exit code."""
    request = explain.Options(
        options.stack, options.service, options.name, options.facts, options.platform, is_json=options.json
    )
    return explain.run(request)


def _lock(options: argparse.Namespace) -> int:
    """Write or check a lock, and return the exit code."""
    updated = tuple(options.update)
    inputs = (options.stack, options.name, updated, options.facts, options.platform)
    return lock.run(lock.Options(*inputs, is_check=options.check, file=options.file))


def _add_surroundings(parser: argparse.ArgumentParser) -> None:
    """Add the options about what is outside of a stack: outputs of its platform, and servers."""
    text = "outputs of the platform's stack, as `pulumi stack output --json` prints them"
    parser.add_argument("--platform", metavar="FILE", help=text)
    offline = f"contact nobody, and say what went unchecked; {hosts.OFFLINE}=true says the same"
    parser.add_argument("--offline", action="store_true", help=offline)


def _add_rights(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `rights`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    parser.add_argument("--for", dest="purpose", choices=list(Purpose), required=True, help="purpose of the rights")
    _add_surroundings(parser)
    parser.add_argument("--secrets", action="store_true", help="let a preview read Secrets, and hence their values")
    parser.add_argument("--dry-run", action="store_true", help="let a preview send dry runs, which need write rights")


def _add_summarize(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `summarize`."""
    parser.add_argument("stack", metavar="FILE|STACK", help="a stack file, or the name of a stack")
    log = "the file that `pulumi preview --event-log FILE` wrote; - for standard input"
    parser.add_argument("--events", dest="log", metavar="FILE", required=True, help=log)
    parser.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    _add_surroundings(parser)
    parser.add_argument("--format", choices=summarize.FORMATS, default="markdown", help="absent: markdown")
    drift = "report changes that a refresh found; the exit code is 7 if there are any"
    parser.add_argument("--drift", action="store_true", help=drift)


def _add_comment(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `comment`."""
    parser.add_argument("file", metavar="FILE", help="the report, as `summarize` prints it")
    parser.add_argument("--environment", metavar="NAME", required=True, help="name of the environment, such as prod")


def _comment(options: argparse.Namespace) -> int:
    """Publish a report and return the exit code: 0, or 1 if the forge refuses it."""
    from cli import comment  # noqa: PLC0415, it needs urllib, whose import is slow; other commands do not need urllib
    from cli.forges import ForgeError  # noqa: PLC0415, as above

    try:
        comment.run(options.environment, options.file, os.environ)
    except ForgeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _summarize(options: argparse.Namespace) -> int:
    """Print a report and return the exit code: 0, or 7 for drift."""
    chosen = summarize.Options(options.stack, options.log, options.facts, options.platform, options.format)
    text, code = summarize.drift_report(chosen) if options.drift else (summarize.report(chosen), 0)
    sys.stdout.write(text)
    return code


def _print_facts(options: argparse.Namespace) -> int:
    """Print the facts of a live cluster and return the exit code: 1 if the cluster cannot be read.

    Standard error gets the names of facts that could not be read, with reasons, and the differences from the facts of
    `--previewed`.
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


_HANDLERS = {
    "facts": _print_facts,
    "summarize": _summarize,
    "comment": _comment,
    "lock": _lock,
    "explain": _explain,
    "fit": _fit,
}
"""Functions that run a command and return its exit code, by name of the command."""
