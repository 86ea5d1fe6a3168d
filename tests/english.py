"""Check of the names and docstrings of sources and tests, and of documents; run it with `python -m tests.english`.

The check refuses names that avoid a noun, and docstrings, headings and sentences of documents that open with a relative
clause. It prints every finding with its place, and ends with 1 if there are findings.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCES = (
    "__main__.py",
    *(
        "benchmarks",
        "cli",
        "components",
        "composition",
        "facts",
        "inference_stacks",
        "judging",
        "local",
        "manifests",
        "migration",
        "models",
    ),
    *("migration", "models", "package", "planning", "policy", "publishing", "reader", "upstream"),
)
TESTS = "tests"
"""Folder in which functions may be participles: in a comparison of a test, a helper reads like an adjective."""
WORDS = frozenset({"apart", "kept", "most", "one", "own", "said", "told", "tried", "wanted", "wish", "wishes"})
"""Names that say nothing about their values."""
OPENINGS = ("Nothing ", "What ", "Whence ", "Where ", "Which ", "Who ", "Whom ", "Whose ")
"""First words of docstrings that describe a noun without naming it."""
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "catalogue/README.md")
"""Files and folders of documents."""
GENERATED = ("catalogue.md", "configuration.md", "runbook.md")
"""Pages of docs that are written by a command, from texts that are checked as docstrings or tables."""
SENTENCES = ("What ", "Whence ", "Where ", "Which ", "Who ", "Whom ", "Whose ")
"""First words of sentences in documents that describe a noun without naming it; a question may have them."""
WIDTH = 120
"""Longest line of a document. Tables have no line breaks, and links cannot be cut."""
PARTICIPLES = frozenset(
    {
        *("begun", "beside", "brought", "built", "drawn", "found", "given", "held", "kept", "known", "left", "made"),
        *("meant", "put", "said", "sent", "shown", "sought", "spread", "taken", "told", "understood", "written"),
    }
)
"""Names of helpers that describe neither a result nor an action. Every participle in -ed is refused as well."""
NOUNS = frozenset({"bed", "feed", "need", "seed", "speed"})
"""Names that end in -ed, but are no participles."""


def main(root: Path) -> int:
    """Print the findings of all sources and tests. Return 1 if there are findings, else 0."""
    texts = [(path, findings(path.read_text())) for path in _files(root, SOURCES)]
    texts += [(path, findings_of_tests(path.read_text())) for path in _files(root, (TESTS,))]
    texts += [(path, findings_of_documents(path.read_text())) for path in _documents(root)]
    places = [f"{path.relative_to(root)}:{line}: {what}" for path, found in texts for line, what in found]
    for place in places:
        print(place)
    print(f"{len(places)} names and texts to mend" if places else "names and texts: nothing to mend")
    return 1 if places else 0


def findings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and finding, in the order of the source."""
    nodes = [*ast.walk(ast.parse(source))]
    functions = [(node.lineno, f"the function {node.name}") for node in nodes if _is_participle(node)]
    yield from sorted([*functions, *_words(nodes), *_relative_clauses(nodes)])


def findings_of_tests(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and finding, in the order of a module of tests; functions may have any name."""
    nodes = [*ast.walk(ast.parse(source))]
    yield from sorted([*_words(nodes), *_relative_clauses(nodes)])


def findings_of_documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and finding, in the order of a Markdown document."""
    prose = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    for number, line in enumerate(prose.split("\n"), 1):
        if len(line) > WIDTH and not line.startswith("|") and " " in _LABEL.sub("", line)[:WIDTH].strip(" *-"):
            yield number, f"a line of {len(line)} characters"
        heading = re.match(r"#+ (?:\d+\. )?(.*)", line)
        if heading is not None and f"{heading[1]} ".startswith(OPENINGS):
            yield number, f"the heading {heading[1]!r}"
    for match in _SENTENCE.finditer(f"\n{prose}"):
        sentence = " ".join(match[1].split())
        if sentence.startswith(SENTENCES) and not sentence.endswith("?"):
            yield prose.count("\n", 0, match.start(1) - 1) + 1, f"the sentence '{sentence[:40]} …'"


_LABEL = re.compile(r"\[[^\]]*\]")
"""Text of a link, whose spaces are no place for a line break."""
_OPENING = r"\n[ >]*\n *|\n *(?:[-*>]|\d+\.) +|[.:!?][*)]*(?: +|\n *)|\| +"
"""Beginning of a paragraph, an item, a further sentence or a cell of a table."""
_SENTENCE = re.compile(rf"(?:\A\n|{_OPENING})[*]*(?=(\w[^.!?|\n]*(?:\n[^.!?|\n]+)*[.!?|]?))")
"""A sentence of a document: its text is the group."""


def _documents(root: Path) -> Iterator[Path]:
    for place in (root / name for name in DOCUMENTS):
        pages = sorted(place.rglob("*.md")) if place.is_dir() else [place]
        yield from (page for page in pages if page.name not in GENERATED)


def _words(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and name of each binding that says nothing of what it holds."""
    for line, name in _names(nodes):
        if name.strip("_") in WORDS:
            yield line, f"the name {name}"


def _relative_clauses(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and first word of each docstring that opens with a relative clause."""
    for line, text in _docstrings(nodes):
        if text.startswith(OPENINGS):
            yield line, f"the docstring {text.split(maxsplit=1)[0]!r} …"


def _files(root: Path, folders: Iterable[str]) -> Iterable[Path]:
    for source in (root / name for name in folders):
        yield from sorted(source.rglob("*.py")) if source.is_dir() else (source,)


def _names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield every name that is bound: variables, fields and parameters."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name is not None:
            yield node.lineno, node.name


def _is_participle(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    name = node.name.strip("_")
    return name in PARTICIPLES or ("_" not in name and name.endswith("ed") and name not in NOUNS)


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and text of every docstring, including docstrings below fields and constants."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent))
