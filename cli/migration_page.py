"""The page `docs/migration.md`: the fate of each field of other systems' files, generated from the tables."""

import re
import textwrap
from collections.abc import Iterator

from migration import conversion, fields
from migration.fields import FATES, Fate, FieldRow, FieldTable

_HEAD = """# Convert files of other systems

Generated from the tables of fields: `python -m cli reference migration > docs/migration.md`.

```bash
python -m cli convert chat.yaml -o Pulumi.prod.yaml                  # objects in files
kubectl get modelservices -A -o yaml | python -m cli convert -       # objects of a cluster, of one kind or several
helm get values chat -n ml -o yaml | python -m cli convert - --from llm-d-modelservice -n ml
python -m cli convert chat.yaml --live                               # with what the cluster knows beside the file
python -m cli convert chat.yaml --rights                             # the Roles that suffice for --live
python -m cli convert chat.yaml --with operator.yaml --notes         # with what they refer to, and every note
python -m cli convert chat.yaml --compare rendered.yaml              # with what the other system renders
```

The configuration goes to the standard output, with a comment at each key that differs. Notes go to the standard error,
the worst first: `FILE FIELD: what becomes of it`. Several documents become the services of one stack.
`-o` writes a new file, and never over one that is there.

- **Exit code** 0: nothing is lost, and nothing is asked for. 1: something is. 2: a file cannot be read.
- **The printed configuration loads and plans.** A value that this program refuses is commented out, with the reason.
- **Nothing prints a credential.** A value that is one is left out, with a note: put it into a Secret, and refer to it.
- **Fields of the API server** mean nothing: owners of fields, annotations of kubectl, identifiers. A status counts
  where it answers a question.
- **`--live`** reads the kubeconfig's cluster, within 15 seconds, and writes nothing. An image without a version gets
  the digest that the pods of its service run, and a note says which; several digests are a question. Objects that
  documents refer to and that no file has are read, and so is the status of objects. A note names each right that is
  missing. Without `--live`, an image without a version becomes the one of the release, with a question.
- **`--compare`** holds image, arguments, environment, devices, replicas, ports, probes and placement of the pods that
  serve against the objects of the other system. Differences that hold for every service are listed by `--notes`, with
  the reason. Any other difference is printed, and the exit code is 1. Services are told apart by the names or
  labels that the other system gives to their pods, and releases of a chart by their models. Pods without a counterpart
  are a difference, too. Endpoint pickers and objects without pods are listed, but not compared.

| Word | Fate of a field |
|---|---|
| carried | a key of this program has the same meaning |
| differs | a key has nearly the same meaning; a note says what differs |
| dropped | it means nothing here, because this program decides it itself; `--notes` says so |
| cannot | no key has its meaning, and a note says why |
| ask | the file does not hold all that a key needs; a note says what to give |

A field that no table has makes a note, too: it cannot be carried.
"""
_COMMON = "kubernetes"
_WIDTH = 120
"""Longest line of prose in characters."""


def text() -> str:
    """Return the page as it is committed."""
    lines = [_HEAD.rstrip("\n")]
    for table in tables():
        lines += _section(table)
    return "\n".join(lines) + "\n"


def tables() -> list[FieldTable]:
    """Return the tables of all readers, in the order of their sources, and last the table of every object."""
    names = dict[str, None]()
    for reader in conversion.READERS.values():
        names |= dict.fromkeys([*reader.TABLES.values(), *reader.COMPANIONS.values()])
    parts = dict.fromkeys(part for name in names for part in fields.table(name).parts.values())
    return [fields.table(name) for name in (*(names | parts), _COMMON)]


def _section(table: FieldTable) -> Iterator[str]:
    """Yield the lines about one table, without the rows that every object has."""
    yield ""
    yield f"## {table.title}"
    yield ""
    if table.source:
        yield from textwrap.wrap(f"{_numbers_text(table)} Read from {table.source}.", _WIDTH)
        yield ""
    for at, name in table.parts.items():
        yield f"- Below `{at}`: the fields of [{fields.table(name).title}](#{_anchor(fields.table(name).title)})."
    if table.parts:
        yield ""
    yield "| Field | | Key | Reason |"
    yield "|---|---|---|---|"
    for row in table.written_rows:
        yield _line(row)


def _anchor(title: str) -> str:
    """Return the URL fragment that forges give to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _numbers_text(table: FieldTable) -> str:
    numbers = {fate: sum(row.fate == fate for row in table.written_rows) for fate in FATES}
    texts = [f"{number} {fate}" for fate, number in numbers.items() if number]
    return f"{len(table.written_rows)} fields: {', '.join(texts)}."


def _line(row: FieldRow) -> str:
    key = ""
    if row.key:
        key = f"`{row.key}`"
    reasons = [_reason(row.fate, row.reason, "")]
    reasons += [_reason(other.fate, other.reason, other.when) for other in row.exceptions]
    shown = "; ".join(reason for reason in reasons if reason)
    return f"| `{row.path}` | {row.fate} | {key} | {_cell(shown)} |"


def _reason(fate: Fate, reason: str, when: str) -> str:
    if not when:
        return reason
    return f"{when}: {fate}, {reason}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
