"""Reports with hostile texts in every place, as a forge's parser of Markdown shows them."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
import pytest
import yaml
from cmarkgfm.cmark import Options

from cli import documents, summary_blocks
from judging.report.capacity import Capacity, ClassCapacity, DeviceCapacity
from judging.report.drift import Drift
from judging.report.events import Diagnostic
from judging.report.growth import Range
from judging.report.packing import Tightness
from judging.report.paths import PathChange
from judging.report.summary import Summary, WorkloadLine
from models.paths import Path as ConfigPath
from planning.ground.turns import Turns
from planning.money import Cost, Usage

RULES = yaml.load(Path("tests/cli/references.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
REFERENCES = [(f"{forge}: {rule['what']}", rule) for forge in ("github", "gitlab") for rule in RULES[forge]]
EXTENSIONS = ["table", "autolink", "strikethrough", "tagfilter", "tasklist"]
MARKDOWN = (
    *("<img src=https://evil.example/p.png>", r"\<img src=https://evil.example/p.png\>", "<script>alert(1)</script>"),
    *("<!-- x -->", "</td></table><h1>x", "<https://evil.example>", "&lt;b&gt; &#64;all", "&copy", "<details open>"),
    *("[Approve](https://evil.example)", r"\[Approve](https://evil.example)", "![x](https://evil.example/p.png)"),
    *("[x]: https://evil.example", "[^1] [^1]: x", "**approved**", "__approved__", "*a* _b_", "~~gone~~", "a\\", "\\"),
    *("`code`", "``", "` ``", "`` ` ``` `", "a`b`` c", "`|`", "a|b", r"a\|b", r"a\\|b", "| a | b |\n| --- | --- |"),
    *("# heading", "- item", "+ item", "1. item", "* item", "> quote", "- [x] done", "===", "---", "\n\n    code"),
    *("```\ncode", "~~~", "x\n===", "<a\n\nhref=x>", "'**", "(`", "`)", "**`**`**", "$`x`$", "<`b`>"),
)
"""Texts that mean something in Markdown or HTML."""
HOSTILE = tuple(dict.fromkeys((*MARKDOWN, *(rule["example"] for rules in RULES.values() for rule in rules))))
WORDS = "harmless"


@dataclass
class Page(HTMLParser):
    """A page, as the events of its parser."""

    tags: list[str] = field(default_factory=list)
    """Begins and ends of elements with their attributes. Code is left out: what is written as code is text as well."""
    texts: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    """Texts outside of code."""

    def __post_init__(self):
        super().__init__(convert_charrefs=True)
        self.depth = 0

    def handle_starttag(self, tag, attrs):
        self.depth += tag == "code"
        self.tags += [] if tag == "code" and not attrs else [f"<{tag} {attrs}>"]

    def handle_endtag(self, tag):
        self.depth -= tag == "code"
        self.tags += [] if tag == "code" else [f"</{tag}>"]

    def handle_comment(self, data):
        self.tags.append(f"<!--{data}-->")

    def handle_data(self, data):
        self.texts.append(data)
        if not self.depth:
            self.loose.append(data)

    @property
    def text(self):
        """Return what a reader sees, apart from spaces."""
        return "".join("".join(self.texts).split())


def page(markdown):
    html = cmarkgfm.markdown_to_html_with_extensions(
        markdown, options=Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES, extensions=EXTENSIONS
    )
    found = Page()
    found.feed(html)
    found.close()
    return found


def summary(text):
    """Return a report with a text in every place that a configuration, a facts file or an event log can fill."""
    line = text.replace("\n", " ")
    places = {f"{text} on {text}": (("x", 4),)}
    some, cost = Range(1, 2), Cost(Decimal(1), Decimal(2), (text,))
    change = {"resource": text, "classes": (text,), "is_certain": False, "additional": some, "changes": ()}
    devices = tuple(
        DeviceCapacity(low=low, high=Tightness.SHORT, has_nodes=True, free=1, places=places, **change)
        for low in (Tightness.SHORT, Tightness.FITS)
    )
    return Summary(
        stack=text,
        workloads=(
            WorkloadLine(text, text, "update", (text, f"image {text} → {text}"), "**down** for 5 min", 5, text),
        ),
        paths=(PathChange(text, "create", text, ""), PathChange(text, "update", text, f"{text} → {text}")),
        drift=(Drift(f"Service {text}/{text}", is_gone=True, fields=()), Drift(text, is_gone=False, fields=(text,))),
        others={text: {text: 1}},
        capacity=Capacity((ClassCapacity(text, some, some, some, 1, 1, is_provisioned=False),), devices, (), ()),
        before=cost,
        after=cost,
        currency="$",
        is_priced=True,
        usages=(Usage(ConfigPath("budgets"), text, text, Decimal(1), {}),),
        profiles={text: text},
        errors=(Diagnostic("error", line, line, line),),
        warnings=(Diagnostic("warning", text, text, text), Diagnostic("warning", text, "")),
        unchecked=(text, text),
        is_complete=False,
        turns=Turns(1, (text, text)),
        cold_starts={text: text},
        gates={text: text},
    )


def blocks(text):
    return tuple(summary_blocks.blocks(summary(text), 10))


@cache
def harmless():
    return page(documents.markdown(blocks(WORDS)))


def surprises(markdown, text):
    """Return what a page has that we did not write, or lacks of what we wrote."""
    found = page(markdown)
    loose = [(name, match[0]) for name, rule in REFERENCES for match in _matches(rule, found.loose)]
    lines = [(rule["what"], line) for rule in RULES["lines"] for line in _matching_lines(rule, markdown)]
    plain = "".join(documents.text(blocks(text)).split())
    return [
        *(["tags"] if found.tags != harmless().tags else []),
        *(["text"] if found.text != plain else []),
        *loose,
        *lines,
    ]


def _matches(rule, texts):
    matches = (re.search(rule["pattern"], text, re.IGNORECASE) for text in texts)
    return (match for match in matches if match is not None)


def _matching_lines(rule, markdown):
    return [line for line in markdown.splitlines() if re.match(rule["pattern"], line)]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_report_is_a_tag_a_link_or_a_reference_that_we_did_not_write(text):
    """See defects H7."""
    for value in (text, f"a {text}", f"({text}),", f"{text} {text}", f"bug {text} 12 {text}"):
        assert surprises(documents.markdown(blocks(value)), value) == [], value


@pytest.mark.parametrize("text", HOSTILE)
def test_a_paragraph_that_is_a_text_of_somebody_stays_a_paragraph(text):
    """See defects H7."""
    document = [documents.Line(text), documents.Line((f" {text}",)), documents.Heading(text)]
    markdown = documents.markdown(document)
    assert page(markdown).text == "".join(documents.text(document).split())
    names = [tag.partition(" ")[0].strip("<>") for tag in page(markdown).tags]
    assert names == ["p", "/p", "p", "/p", "h3", "/h3"]
    assert not [line for rule in RULES["lines"] for line in _matching_lines(rule, markdown)]


@pytest.mark.parametrize("text", HOSTILE)
def test_without_our_escapes_the_page_has_surprises(text, monkeypatch):
    """Negative control: each text means something to a forge."""
    monkeypatch.setattr(documents, "literal", lambda part, **_: part)
    monkeypatch.setattr(documents, "_SPACES", re.compile(r"(?!)"))
    monkeypatch.setattr(documents, "printable", lambda part: part)
    document = documents.markdown([*blocks(text), documents.Line(text)])
    found = page(document)
    loose = [name for name, rule in REFERENCES for _ in _matches(rule, found.loose)]
    lines = [line for rule in RULES["lines"] for line in _matching_lines(rule, document)]
    monkeypatch.undo()
    expected = page(documents.markdown([*blocks(text), documents.Line(text)]))
    assert loose or lines or found.tags != expected.tags or found.text != expected.text


@pytest.mark.parametrize(("name", "rule"), [*REFERENCES, *((rule["what"], rule) for rule in RULES["lines"])])
def test_each_rule_finds_its_example(name, rule):
    assert re.search(rule["pattern"], rule["example"], re.IGNORECASE), name


@pytest.mark.parametrize("write", [documents.text, documents.markdown])
@pytest.mark.parametrize(
    "text",
    ["\x1b[2J\x1b[31mred\x1b]8;;https://evil.example\x1b\\x", "a\x00b\x07\x7f\x9b31m", "\u202etxt\u2066",
     "\u200bx\ufeff", "a\u2060\u00ad\ufe0f\u3164", "\ud800", "\ue000", "\U000e0041", "a\r\nb\u2028c\x85d\x0be"],
)  # fmt: skip
def test_no_report_has_characters_that_a_terminal_obeys_or_nobody_sees(write, text):
    """See defects H7."""
    document = write(blocks(text))
    assert all(char.isprintable() or char == "\n" for char in document)
    assert not re.search("[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]", document)
    assert document.encode()


def test_no_fence_is_longer_than_parsers_read():
    """Each number of backticks from 1 to 87 occurs, so that a fence of 88 would be needed."""
    ticks = "a".join("`" * number for number in range(1, 88))
    found = page(documents.markdown([documents.Line(ticks)]))
    assert (found.tags, found.text) == (["<p []>", "</p>"], ticks.replace("`", "'"))


def test_plain_words_and_numbers_stay_without_escapes():
    """A report is for people: what no forge can take for something else is written as it is."""
    words = "replicas 2 → 3 · at least 1 of 2 ready (4 + 4, 10 %), about 22.0Gi: it's “no”"
    assert documents.markdown([documents.Line(words)]) == f"{words.replace('“no”', '`“no”`')}\n"
    names = "image a/b:v1 → c/d@sha256:ab (on gpu-0, f(x))"
    written = "image `a/b:v1` → `c/d@sha256:ab` (on `gpu-0`, `f(x)`)\n"
    assert documents.markdown([documents.Line(names)]) == written


@pytest.mark.parametrize("write", [documents.text, documents.markdown])
@pytest.mark.parametrize("text", ["x" * 70_000, "@ " * 40_000, "` a " * 20_000, "漢" * 70_000, "x\n" * 40_000])
def test_a_report_stays_below_its_limit_whatever_is_long(write, text):
    """See defects H7."""
    for longest in (summary_blocks.LONGEST, 1_000):
        document = summary_blocks.fitting(summary(text), write, longest)
        assert len(document.encode()) <= longest
        assert "more characters" in document or "The report is cut here: " in document


def test_many_lines_of_each_kind_stay_below_the_limit():
    names = [f"service-{number}" for number in range(3000)]
    many = summary("x")
    values = dict.fromkeys(names, "profile" * 10)
    paths = tuple(PathChange(name, "create", name, "") for name in names)
    usages = tuple(Usage(ConfigPath("budgets"), name, "x", Decimal(1), {}) for name in names)
    found = documents_of(many, paths=paths, profiles=values, usages=usages, others={name: {"Pod": 1} for name in names})
    assert len(found.encode()) <= summary_blocks.LONGEST
    for noun in ("profiles", "budgets", "operations"):
        assert re.search(rf"and \d+ more {noun}", found)
    assert "- `?` policy" in found, "warnings at the end are not cut"


def documents_of(found, **changes):
    values = {name: getattr(found, name) for name in found.__dataclass_fields__}
    return summary_blocks.fitting(Summary(**(values | changes)), documents.markdown)
