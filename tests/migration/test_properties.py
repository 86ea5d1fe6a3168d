"""Properties of all readers: every leaf is accounted for, and nothing of a broken file gets out."""

import copy
import random
from pathlib import Path as File

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli import convert, trial
from migration import conversion, files
from migration.accounts import all_leaves
from migration.fields import FATES
from models import engine_yaml
from models.problems import ConfigError

SAMPLES = {
    path.stem: files.documents(path.read_text(encoding="utf-8"), path.name)
    for path in sorted(File(__file__).with_name("samples").glob("*.yaml"))
}
ORIGINS = {"chart-values": "llm-d-modelservice", "zerfoo": "zerfoo"}
"""Sources of samples without a kind."""
MAIN = {
    name: documents
    for name, documents in SAMPLES.items()
    if name in ORIGINS or any(document.kind in conversion.kinds() for document in documents)
}
TOKEN = "hf_" + "aB3dE6gH9j" * 4
SECRET = "hunter2-Correct"
"""A credential of which only its name, or its place, says that it is one."""
BROKEN = [
    *(None, True, -1, 2.5, 10**30, "", "…", "latest", TOKEN, f"--api-key={TOKEN}"),
    *(["--api-key", SECRET], {"name": "HF_TOKEN", "value": SECRET}, {"password": SECRET}, {TOKEN: 1}),
    *(["sh", "-c", f"cd /x; serve --api-key {SECRET}"], f"http://me:{SECRET}@host", f"--api-key={SECRET}"),
    *([], {}, [[]], [None], {"a": TOKEN}, "\x00\x1b[2J", "x" * 70_000),
]
OPEN = frozenset({"labels", "annotations", "nodeSelector", "requests", "limits"})
"""Mappings that may have any key."""
_FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def at(tree, path):
    for part in path:
        tree = tree[part]
    return tree


def changed(documents, path, value, index=0):
    """Return documents with another value at a path of one of them."""
    tree = copy.deepcopy(documents[index].tree)
    at(tree, path.parent)[path[-1]] = value
    return [*documents[:index], files.RawDocument(documents[index].file, tree), *documents[index + 1 :]]


def other(value):
    """Return another value of the same kind, which its field may have, too."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str) and value.isdigit():
        return str(int(value) + 1)
    return f"{value}x"


def converted(name, documents):
    return conversion.convert(documents, (), ORIGINS.get(name))


def places(documents, index=0):
    return list(all_leaves(documents[index].tree))


@pytest.mark.parametrize("name", MAIN)
def test_each_leaf_of_a_sample_has_one_fate_and_each_mapping_notices_a_stranger(name):
    documents = MAIN[name]
    (original, *_) = converted(name, documents).documents
    fates = original.fates()
    assert set(fates) == set(places(documents))
    assert set(fates.values()) <= set(FATES)
    reasons = [note.reason for note in original.notes()]
    assert not any("has no key for the value" in reason or "does not know" in reason for reason in reasons)


@_FEW
@given(st.data())
def test_a_leaf_that_nobody_knows_makes_a_note_wherever_it_is(data):
    sample = data.draw(st.sampled_from(sorted(MAIN)))
    documents = MAIN[sample]
    index = data.draw(st.sampled_from(range(len(documents))))
    mappings = {path.parent for path in places(documents, index) if isinstance(path[-1], str)}
    closed = [path for path in mappings if path and path[-1] not in OPEN]
    holder = data.draw(st.sampled_from(sorted(closed)))
    name = data.draw(st.from_regex(r"zz[a-z]{1,8}", fullmatch=True))
    original = of_file(converted(sample, changed(documents, holder / name, 1, index)), documents[index].file)
    row = original.table.row(holder / name)
    expected = {"cannot"}
    if row is not None and row.fate == "dropped":
        expected = {"dropped"}
    fates = original.fates()
    beside = {fate for path, fate in fates.items() if path.parent == holder and path[-1] != name}
    assert fates[holder / name] in expected or beside == {"dropped"}


def results(conversion):
    return [(service.key, service.service, service.stack) for service in conversion.services]


@pytest.mark.parametrize(
    ("sample", "index"), [(name, index) for name, documents in MAIN.items() for index in range(len(documents))]
)
def test_a_carried_leaf_changes_the_result_and_a_dropped_one_does_not(sample, index):
    documents = MAIN[sample]
    before = converted(sample, documents)
    original = of_file(before, documents[index].file)
    notes = all_notes(before)
    fates = original.fates()
    checked = [path for path in fates if path[0] not in {"apiVersion", "kind"} and not is_reference(path)]
    for path in checked:
        value = at(documents[index].tree, path)
        after = converted(sample, changed(documents, path, other(value), index))
        edited = of_file(after, documents[index].file)
        if fates[path] == "dropped" and edited.fates().get(path) == "dropped" and not names_an_object(path):
            assert results(before) == results(after), path
        if fates[path] == "carried" and value not in ({}, []):
            assert results(before) != results(after) or notes != all_notes(after), path
    assert len(checked) > 1


def of_file(conversion, file):
    """Return the document of a file."""
    (document,) = [document for document in conversion.documents if document.file == file]
    return document


def all_notes(conversion):
    return [note for document in conversion.documents for note in document.notes()]


def names_an_object(path):
    """Tell whether a leaf is a name by which others refer to the object, or by which it refers to others."""
    return path[-1] in {"name", "namespace", "modelName", "templateName"}


def is_reference(path):
    """Tell whether a leaf names a volume, to which mounts refer: with another name, they refer to nothing."""
    return path[-3:-2] == ("volumes",) and path[-1] == "name"


def broken_trees():
    """Yield the samples, each time with a few places broken."""
    source = random.Random(39)
    names = sorted(MAIN)
    for number in range(300):
        name = names[number % len(names)]
        documents = MAIN[name]
        for _ in range(source.randint(1, 4)):
            index = source.randrange(len(documents))
            leaves = places(documents, index)
            path = source.choice(leaves)
            path = type(path)(*path[: source.randint(1, len(path))])
            documents = changed(documents, path, source.choice(BROKEN), index)
            if not isinstance(documents[index].tree, dict):
                break
        yield number, name, documents


def check_printed(text, number):
    """Check that all readers read a printed configuration alike, and that every tenth one has no refused value."""
    document = engine_yaml.parse(text, "printed")
    assert document.tree == yaml.safe_load(text), number
    assert document.ambiguities == (), number
    stack = document.tree["config"]["inference-stacks:stack"]
    if number % 10 == 0 and stack:
        assert trial.run(stack).refused == (), number


def test_300_broken_files_end_without_a_traceback_and_without_a_credential():
    outcomes = set()
    for number, name, documents in broken_trees():
        try:
            result = convert.convert(documents, (), ORIGINS.get(name))
        except ConfigError as error:
            shown = str(error)
            outcomes.add("refused")
        else:
            shown = "\n".join([result.text, *map(str, result.notes)])
            outcomes.add("lost")
            check_printed(result.text, number)
        assert TOKEN not in shown, number
        assert SECRET not in shown, number
        assert "\x1b" not in shown, number
    assert outcomes == {"refused", "lost"}
