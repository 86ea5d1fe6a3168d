"""Notes: what becomes of the fields of a file, in sentences for its owner."""

from collections.abc import Iterable
from dataclasses import dataclass

from migration.fields import FATES, LOUD, Fate
from models import credentials
from models.paths import Path
from models.printable import printable

_BEGINNINGS: dict[Fate, str] = {
    "cannot": "cannot be carried: ",
    "ask": "",
    "differs": "differs: ",
    "carried": "carried as ",
    "dropped": "dropped: ",
}
_COUNTED: dict[Fate, str] = {
    "cannot": "cannot be carried",
    "ask": "to answer",
    "differs": "{differ}",
    "carried": "carried",
    "dropped": "dropped",
}


@dataclass(frozen=True, slots=True)
class Note:
    """Fate of a field of a file."""

    file: str
    """Name of the file, with the name of the object if the file has several."""
    path: Path
    """Path of the field in the file; empty for the whole document."""
    fate: Fate
    reason: str
    """End of the sentence. It has no value of the file that may be a credential."""
    key: Path | None = None
    """Path of the value in the configuration beside which the note stands as a comment; None if there is none."""

    def __str__(self) -> str:
        place = self.file
        if self.path:
            place = f"{place} {self.path}"
        return printable(credentials.hide(f"{place}: {self.sentence}"))

    @property
    def sentence(self) -> str:
        """Return the note without its place."""
        return printable(credentials.hide(f"{_BEGINNINGS[self.fate]}{self.reason}"))


def is_loud(note: Note) -> bool:
    """Tell whether a user is told a note without asking for all of them."""
    return note.fate in LOUD


def by_weight(notes: Iterable[Note]) -> list[Note]:
    """Return notes without repetitions, the worst first. Notes of one fate keep their order."""
    return sorted(dict.fromkeys(notes), key=lambda note: FATES.index(note.fate))


def summary(counts: dict[Fate, int]) -> str:
    """Return a line with the number of fields of each fate: `1 cannot be carried, 2 differ, 14 carried`."""
    texts = list[str]()
    for fate in FATES:
        number = counts.get(fate, 0)
        verb = "differ"
        if number == 1:
            verb = "differs"
        if number:
            texts.append(f"{number} {_COUNTED[fate].format(differ=verb)}")
    return ", ".join(texts) or "nothing to carry"
