"""Documents lead where they say: links, headings and paths of the project exist."""

import re
from pathlib import Path

import pytest

DECISION = re.compile(
    r"# (\d+)\. (.+)\n\n- Date: \d{4}-\d\d-\d\d\n- Status: \w[^\n]*\n\n"
    r"## Context\n.+\n## Decision\n.+\n## Alternatives\n.+\n## Consequences\n.+",
    re.DOTALL,
)
PAGES = sorted(Path("docs").rglob("*.md"))
DOCUMENTS = [*map(Path, ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")), *PAGES]
FOLDERS = sorted(path.name for path in Path().iterdir() if path.is_dir() and not path.name.startswith("."))


def anchors(text):
    """Return the fragments of a page: those that GitHub gives to headings, and explicit ones."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    explicit = re.findall(r'id="([^"]+)"', text)
    return {*explicit, *(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)}


def dangling(document, text):
    """Yield every link of a page that leads nowhere in the project."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, fragment = target.partition("#")
        path = document.parent / name if name else document
        page = text if path == document else path.read_text(encoding="utf-8") if path.is_file() else ""
        if not path.exists() or (fragment and fragment not in anchors(page)):
            yield target


def missing(text):
    """Yield every path in backticks that begins with a folder of the project and is not there."""
    for name in re.findall(r"`([\w./-]+)`", text):
        if name.partition("/")[0] in FOLDERS and "/" in name and not Path(name).exists():
            yield name


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_links_and_paths_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    assert [*dangling(document, text), *missing(text)] == []


@pytest.mark.parametrize(
    "text", ["[page](nowhere.md)", "[section](#nowhere)", "[section](README.md#nowhere)", "`planning/nowhere.py`"]
)
def test_what_leads_nowhere_is_noticed(text):
    assert len([*dangling(Path("docs/architecture.md"), text), *missing(text)]) == 1


def test_every_document_is_in_the_index():
    index = Path("docs/README.md").read_text(encoding="utf-8")
    assert [str(path) for path in PAGES if path.name != "README.md" and path.name not in index] == []


def test_every_decision_has_all_sections_and_is_in_the_index_with_its_title():
    index = Path("docs/README.md").read_text(encoding="utf-8")
    pages = {path.name: DECISION.fullmatch(path.read_text(encoding="utf-8")) for path in Path("docs/adr").iterdir()}
    rows = {name: f"| [{page[1]}](adr/{name}) | {page[2]} |" for name, page in pages.items() if page is not None}
    assert [name for name in pages if rows.get(name, "without a section") not in index] == []


def test_every_room_of_planning_is_in_the_architecture():
    page = Path("docs/architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent for path in sorted(Path("planning").glob("*/__init__.py"))]
    assert [str(room) for room in rooms if f"`{room}`" not in page] == []
