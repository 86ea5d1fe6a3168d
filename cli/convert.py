"""Command `convert`: prints the configuration that files of other systems mean, and what of them is lost.

The configuration goes to standard output, with a comment at each key that differs. Notes go to standard error, the
worst first. The exit code is 0 if nothing is lost or asked for, and 1 if something is. What is printed loads and plans:
values that this program refuses are commented out, each with the reason.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import live, trial
from cli.live import LiveDocuments
from cli.trial import Tried
from facts import regular_files
from facts.kubeconfig import KubeAccess
from facts.regular_files import LARGEST_YAML, UnreadableError
from migration import assembly, contract, conversion, files, notes, printing
from migration.assembly import Assembled
from migration.contract import RenderingComparison
from migration.conversion import Conversion
from migration.fields import Fate
from migration.files import RawDocument
from migration.notes import Note
from migration.pairing import ServiceFiles
from models import credentials
from models.engine_yaml import mistake
from models.paths import Path as ConfigPath
from models.printable import printable
from models.trees import at, mapping
from planning.ground import names
from planning.ground.names import PRIMARY

HELP = "print the configuration that files of other systems mean, and what of them is lost"
LOST = 1
"""Exit code if something cannot be carried, or is asked for."""
_STDIN = "-"
_DEFAULT_NAMESPACE = "default"
_NO_NAMESPACE = "no file names a namespace; name it after --namespace"
_NAMELESS = f"it names no namespace, and gets {_DEFAULT_NAMESPACE}; name it after --namespace"
_WRITTEN = "configuration"
"""Name of the printed configuration in notes."""


@dataclass(frozen=True, slots=True)
class PrintedConfiguration:
    """The text of a configuration, and the notes about the files that it is from."""

    text: str
    notes: tuple[Note, ...]
    """All notes, the worst first."""
    counts: dict[Fate, int]
    """Number of fields with each fate."""
    objects: tuple[Mapping[str, Any], ...]
    """Objects that the configuration makes."""
    origins: tuple[ServiceFiles, ...]
    """The documents that each service is from."""

    @property
    def is_whole(self) -> bool:
        """Tell whether nothing is lost and nothing is asked for."""
        return not any(note.fate in {"cannot", "ask"} for note in self.notes)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = f"Kinds: {', '.join(kind.rpartition('/')[2] for kind in conversion.kinds())}."
    parser.add_argument("files", nargs="+", metavar="FILE", help="files with objects or Helm values; -: standard input")
    names = conversion.chart_names()
    text = f"source of files without a kind, such as Helm values: {', '.join(names) or 'none is known'}"
    parser.add_argument("--from", dest="origin", choices=names or None, metavar="SOURCE", help=text)
    text = "files with what the others refer to"
    parser.add_argument("--with", dest="companions", nargs="+", action="extend", default=[], metavar="FILE", help=text)
    text = "namespace of services whose files name none"
    parser.add_argument("-n", "--namespace", metavar="NAME", help=text)
    text = "write the configuration to a new file; -: standard output"
    parser.add_argument("-o", "--output", metavar="FILE", help=text)
    text = "objects that the other system renders: list the differences of what serves from those of this program"
    parser.add_argument("--compare", metavar="RENDERED", help=text)
    text = (
        "read from the kubeconfig's cluster what the files do not say: objects that they refer to, and running digests"
    )
    parser.add_argument("--live", action="store_true", help=text)
    parser.add_argument("--context", help="context of the kubeconfig for --live; its current one if absent")
    text = "print the Roles that --live needs for these files, and nothing else; no cluster is read"
    parser.add_argument("--rights", action="store_true", help=text)
    parser.add_argument("--notes", action="store_true", help="print notes about all fields, carried and dropped too")


def run(options: Namespace) -> int:
    """Print the configuration and the notes, or the Roles, and return the exit code."""
    _check(options)
    sources = _documents(options.files)
    companions = _documents(options.companions)
    namespace = options.namespace or _DEFAULT_NAMESPACE
    if options.rights:
        _print("".join(live.roles(sources, companions, options.origin, namespace)), options.output)
        return 0
    documents = LiveDocuments(sources, companions)
    if options.live:
        documents = live.complete(sources, companions, options.origin, KubeAccess(None, options.context), namespace)
    if documents.taken:
        text = f"read from {live.CLUSTER}: {', '.join(documents.taken)}"
        sys.stderr.write(f"{printable(credentials.hide(text))}\n")
    result = convert(documents.sources, documents.companions, options.origin, options.namespace, documents.notes)
    _print(result.text, options.output)
    for note in result.notes:
        if options.notes or notes.is_loud(note):
            sys.stderr.write(f"{note}\n")
    hint = " (--notes lists them)"
    if options.notes:
        hint = ""
    sys.stderr.write(f"{notes.summary(result.counts)}{hint}\n")
    is_alike = options.compare is None or _compare(result, _documents([options.compare]), options.notes)
    if result.is_whole and is_alike:
        return 0
    return LOST


def _check(options: Namespace) -> None:
    """Raise `ConfigError` if options contradict each other."""
    if options.context is not None and not options.live:
        raise mistake("--context", "has no effect without --live", "add --live, or omit --context")
    if [*options.files, *options.companions, options.compare].count(_STDIN) > 1:
        raise mistake(_STDIN, "is named twice, and standard input can be read once", "name it once")


def compare(result: PrintedConfiguration, theirs: Iterable[RawDocument]) -> RenderingComparison:
    """Compare the objects of a configuration with those that other systems render."""
    return contract.compare(result.objects, [raw.tree for raw in theirs], result.origins)


def _compare(result: PrintedConfiguration, theirs: Iterable[RawDocument], shows_announced: bool) -> bool:  # noqa: FBT001
    """Print the differences between two renderings, and return whether all of them are announced."""
    comparison = compare(result, theirs)
    for difference in comparison.differences:
        if shows_announced or difference.reason is None:
            sys.stderr.write(f"{printable(str(difference))}\n")
    for workload in comparison.without_engine:
        sys.stderr.write(f"{printable(str(workload))} is not compared, because it has no engine\n")
    if comparison.other_kinds:
        kinds = ", ".join(f"{number} {kind}" for kind, number in comparison.other_kinds.items())
        sys.stderr.write(f"not compared, because they have no pods: {printable(kinds)}\n")
    surprising = len(comparison.surprising)
    announced = len(comparison.differences) - surprising
    sys.stderr.write(f"{surprising} differences, and {announced} that are announced\n")
    return not surprising


def convert(
    sources: Sequence[RawDocument],
    companions: Sequence[RawDocument] = (),
    origin: str | None = None,
    namespace: str | None = None,
    of_cluster: Iterable[Note] = (),
) -> PrintedConfiguration:
    """Return the configuration that documents mean. The arguments are those of `conversion.convert`.

    `namespace` is the namespace of services whose documents name none. `of_cluster` are notes about what could not be
    read from a cluster. Raises `ConfigError` if no document is known.
    """
    converted = conversion.convert(sources, companions, origin)
    if not converted.services:
        raise _nothing_known(sources)
    further = [*of_cluster, *_name_namespaces(converted, namespace)]
    assembled = assembly.assemble(converted.services)
    trial_result = trial.run(assembled.tree)
    text = printing.text(trial_result.tree, (*assembled.notes, *further), trial_result.refused)
    all_notes = [*_notes(converted), *assembled.notes, *further, *_refusals(trial_result)]
    return PrintedConfiguration(
        text,
        tuple(notes.by_weight(all_notes)),
        _counts(converted, all_notes),
        trial_result.objects,
        tuple(_origins(converted, assembled, trial_result.tree)),
    )


def _name_namespaces(converted: Conversion, namespace: str | None) -> Iterator[Note]:
    """Give services whose documents name no namespace the one of the option, or else the default one with a note."""
    nameless = [service for service in converted.services if not service.stack.get("namespace")]
    for service in nameless:
        rest = {key: value for key, value in service.stack.items() if key != "namespace"}
        service.stack = {"namespace": namespace or _DEFAULT_NAMESPACE, **rest}
    if not nameless or namespace:
        return
    if len(nameless) == len(converted.services):
        yield Note(_WRITTEN, ConfigPath(), "differs", _NO_NAMESPACE, ConfigPath("namespace"))
        return
    yield from (Note(service.documents[0].file, ConfigPath(), "differs", _NAMELESS) for service in nameless)


def _origins(converted: Conversion, assembled: Assembled, tree: Mapping[str, Any]) -> Iterator[ServiceFiles]:
    """Yield the documents of each service that the accepted configuration has."""
    for key, service in zip(assembled.keys, converted.services, strict=True):
        entry = mapping(at(tree, "services", key))
        variants = {PRIMARY: service, **service.variants}
        originals = {variant: other.documents[0] for variant, other in variants.items()}
        namespace = str(entry.get("namespace", tree.get("namespace", "")))
        name = names.names(namespace, str(entry.get("name", key))).service
        yield ServiceFiles(key, name, namespace, service.source, originals)


def _documents(paths: Iterable[str]) -> list[RawDocument]:
    return [document for path in paths for document in files.documents(_text(path), path)]


def _text(path: str) -> str:
    """Return the text of a file, or of standard input. Raises `ConfigError` if it cannot be read."""
    if path == _STDIN:
        return _standard_input()
    try:
        return regular_files.text(Path(path), LARGEST_YAML, pipe=True)
    except UnreadableError as error:
        raise mistake(path, str(error), error.remedy or "name a file with objects or with Helm values") from None


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.closed:  # pyright: ignore[reportUnnecessaryComparison], a shell can close it
        raise mistake(_STDIN, "is closed", "pipe objects into the command, or name files")
    content = sys.stdin.buffer.read(LARGEST_YAML + 1)
    if len(content) > LARGEST_YAML:
        raise mistake(_STDIN, f"is larger than {LARGEST_YAML // 2**20} MiB", "convert fewer objects")
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise mistake(_STDIN, "is not UTF-8", "write UTF-8") from None


def _print(text: str, file: str | None) -> None:
    """Write a text to a file, or to standard output if there is none."""
    if file is None or file == _STDIN:
        sys.stdout.write(text)
    else:
        _write(Path(file), text)


def _write(path: Path, text: str) -> None:
    """Write a text to a new file, or to a device or a pipe that is there. Raises `ConfigError` if it cannot."""
    try:
        if path.is_file():
            raise mistake(str(path), "exists already", "name another file after -o, or remove it")
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is no path"
        raise mistake(str(path), f"cannot be written ({reason})", "name another file after -o") from None


def _nothing_known(sources: Iterable[RawDocument]) -> Exception:
    known = ", ".join(kind.rpartition("/")[2] for kind in conversion.kinds())
    remedy = f"name files with {known}"
    charts = conversion.chart_names()
    if charts:
        remedy = f"{remedy}, or files without a kind with --from ({', '.join(charts)})"
    return mistake(", ".join(dict.fromkeys(source.file for source in sources)), "has no object of a known kind", remedy)


def _notes(converted: Conversion) -> list[Note]:
    """Return the notes about documents that no service is from, and about unknown documents."""
    of_services = {id(document) for service in converted.services for document in service.all_documents}
    others = [document for document in converted.documents if id(document) not in of_services]
    return [*(note for document in others for note in document.notes()), *converted.strangers]


def _refusals(trial_result: Tried) -> list[Note]:
    """Return the notes about values that the configuration refuses."""
    refused = [Note(_WRITTEN, value.path, "cannot", value.reason) for value in trial_result.refused if value.reason]
    return refused + [
        Note(_WRITTEN, path, "cannot", "holds a credential in clear") for path in trial_result.credentials
    ]


def _counts(converted: Conversion, all_notes: Iterable[Note]) -> dict[Fate, int]:
    """Return the number of fields with each fate; questions and refusals about no field count, too."""
    counts = Counter[Fate](fate for document in converted.documents for fate in document.fates().values())
    beside = [note for document in converted.documents for note in document.notes_beside_leaves() if note.path]
    counts.update(note.fate for note in beside)
    counts.update(note.fate for note in all_notes if not note.path or note.file == _WRITTEN)
    return dict(counts)
