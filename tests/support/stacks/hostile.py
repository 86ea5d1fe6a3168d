"""Stacks with hostile text in every text leaf of the schema. They are the same each time.

Some hold text that a leaf should refuse anywhere: credentials, URLs with passwords, text of the wrong shape. Others
hold text that the leaf's pattern takes, as hostile as it may be: very long, of several lines, not ASCII, or with a
meaning in YAML, in a shell, in templates or in format strings.
"""

import copy
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.stacks.leaves import Place, all_leaves, inherited, opened, places, reach, tried
from tests.support.stacks.varied import VARIED

BASES = {
    **VARIED,
    **{f"inherited-{name}": inherited(stack) for name, stack in VARIED.items()},
    **{f"tried-{name}": tried(stack) for name, stack in VARIED.items()},
}
SEED = 14
COUNT = 200
WRONG = 45
"""Stacks with text that should be refused; the others are to be accepted as far as other rules allow."""
NAMES_OF_STACKS = (*(f"wrong-{index}" for index in range(WRONG)), *(f"taken-{index}" for index in range(COUNT - WRONG)))
PASSWORD = "hunter2-Correct.Horse"
TOKENS = (
    "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",
    "sk-proj-Zk3xQ9vLm2Np8Rt5Yw7Bc1Df4Gh6Jk0S",
    "ghp_Zk3xQ9vLm2Np8Rt5Yw7Bc1Df4Gh6Jk0Sa2Xe",
    "AKIAZQ3DFV7KXMPL2RWT",
    "xoxb-2739104856-Zk3xQ9vLm2Np",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9.Zk3xQ9vLm2Np8Rt5Yw7Bc1",
)
SECRETS = (PASSWORD, *TOKENS)
"""Texts that no output may have."""
CREDENTIALS = (
    *TOKENS,
    f"https://admin:{PASSWORD}@example.com/path",
    f"postgres://:{PASSWORD}@db.example.com:5432/models",
    f"host=db password={PASSWORD}",
    f"Bearer {TOKENS[5]}",
)
NAMES = {"env": "DB_PASSWD", "flags": "api-token", "headers": "x-api-key", "setHeaders": "Authorization"}
"""Names under which any value is a credential."""
WRONG_SHAPES = (
    "",
    " ",
    "\n",
    "a b\x00c",
    "x" * 10_000,
    "多" * 2000,
    "---\nkind: Secret\n---\n",
    "\u202e\u200b",
    "{{",
    "\\",
)

