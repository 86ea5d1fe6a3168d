"""Mutants: files of users with random changes, small and hostile ones, the same for a seed."""

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tests.support.stacks.hostile import CREDENTIALS

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_NESTED: list[Any] = []
for _ in range(90):
    _NESTED = [_NESTED]
VALUES: Sequence[Any] = (
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, 2**64, 1e308, 1e-320, 0.1, 1.5, 10**40),
    *(
        "",
        " ",
        "a",
        "x" * 5000,
        "a b",
        "\n",
        "a\nb\n",
        "\t",
        "é",
        "\u2028",
        "\x85",
        "\u202e",
        "\x7f",
        "🙂",
        "\\",
        "'",
        '"',
    ),
    *("0", "012", "0o17", "1e3", "y", "no", "~", "<<", "=", "1:30", "2026-01-01", ".inf", "-1", "1Gi", "1m", "9" * 400),
    *("$(A)", "$$(", "$(" * 50, "{{ .x }}", "%s", "%", "*", "&a", "!x", "a: b", "- a", "# a", "---", "...", "[", "{}"),
    *(
        "../..",
        "/dev/zero",
        "/proc/self/environ",
        "../../../../../dev/zero",
        ".",
        "a/",
        "//",
        "http://[",
        "http://h:99999",
    ),
    *(
        "hf://",
        "hf://a/b@c",
        "s3://b/x",
        "kit://r/x:y",
        "image://r.example/a/b:v1",
        "pvc://a/b",
        "ftp://a",
        "a@b",
        "a:b:c",
    ),
    *({}, [], [[]], [None], [{}], {"": ""}, {"type": "x"}, {"name": None}, _NESTED, [1] * 500, {"a": {"a": {"a": {}}}}),
    *("llm-d-0.6", "llm-d-0.10", "nvidia", "istio", "qwen", "live", "file", "skip", "strict", "custom"),
)
"""Values that take the place of others."""
SNIPPETS = (
    *(
        "\0",
        "\t",
        "\r",
        "\ufeff",
        "\x1b[2J",
        "\u2028",
        "[" * 300,
        "{" * 300,
        "- " * 300,
        '"\\ud800"',
        '"\\ud83d\\ude00"',
    ),
    *(
        "&a [*a]",
        "*x",
        "!!binary x",
        "!x ",
        "? ",
        ": ",
        "- ",
        "#",
        "|",
        ">",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        ",",
        "\n",
        "\n  ",
    ),
    *(
        "%YAML 1.1\n---\n",
        "\n---\n",
        "\n...\n",
        "<<: *a",
        "a: &a {<<: *a}",
        "\\",
        '{"a": 1e999, "a": NaN}',
        "null",
        "0o17",
    ),
    "\n" + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else 'x'] * 9)}]\n" for n in range(9)),
)
"""Texts that are put anywhere into a file."""
_TEXTUAL = 0.2
"""Share of the mutants whose text is changed, and not only their values."""


@dataclass(frozen=True)
class Mutant:
    """A file with changes."""

    text: str
    has_credential: bool
    """Whether a credential was put into the file as a whole."""


def mutant(original: str, seed: str, repair: Callable[[Any], Any] = lambda tree: tree, *, as_json: bool) -> Mutant:
    """Return a mutant of a file. `repair` makes a changed tree consistent, such as its checksums."""
    chance = random.Random(seed)
    tree = yaml.load(original, LOADER)
    credential = chance.choice(CREDENTIALS) if chance.random() < 0.3 else None
    for index in range(chance.choice((1, 1, 1, 2, 3))):
        tree = _changed(tree, chance, credential if index == 0 else None)
    tree = repair(tree) if chance.random() < 0.9 else tree
    text = json.dumps(tree) if as_json else yaml.dump(tree, Dumper=DUMPER, sort_keys=False, allow_unicode=True)
    # A torn credential is none that anybody could recognize.
    if credential is None and chance.random() < _TEXTUAL:
        text = _torn(text, chance)
    return Mutant(text, credential is not None)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree: its mapping or list, and its key or index."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _changed(tree: Any, chance: random.Random, credential: str | None) -> Any:
    """Return a tree with one change. A credential becomes a value or a key."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree)) if isinstance(tree, dict | list) else []
    if not places or (credential is None and chance.random() < 0.02):
        return chance.choice(VALUES)
    holder, key = chance.choice(places)
    if credential is not None and isinstance(holder, dict) and chance.random() < 0.2:
        holder[credential] = holder.pop(key)
    elif credential is not None:
        holder[key] = credential
    else:
        chance.choice(CHANGES)(holder, key, chance, places)
    return tree


def _replace(holder: Any, key: Any, chance: random.Random, _: Any) -> None:
    holder[key] = copy.deepcopy(chance.choice(VALUES))


def _remove(holder: Any, key: Any, _: random.Random, _places: Any) -> None:
    del holder[key]


def _rename(holder: Any, key: Any, chance: random.Random, _: Any) -> None:
    if isinstance(holder, dict):
        name = chance.choice([value for value in VALUES if isinstance(value, str)])
        holder[chance.choice((name, f"{key}x", str(key)[:-1], str(key).upper()))] = holder.pop(key)


def _add(holder: Any, _key: Any, chance: random.Random, _: Any) -> None:
    value = copy.deepcopy(chance.choice(VALUES))
    if isinstance(holder, list):
        holder.insert(chance.randint(0, len(holder)), value)
    else:
        holder[str(chance.choice(VALUES))[:50]] = value


def _graft(holder: Any, key: Any, chance: random.Random, places: Any) -> None:
    other, name = chance.choice(places)
    if name in other if isinstance(other, dict) else name < len(other):
        holder[key] = copy.deepcopy(other[name])


def _wrap(holder: Any, key: Any, chance: random.Random, _: Any) -> None:
    holder[key] = chance.choice(([holder[key]], {"a": holder[key]}, [holder[key]] * 3, str(holder[key])))


CHANGES = (_replace, _replace, _replace, _remove, _rename, _add, _graft, _wrap)


def _torn(text: str, chance: random.Random) -> str:
    """Return a text with a piece that is gone, put in or written twice."""
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice((1, 3, 20, 400)))
    return chance.choice(
        (
            text[:start] + text[end:],
            text[:start] + chance.choice(SNIPPETS) + text[start:],
            text[:start] + text[start:end] * 2 + text[end:],
            text[:start],
        )
    )
