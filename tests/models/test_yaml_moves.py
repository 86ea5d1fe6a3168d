"""Moves of the keys of a mapping into the mapping that holds it."""

import itertools

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models import engine_yaml
from models.paths import Path
from models.yaml_edits import UneditableError
from models.yaml_moves import fold
from tests.support.examples import share

QWEN = Path("services", "qwen")
LEFT_OUT = ("weight", "replicas")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param(
            "services:\n  qwen:\n    model: {source: old}   # served\n    # tried\n    canary:\n      weight: 100\n"
            "      model:\n        source: new # better\n  bert: {}\n",
            "services:\n  qwen:\n    model: {source: new}   # served\n    # tried\n  bert: {}\n",
            id="a scalar of a mapping in block style",
        ),
        pytest.param(
            "services:\n  qwen:\n    replicas: 3\n"
            "    canary: {weight: 100, engine: {image: x, args: [a, b]}, replicas: 1}\n",
            "services:\n  qwen:\n    engine: {image: x, args: [a, b]}\n    replicas: 3\n",
            id="a new key of a mapping in block style",
        ),
        pytest.param(
            "services:\n  qwen:\n    canary: {weight: 100, a: 1, b: 2}\n    replicas: 3\n",
            "services:\n  qwen:\n    a: 1\n    b: 2\n    replicas: 3\n",
            id="the first key",
        ),
        pytest.param(
            "services: {qwen: {model: {source: old}, canary: {weight: 100, model: {source: new}}, replicas: 3}}\n",
            "services: {qwen: {model: {source: new}, replicas: 3}}\n",
            id="braces",
        ),
        pytest.param(
            "services: {qwen: {model: {source: old}, canary: {weight: 100, model: {source: new, size: 1Gi}}}}",
            "services: {qwen: {model: {size: 1Gi, source: new}}}",
            id="the last key in braces",
        ),
        pytest.param(
            "services:\n  qwen:\n    args: [a]\n    canary:\n      args: [b,\n        c]\n      image: y\n",
            None,
            id="a list of several lines",
        ),
        pytest.param(
            "services:\n  qwen:\n    a: 1\n    canary:\n      weight: 100\n      pod:\n        labels: {x: y}\n",
            None,
            id="a block",
        ),
        pytest.param("services: {qwen: {a: &a 1, canary: {b: *a}}}", None, id="an alias"),
        pytest.param("services:\n  qwen:\n    a: 1\n    canary:\n      b: |-\n        x\n", None, id="a text of lines"),
        pytest.param(
            "x: &w 1\nservices:\n  qwen:\n    a: 1\n    canary:\n      replicas: 2\n      weight: *w\n",
            None,
            id="an alias in an entry that goes",
        ),
        pytest.param("x: &x {b: 1}\nservices: {qwen: {a: 1, canary: *x}}", None, id="an alias of the whole"),
        pytest.param("services: {qwen: {a: 1}}", None, id="nothing to move"),
    ],
)
def test_keys_move_and_everything_else_stays(text, result):
    if result is None:
        with pytest.raises(UneditableError):
            fold(text, QWEN, "canary", LEFT_OUT)
        return
    assert fold(text, QWEN, "canary", LEFT_OUT) == result
    engine_yaml.parse(result, "")


QUERY = """\
      weight: 100
      gates:
        queries:
          refusals:
            bad: sum(x)
            all: {style}
              sum(increase(
                # a line of the query
                y[$window]))
"""
STYLES = ("|", "|-", "|+", ">", ">-", ">+", ">2-")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "following",
    [
        "",
        "  bert: {replicas: 2}\n",
        "    replicas: 3\n",
        "  # of the next service\n  bert: {}\n",
        "encryptionsalt: v1:abc\n",
        "# the end",
    ],
)
def test_a_text_of_lines_at_the_end_goes_and_the_line_after_it_stays(style, following):
    query = QUERY.format(style=style)
    service = "services:\n  qwen:\n    model: {source: x}\n"
    for blank, ending in itertools.product(("", "\n"), ("\n", "\r\n")):
        text = f"{service}    canary:\n{query}{blank}{following}".replace("\n", ending)
        result = f"{service}{blank}{following}".replace("\n", ending)
        assert fold(text, QWEN, "canary", (*LEFT_OUT, "gates")) == result


@pytest.mark.parametrize("style", STYLES[:-1])
def test_texts_of_lines_around_a_canary_stay(style):
    note = f"    note: {style}\n      one\n       # two\n\n"
    canary = "    canary:\n      weight: 100\n      image: y\n"
    for before, after in ((note, ""), ("    a: 1\n", note), ("    a: 1\n", note.rstrip("\n"))):
        text = f"services:\n  qwen:\n{before}{canary}{after}"
        assert fold(text, QWEN, "canary", LEFT_OUT) == f"services:\n  qwen:\n    image: y\n{before}{after}"