LABEL, NAME = "z" * 63, ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
FREE = (
    *(
        "-",
        "~",
        "null",
        "true",
        "yes",
        "1e3",
        "0x1F",
        "007",
        "2026-01-01",
        "a: b",
        "{a: b}",
        "[1, 2",
        "*x",
        "&x",
        "!!int x",
    ),
    *(
        "# x",
        "%s %d %n",
        "{port} {model} {0} {}",
        "$$(HOME)",
        "$",
        "${HOME}",
        "`id`",
        "'",
        '"',
        "\\",
        "a'b\"c\\d",
        ";x",
    ),
    *(
        "</script>",
        "../../etc/passwd",
        "模型 – größe",
        "😀" * 60,
        "e\u0301",
        "\u202etxt.exe",
        "a\u200bb",
        "a\tb",
        "x" * 253,
    ),
    *(
        "line one\nline two: x\n---\nkind: Secret",
        "é" * 253,
        "x" * 4000,
        "\ufeffx",
        "a\u2028b",
        "x\x7fy",
        "@",
        "|",
        ">",
        "?",
    ),
)
SHAPED = (
    *("0", "a", "n", "null", "true", "yes", "off", "0x1f", "1e3", "x--y", LABEL, NAME, "a.b", "A_b.C-d"),
    *(
        "/",
        "/~",
        "/null",
        "/a/b/c",
        "/" + "x" * 200,
        "/" + "x" * 1000,
        "/-",
        "/..",
        "models",
        "a/b",
        "a" * 200 + "/" + "b" * 40,
    ),
    *("http://x", "https://localhost:1/", "http://10.0.0.1:65535/~a", "https://" + NAME, "http://x/" + "y" * 490),
    *("1s", "7h", "0s", "999ms", "90s", "99999h", "00002h", "1h1m1s1ms", "3600s", "7k", "999E"),
    *("16Gi", "1.5Gi", "48000M", "9999999999999", "1Ki", "1.0Gi"),
    *("a/b:c", "registry.example/x:null", "r.example:1/a/b@sha256:" + "0" * 64, "r.example/" + "x" * 300 + ":v1"),
    *("hf://a/b", "hf://A.-_/b@null", "hf://" + "o" * 200 + "/" + "m" * 200, "s3://bucket/a'b(c)!*=/d", "pvc://a/null"),
    *("kit://r.example/a/b:c", "kit://r.example:1/a@sha256:" + "f" * 64, "s3://" + "b" * 63 + "/" + "p" * 400),
    *(
        "x-a",
        "!#$%&'*+.^_`|~-",
        "X" * 250,
        "'; DROP TABLE x; --",
        "{port}",
        "$(HOME)",
        "a  b",
        "~" * 4000,
        "10.0.0.0/8",
        "::/0",
    ),
    *(
        "/{.metadata.name}",
        "/{.metadata.namespace}/ü",
        "/a b",
        "/%2e%2e/x",
        "/" + "ß" * 400,
        "status.podIP",
        "spec.nodeName",
    ),
    *(
        "metadata.labels['é']",
        "limits.cpu",
        "requests.memory",
        "nvidia.com/" + "x" * 63,
        "ABC_" + "D" * 200,
        "_",
        "device.x == 'ü'",
    ),
)
REFERRING = (
    "divisor",
    "region",
    "accelerator",
    "acceleratorMemory",
    "cache",
    "onnector",
    "flags.*",
    "constraints.[].requests.[]",
    "directory",
    "matches.[].model",
    "olicyRef",
    "luginRef",
    "release",
    "scalingModifiers.formula",
    "selectors.[]",
    "service",
    "targets.[].model",
    "timeouts.backendRequest",
    "timezone",
    "volume",
)
"""Ends of leaves whose text has to fit something in the stack or in a table, so that hostile text is refused there.

Selectors of devices are programs (CEL), which only the API server can compile."""


@dataclass(frozen=True)
class Hostile:
    """A stack with hostile text in some leaves."""

    name: str
    stack: dict[str, Any]
    leaves: tuple[str, ...]
    """Dotted paths of those leaves."""
    has_credential: bool


@cache
def text_leaves() -> dict[str, tuple[Place, list[dict[str, Any]]]]:
    """Return the leaves that take any text of a pattern, or an object of free text, by their dotted paths."""
    found = all_leaves()
    return {name: leaf for name, leaf in found.items() if any(_takes_text(node) for node in leaf[1])}


@cache
def hostile_stacks(count: int = COUNT) -> tuple[Hostile, ...]:
    """Return so many stacks; between them every text leaf has a credential, and hostile text that its pattern takes."""
    rng = random.Random(SEED)
    names = [*text_leaves()]
    rng.shuffle(names)
    wrong = [_wrong(rng, f"wrong-{index}", part) for index, part in enumerate(_parts(names, WRONG))]
    taken = (_taken(rng, f"taken-{index}", *part) for index, part in enumerate(_grouped(rng, names, count - WRONG)))
    return (*wrong, *taken)


