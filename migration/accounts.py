"""Documents whose leaves are all accounted for: each leaf ends as carried, differing, dropped, lost or asked for.

A reader takes leaves. What becomes of a leaf is what its row in the table of fields says, unless the reader noted
something else. A leaf that nobody took although its row is carried, and a leaf without a row, is lost, and a note says
so. A reader never sees a credential: its place has `HIDDEN`.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from migration.fields import Fate, FieldRow, FieldTable
from migration.notes import Note
from migration.running import Running
from models import cleartext, credentials
from models.paths import Path
from models.trees import EMPTY, mapping, sequence

HIDDEN = "<hidden credential>"
"""Text in place of a credential. It is not like any value of a file, and no check takes it for a credential."""
_IN_CLEAR = "it holds a credential in clear; put it into an existing Secret, and refer to the Secret"
_KEY_IN_CLEAR = "one of its keys is a credential in clear; remove it"
_UNKNOWN = "this program does not know the field"
_ACTION = "{{"
_UNFILLED = "it has an action of Go's templates whose value is not known here; write the value"
_UNREAD = "this program has no key for the value"
_NOUNS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


class Original:
    """One document of a file, and what becomes of its leaves.

    A leaf is a value that is no mapping and no list, or an empty mapping or list.
    """

    def __init__(self, file: str, tree: Mapping[str, Any], table: FieldTable, running: Running = EMPTY) -> None:
        self.file = file
        """Name of the file in notes, with the name of the object if the file has several."""
        self.table = table
        self.running = running
        """Digests that run of the images of the document; empty if no pods are known."""
        self.unversioned = set[str]()
        """Images without a version that the reader has met."""
        self._tree, hidden = without_credentials(tree)
        self._keys_in_clear = tuple(_holders_of_credential_keys(tree))
        self._taken = set[Path]()
        self._noted = dict[Path, Note]()
        self._keys = dict[Path, Path]()
        self._remarks = list[Note]()
        self._note_credentials(hidden)

    @property
    def kind(self) -> str:
        """Return the kind of the object as `group/Kind`; empty if the document is no object."""
        return kind_of(self._tree)

    @property
    def name(self) -> str:
        """Return the name of the object; empty if it has none."""
        name = self.peek(Path("metadata", "name"))
        if isinstance(name, str):
            return name
        return ""

    @property
    def namespace(self) -> str:
        """Return the namespace of the object; empty if it has none."""
        namespace = self.peek(Path("metadata", "namespace"))
        if isinstance(namespace, str):
            return namespace
        return ""

    def peek(self, path: Path) -> object:
        """Return the value at a path, or None. Nothing counts as taken."""
        value: object = self._tree
        for part in path:
            if isinstance(part, int):
                items = sequence(value)
                value = None
                if part < len(items):
                    value = items[part]
            else:
                value = mapping(value).get(part)
        return value

    def has(self, path: Path) -> bool:
        """Tell whether there is a value at a path. null is none."""
        return self.peek(path) is not None

    def keys(self, path: Path) -> tuple[str, ...]:
        """Return the keys of the mapping at a path, in their order."""
        return tuple(mapping(self.peek(path)))

    def items(self, path: Path) -> Iterator[Path]:
        """Yield the paths of the items of the list at a path."""
        for index in range(len(sequence(self.peek(path)))):
            yield path / index

    def take(self, path: Path, key: Path | None = None) -> Any:  # noqa: ANN401, any value of YAML
        """Return the value at a path, or None. All leaves below it count as taken.

        `key` is the path in the configuration that gets the value.
        """
        self._taken.add(path)
        if key is not None:
            self._keys[path] = key
        return copy.deepcopy(self.peek(path))

    def text(self, path: Path, key: Path | None = None) -> str | None:
        """Take a text. Returns None, with a note, if the value is something else."""
        return self._take(path, str, key)

    def number(self, path: Path, key: Path | None = None) -> int | None:
        """Take a whole number. Returns None, with a note, if the value is something else."""
        return self._take(path, int, key)

    def switch(self, path: Path, key: Path | None = None) -> bool | None:
        """Take true or false. Returns None, with a note, if the value is something else."""
        return self._take(path, bool, key)

    def texts(self, path: Path, key: Path | None = None) -> list[str]:
        """Take a list of texts. Items that are something else are left out, with a note."""
        self._take_container(path, list, key)
        texts = (self.text(item) for item in self.items(path))
        return [text for text in texts if text is not None]

    def entries(self, path: Path, key: Path | None = None) -> dict[str, str]:
        """Take a mapping of texts. Values that are something else are left out, with a note."""
        self._take_container(path, dict, key)
        texts = {name: self.text(path / name) for name in self.keys(path)}
        return {name: text for name, text in texts.items() if text is not None}

    def _take(self, path: Path, kind: type[Any], key: Path | None) -> Any:  # noqa: ANN401, the kind is an argument
        value = self.peek(path)
        if value is None or self.is_hidden(path):
            return None
        if type(value) is not kind:
            self.note(path, "cannot", f"it is not {_NOUNS[kind]}")
            return None
        return self.take(path, key)

    def _take_container(self, path: Path, kind: type[Any], key: Path | None) -> None:
        value = self.peek(path)
        if value is not None and not isinstance(value, kind):
            self.note(path, "cannot", f"it is not {_NOUNS[kind]}")
        elif not value:
            self._taken.add(path)
        if key is not None:
            self._keys[path] = key

    def note(self, path: Path, fate: Fate, reason: str = "", key: Path | None = None) -> None:
        """Note what becomes of the value at a path and of everything below it. The first note about a path counts.

        Without a reason, the reason is that of the row. `key` is the path in the configuration beside which the note
        stands as a comment.
        """
        row = self.table.row(path)
        if not reason and row is not None:
            reason = row.reason_of(fate)
        self._noted.setdefault(path, Note(self.file, path, fate, reason, key))

    def remark(self, fate: Fate, reason: str, key: Path | None = None) -> None:
        """Add a note about the whole document. It decides about no leaf."""
        self._remarks.append(Note(self.file, Path(), fate, reason, key))

    def replace(self, tree: Mapping[str, Any]) -> None:
        """Replace the content, such as by one into which other documents are merged. Notes and takes stay."""
        self._tree, hidden = without_credentials(tree)
        self._note_credentials(hidden)

    def ask_about_actions(self) -> None:
        """Ask about values that are used, and have actions of Go's templates that nothing has filled."""
        for leaf in all_leaves(self._tree):
            value = self.peek(leaf)
            if not isinstance(value, str) or _ACTION not in value:
                continue
            note = self._account(leaf)
            if note.fate in {"carried", "differs"}:
                self._noted.setdefault(leaf, Note(self.file, leaf, "ask", _UNFILLED, note.key))

    def take_presence(self, path: Path) -> None:
        """Take an empty mapping or list, whose presence has a meaning."""
        if self.peek(path) in ({}, []):
            self._taken.add(path)

    def drop(self, path: Path, reason: str = "") -> None:
        """Note that the value at a path means nothing here. Nothing is noted about a value that is absent."""
        if self.has(path):
            self.note(path, "dropped", reason)

    def is_hidden(self, path: Path) -> bool:
        """Tell whether a text at a path is a credential, or has one."""
        value = self.peek(path)
        return isinstance(value, str) and HIDDEN in value

    def fates(self) -> dict[Path, Fate]:
        """Return what becomes of each leaf."""
        return {path: note.fate for path, note in self._accounts()}

    def notes(self) -> list[Note]:
        """Return the notes about all leaves, without repetitions. A note about several leaves has their common path."""
        notes = [note for _, note in self._accounts()]
        return list(dict.fromkeys([*notes, *self.notes_beside_leaves(), *self._remarks]))

    def notes_beside_leaves(self) -> list[Note]:
        """Return the notes about paths that are no leaves: absent fields, parts of texts, and keys that are removed."""
        removed = [
            Note(self.file, holder, "cannot", _KEY_IN_CLEAR)
            for holder in self._keys_in_clear
            if not self._is_dropped(holder)
        ]
        return [*self._loose_notes(), *removed]

    def _loose_notes(self) -> Iterator[Note]:
        """Yield the notes about paths that have no leaf: those about fields that are absent."""
        ways = {Path(*leaf[:length]) for leaf in all_leaves(self._tree) for length in range(len(leaf) + 1)}
        for path, note in self._noted.items():
            if path not in ways:
                yield note

    def _accounts(self) -> Iterator[tuple[Path, Note]]:
        for leaf in all_leaves(self._tree):
            yield leaf, self._account(leaf)

    def _account(self, leaf: Path) -> Note:
        """Return the note about one leaf."""
        above = [Path(*leaf[:length]) for length in range(len(leaf), -1, -1)]
        row = self.table.row(leaf)
        noted = next((self._noted[path] for path in above if path in self._noted), None)
        if noted is not None and (row is not None or self._is_beginning_of_rows(leaf)):
            return noted
        taken = next((path for path in above if path in self._taken), None)
        if taken is None:
            return self._untaken(leaf, row)
        if row is None:
            return Note(self.file, leaf, "carried", "its presence")
        if row.fate == "differs":
            return Note(self.file, self._noted_place(leaf, row), "differs", row.reason, self._keys.get(taken))
        return Note(self.file, leaf, "carried", row.key)

    def _untaken(self, leaf: Path, row: FieldRow | None) -> Note:
        """Return the note about a leaf that the reader neither took nor noted."""
        is_empty = self._is_empty(leaf)
        if row is None and not self._is_beginning_of_rows(leaf):
            return Note(self.file, leaf, "cannot", _UNKNOWN)
        if row is not None and row.fate in {"dropped", "cannot", "ask"}:
            return Note(self.file, self._noted_place(leaf, row), row.fate, row.reason)
        if is_empty:
            return Note(self.file, leaf, "dropped", "an empty value is the same as no value")
        return Note(self.file, leaf, "cannot", _UNREAD)

    def _is_empty(self, leaf: Path) -> bool:
        return isinstance(self.peek(leaf), dict | list) or self.peek(leaf) is None

    def _is_beginning_of_rows(self, leaf: Path) -> bool:
        """Tell whether a leaf is empty, and could hold fields that have rows."""
        return self._is_empty(leaf) and self.table.leads_to_rows(leaf)

    @staticmethod
    def _noted_place(leaf: Path, row: FieldRow) -> Path:
        """Return the path of a note: that of the row, so that one note is about all leaves below it."""
        return Path(*leaf[: len(row.parts)])

    def _note_credentials(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if not self._is_dropped(path):
                self.note(path, "cannot", _IN_CLEAR)

    def _is_dropped(self, path: Path) -> bool:
        row = self.table.row(path)
        return row is not None and row.fate == "dropped"


def without_credentials(tree: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Return a copy of a tree with `HIDDEN` in place of credentials, and the paths of these."""
    shown = copy.deepcopy(dict(tree))
    paths = tuple(_credential_places(shown))
    for path in paths:
        _replace(shown, path, _hidden(_at(shown, path)))
    return shown, paths


def _hidden(value: object) -> str:
    """Return the text in place of a credential. A flag keeps its name, so that the flag before it keeps its value."""
    if not isinstance(value, str) or not value.startswith("-"):
        return HIDDEN
    name, separator, _ = value.partition("=")
    if not separator or credentials.has_shape(name):
        return HIDDEN
    return f"{name}={HIDDEN}"


def _credential_places(tree: dict[str, Any]) -> Iterator[Path]:
    """Yield the paths of credentials. Keys that are credentials are removed first."""
    _remove_credential_keys(tree)
    for path in cleartext.paths_in_settings(tree):
        value = _at(tree, path)
        if isinstance(value, Mapping) and "value" in value:
            yield path / "value"
        elif path:
            yield path


def _holders_of_credential_keys(value: object, at: Path = Path()) -> Iterator[Path]:  # noqa: B008, paths are immutable
    """Yield the paths of mappings with a key that is a credential, but for mappings below such a key."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        shown = {key: inner for key, inner in entries.items() if not credentials.has_shape(str(key))}
        if len(shown) < len(entries):
            yield at
        for key, inner in shown.items():
            yield from _holders_of_credential_keys(inner, at / key)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _holders_of_credential_keys(inner, at / index)


def _remove_credential_keys(value: object) -> None:
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        for key in [key for key in entries if credentials.has_shape(str(key))]:
            del entries[key]
        for inner in entries.values():
            _remove_credential_keys(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            _remove_credential_keys(inner)


def _at(tree: object, path: Iterable[str | int]) -> object:
    for part in path:
        tree = sequence(tree)[part] if isinstance(part, int) else mapping(tree).get(part)
    return tree


def _replace(tree: object, path: Path, value: object) -> None:
    holder = cast("Any", _at(tree, path.parent))
    holder[path[-1]] = value


def all_leaves(value: object, at: Path = Path()) -> Iterator[Path]:  # noqa: B008, paths are immutable
    """Yield the path of every value that is no mapping and no list, and of every empty mapping and list."""
    if isinstance(value, Mapping) and value:
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield from all_leaves(inner, at / key)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from all_leaves(inner, at / index)
    elif at:
        yield at


def kind_of(tree: object) -> str:
    """Return the kind of an object as `group/Kind`, without a version; empty if a value is no object."""
    kind = mapping(tree).get("kind")
    version = mapping(tree).get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        return ""
    return f"{version.rpartition('/')[0]}/{kind}"