def test_a_fold_that_would_change_a_text_before_the_canary_is_refused():
    """The comment would be a line of the note without the canary before it."""
    note = "services:\n  qwen:\n    a: 1\n    note: |\n      one\n"
    text = f"{note}    canary:\n      weight: 100\n      # of the weight\n"
    assert fold(text.replace("      # of the weight\n", ""), QWEN, "canary", LEFT_OUT) == note
    with pytest.raises(UneditableError, match="without changing other values"):
        fold(text, QWEN, "canary", LEFT_OUT)


def test_new_lines_end_like_those_around_them():
    text = "services:\n  qwen:\n    a: 1\n    canary:\n      b: 2\n      c: 3\n  bert: {}\n".replace("\n", "\r\n")
    result = "services:\n  qwen:\n    b: 2\n    c: 3\n    a: 1\n  bert: {}\n".replace("\n", "\r\n")
    assert fold(text, QWEN, "canary", LEFT_OUT) == result


class Written:
    """Lines of a file that a source of chance writes."""

    def __init__(self, random):
        self.random = random

    def entries(self, names, depth, levels=2):
        """Return the lines of the entries of a mapping, with comments and blank lines between them."""
        return [line for name in names for line in (*self.remarks(depth), *self.entry(name, depth, levels))]

    def remarks(self, depth):
        blanks = "  " * self.random.randint(0, depth)
        return self.random.choice(([], [], [""], [f"{blanks}# a remark: {{"], ["", f"{'  ' * depth}# another"]))

    def entry(self, name, depth, levels):
        blanks = "  " * depth
        if levels and self.random.random() < 0.3:
            return [f"{blanks}{name}:", *self.entries(self.names("xyz"), depth + 1, levels - 1)]
        head = self.random.choice("|>") + self.random.choice(("", "-", "+"))
        lines = {
            "plain": [f"{blanks}{name}: {self.plain()}{self.remark()}"],
            "wrapped": [f"{blanks}{name}: one", f"{blanks}  two", f"{blanks}   three"],
            "flow": [f"{blanks}{name}: {{x: {self.plain()}, y: [{self.plain()}]}}{self.remark()}"],
            "list": [f"{blanks}{name}:", f"{blanks}- {self.plain()}", f"{blanks}- {self.plain()}"],
            "empty": [f"{blanks}{name}:{self.remark()}"],
            "text": [f"{blanks}{name}: {head}", *self.text(depth + 1)],
        }
        return self.random.choice([*lines.values(), lines["text"]])

    def text(self, depth):
        blanks = "  " * depth
        lines = self.random.choices(("one", "  two", "# three", "four: {", "- five"), k=self.random.randint(1, 3))
        return [f"{blanks}one", *(f"{blanks}{line}" for line in lines), *[""] * self.random.randint(0, 2)]

    def plain(self):
        return self.random.choice(("1", "word", "'quoted # text'", '"a\\tb"', "hf://org/m", "true"))

    def remark(self):
        return self.random.choice(("", "", " # why"))

    def names(self, known):
        return self.random.sample(known, self.random.randint(1, len(known)))

    def file(self):
        """Return the lines before, of and after the service, and those keys of its canary that go."""
        goes = ["weight", "replicas"]
        before = [*self.entries(self.names(["description", "encryptionsalt"]), 0), "services:"]
        before += self.entries(self.names(["aya", "bge"]), 1)
        keys = [*self.names("abcd"), "canary"]
        self.random.shuffle(keys)
        service = ["  qwen:"]
        for key in keys:
            if key != "canary":
                service += self.entries([key], 2)
                continue
            inner = [*self.names("abc"), *goes] if self.random.random() < 0.5 else goes
            service += ["    canary:", *self.entries(inner, 3)]
        after = self.entries(self.names(["phi", "yi"]), 1) if self.random.random() < 0.5 else []
        if self.random.random() < 0.5:
            after += self.entries(["encryptedkey"], 0)
        return before, service, after


def merged(target, entries):
    result = {**target, **entries}
    for key in target.keys() & entries.keys():
        if isinstance(target[key], dict) and isinstance(entries[key], dict):
            result[key] = merged(target[key], entries[key])
    return result


@settings(max_examples=share(150))
@given(st.randoms(use_true_random=False), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_fold_changes_nothing_outside_of_the_service(random, ending, ends_with_a_line):
    before, service, after = ["".join(f"{line}{ending}" for line in lines) for lines in Written(random).file()]
    text = f"{before}{service}{after}"
    if not ends_with_a_line and not after:
        text = text.rstrip()
    tree = engine_yaml.parse(text, "").tree
    try:
        edited = fold(text, QWEN, "canary", LEFT_OUT)
    except UneditableError:
        event("refused")
        return
    event("folded")
    assert edited.startswith(before)
    assert edited.endswith(after)
    canary = tree["services"]["qwen"].pop("canary")
    entries = {key: value for key, value in canary.items() if key not in LEFT_OUT}
    tree["services"]["qwen"] = merged(tree["services"]["qwen"], entries)
    assert engine_yaml.parse(edited, "").tree == tree