def _grouped(rng: random.Random, names: Sequence[str], count: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield `count` pairs of a base and some leaves that it has room for; each leaf stands with its best base."""
    by_base = dict[str, list[str]]()
    for name in names:
        at = text_leaves()[name][0]
        base = max(BASES, key=lambda key: reach(BASES[key], at))
        if _ways(name) and reach(BASES[base], at) >= len(at) - 1:
            by_base.setdefault(base, []).append(name)
    size = next(n for n in range(1, len(names)) if sum(-(-len(leaves) // n) for leaves in by_base.values()) <= count)
    parts = [(base, leaves[at : at + size]) for base, leaves in by_base.items() for at in range(0, len(leaves), size)]
    while len(parts) < count:
        base = rng.choice([*by_base])
        parts.append((base, rng.sample(by_base[base], min(size, len(by_base[base])))))
    yield from parts


def _takes_text(node: dict[str, Any]) -> bool:
    return "enum" not in node and "const" not in node and node.get("type") in {"string", "object", None}


def _parts(names: Sequence[str], count: int) -> Iterator[Sequence[str]]:
    """Yield `count` parts of the names, which are about equally many."""
    for index in range(count):
        yield names[index::count]


def _wrong(rng: random.Random, name: str, leaves: Sequence[str]) -> Hostile:
    """Return a stack with a credential in each of some leaves, or with text of a wrong shape."""
    stack = copy.deepcopy(VARIED[rng.choice([*VARIED])])
    for leaf in leaves:
        at, nodes = text_leaves()[leaf]
        value: Any = rng.choice((*CREDENTIALS, *CREDENTIALS, *WRONG_SHAPES))
        if at[-1] == "*" and at[-2] in NAMES and rng.random() < 0.5:
            at, value = (*at[:-1], NAMES[str(at[-2])]), PASSWORD
        _put(stack, at, value if nodes[0].get("type") == "string" else _free_object(rng, value))
    return Hostile(name, stack, tuple(leaves), has_credential=True)


def _free_object(rng: random.Random, text: str) -> Any:
    """Return an object of free form with a text somewhere in it."""
    variable = {"name": "MYSQL_PASSWORD", "value": text}
    containers = {"spec": {"template": {"spec": {"containers": [{"name": "vllm", "env": [variable], "args": [text]}]}}}}
    return rng.choice(
        (
            containers,
            {"metadata": {"annotations": {"note": text}}},
            {"nodeAffinity": text},
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [text]}}},
            {"metadata": {"password": text}, "type": text},
            {"plugins": [{"type": text, "parameters": {"apiKey": text}}], "schedulingProfiles": text},
            {text: {text: [text, {text: None}]}},
        )
    )


def _put(stack: dict[str, Any], at: Place, value: object) -> None:
    """Put a value at a path, with all groups and lists above it; whatever else stands there gives way."""
    node: Any = stack
    for part, following in zip(at, (*at[1:], None), strict=True):
        key: Any = (
            0 if part == "[]" else "edited" if part == "*" and not node else next(iter(node)) if part == "*" else part
        )
        if part == "*" and following is None:
            key = "edited"
        below = value if following is None else [] if following == "[]" else {}
        if isinstance(node, list) and not node:
            node.append(below)
        is_kept = (
            following is not None and (isinstance(node, list) or key in node) and isinstance(node[key], type(below))
        )
        if not is_kept:
            node[key] = below
        node = node[key]


@cache
def _ways(leaf: str) -> tuple[str, ...]:
    """Return the hostile texts that a leaf's patterns take; empty for a leaf that refers to something."""
    _, nodes = text_leaves()[leaf]
    if nodes[0].get("type") != "string":
        return FREE if leaf.endswith(".patch") else ()
    if leaf.endswith(REFERRING):
        return ()
    if leaf.endswith("engine.args.[]"):
        return tuple(f"--chat-template={text}" for text in FREE if any(_matches(node, text) for node in nodes))
    return tuple(text for text in (*FREE, *SHAPED) if any(_matches(node, text) for node in nodes))


def _matches(node: dict[str, Any], text: str) -> bool:
    longest = node.get("maxLength", len(text))
    return (
        node.get("type") == "string" and len(text) <= longest and re.search(node.get("pattern", ""), text) is not None
    )


def _taken(rng: random.Random, name: str, base: str, leaves: Sequence[str]) -> Hostile:
    """Return a base with hostile text in some leaves."""
    stack = BASES[base]
    for leaf in leaves:
        at, nodes = text_leaves()[leaf]
        room = [*places(stack, at)]
        if not room:
            # A text of the same stack has taken its place.
            continue
        place = max(room, key=lambda place: reach(stack, place))
        stack, parent = opened(stack, place)
        text = rng.choice(_ways(leaf))
        parent[place[-1]] = text if nodes[0].get("type") == "string" else {"metadata": {"annotations": {"note": text}}}
    return Hostile(name, stack, tuple(leaves), has_credential=False)
