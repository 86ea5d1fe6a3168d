"""The lock file: what it holds comes back, equal locks have equal bytes, and whatever else is in it is refused."""

import pytest
import yaml

from models.lock import Lock, LockedCluster, _check, _Dumper, block_of, file_name, read, text
from models.paths import Path
from models.pins import Pin
from models.problems import ConfigError

STACK = "organization/inference-stacks/prod"
FILE = file_name("prod")
DIGEST = f"sha256:{'9' * 64}"
TIME = "2026-11-22T05:00:00Z"


def pin(repository="qwen3", **values):
    was = f"kit://registry.example/{repository}"
    fields = {"was": f"{was}:8b", "source": f"{was}@{DIGEST}", "asked": TIME, "from": "registry.example", "bytes": 7}
    return Pin.model_validate(fields | values)


MODEL = Path("services", "qwen", "model")
PINS = {
    Path("services", "zeta", "model"): pin("zeta", architecture={"layers": 36, "kvHeads": 8}),
    MODEL: pin(moved=True),
    MODEL / "lora" / "adapters" / "sql": pin("sql", deployed=True),
    MODEL / "speculative" / "draft": pin("draft"),
    Path("services", "qwen", "canary", "model"): pin("qwen4"),
    Path("caches", "mistral"): pin("mistral", settings={"ignorePatterns": ("a/**",)}),
}
CLUSTER = LockedCluster(
    name="prod-eu", gateways=("gateways/inference",), platform={"gateway": {"name": "inference"}}, asked=TIME
)
LOCK = Lock(STACK, PINS, CLUSTER, FILE)
TEXT = text(LOCK)


def refusal(content, stack=STACK, formerly=()):
    with pytest.raises(ConfigError) as error:
        read(content, FILE, stack, formerly)
    return str(error.value)


def test_a_lock_comes_back_as_it_was_written():
    assert read(TEXT, FILE, STACK) == LOCK
    assert text(read(TEXT, FILE, STACK)) == TEXT


@pytest.mark.parametrize("value", ["123456789e12", "1e3", "0o17", "123456789012", "-.5e3", ".inf", "2026-11-22", "no"])
def test_texts_that_look_like_numbers_are_texts(monkeypatch, value):
    """A check sum of only digits and an `e` is a number in the engine's YAML."""
    cluster = LockedCluster(name=value, platform={"storageClassName": value, value: 1}, asked=TIME)
    monkeypatch.setattr("models.lock._check", lambda _: value)
    lock = Lock(STACK, PINS, cluster, FILE)
    assert read(text(lock), FILE, STACK) == lock


def test_equal_locks_have_equal_bytes_in_sorted_blocks():
    reversed_pins = dict(reversed(PINS.items()))
    assert text(Lock(STACK, reversed_pins, CLUSTER)) == TEXT
    assert TEXT.index("  qwen:") < TEXT.index("  zeta:")


def test_a_service_has_one_block_whose_change_touches_no_other_line():
    changed = text(Lock(STACK, PINS | {MODEL: pin(bytes=8)}, CLUSTER)).splitlines()
    before = TEXT.splitlines()
    lines = {line for line in before if line not in changed}
    begin, end = before.index("  qwen:"), before.index("  zeta:")
    assert lines <= set(before[begin:end])
    assert {block_of(path) for path in PINS} == {"qwen", "zeta", "caches.mistral"}


def test_the_lock_of_an_empty_stack_is_a_lock():
    assert read(text(Lock(STACK)), FILE, STACK) == Lock(STACK, file=FILE)


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("bytes: 7", "bytes: 8", "services.qwen"),
        ("  qwen:\n", "  qwen:\n    note: mine\n", "services.qwen"),
        ("name: prod-eu", "name: prod-us", "cluster"),
        ("\n  zeta:", "\n  zeta: {}\n  yeta:", "services.zeta"),
    ],
)
def test_what_somebody_edited_is_refused_by_the_name_of_its_block(before, after, place):
    assert refusal(TEXT.replace(before, after, 1)) == (
        f"{place}: was edited by hand (from {FILE}); restore it from git, and let `python -m cli lock` alone write it"
    )


def test_all_edited_blocks_are_named_together():
    assert len(refusal(TEXT.replace("bytes: 7", "bytes: 8")).splitlines()) == 3


@pytest.mark.parametrize("count", [0, 1, 5, 20, -1])
def test_a_file_that_is_cut_off_is_refused(count):
    lines = TEXT.splitlines(keepends=True)[:count]
    expected = f"{FILE}: is cut off (its last line is not ...); restore it from git"
    assert refusal("".join(lines)) == expected


def test_conflict_markers_are_refused_with_their_line():
    line = TEXT[: TEXT.index("  zeta:")].count("\n") + 1
    merged = TEXT.replace("  zeta:", "<<<<<<< HEAD\n  zeta:")
    assert refusal(merged) == (
        f"{FILE}:{line}: has conflict markers of a merge; keep one side of each conflict as a whole"
    )


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            "lockVersion: 2",
            "has an unknown version (lockVersion: 2); upgrade this program, which reads version 1",
        ),
        (
            "lockVersion: one",
            "has an unknown version (lockVersion: one); restore it from git",
        ),
        ("", "has no lockVersion; restore it from git"),
    ],
)
def test_another_version_is_refused(version, message):
    assert refusal(TEXT.replace("lockVersion: 1", version)) == f"{FILE}: {message}"


@pytest.mark.parametrize("other", ["organization/inference-stacks/dev", "organization/other/prod"])
def test_the_lock_of_another_stack_or_project_is_refused(other):
    assert refusal(TEXT, other) == (
        f"{FILE}: is the lock of another stack ({STACK}, and not {other}); "
        f"write a lock with `python -m cli lock {other.rpartition('/')[2]}`, "
        "or add that name to formerly if this stack had that name before"
    )
    assert read(TEXT, FILE, other, (STACK,)) == LOCK
    assert read(TEXT, FILE, other, ("inference-stacks/prod",)) == LOCK


def test_the_organization_is_spelt_as_the_backend_spells_it():
    assert read(TEXT, FILE, "acme/inference-stacks/prod") == LOCK


def test_unknown_keys_and_repeated_blocks_are_refused():
    assert refusal(TEXT.replace("\n...", "\nnotes: mine\n...")) == (
        f"notes: unknown key (from {FILE}); restore it from git"
    )
    block = TEXT[TEXT.index("  zeta:") : TEXT.index("caches:")]
    line = TEXT[: TEXT.index("caches:")].count("\n") + 1
    assert refusal(TEXT.replace(block, 2 * block)) == (
        f"{FILE}:{line}: is not valid YAML (key zeta is repeated); correct that line"
    )


@pytest.mark.parametrize("change", [{"bytes": 0}, {"digest": "sha256:9"}, {"source": "qwen"}, {"asked": "yesterday"}])
def test_a_block_of_another_shape_is_refused_although_its_check_is_right(change):
    broken = pin().model_copy(update=change)
    content = text(Lock(STACK, {MODEL: broken}))
    assert refusal(content) == (
        "services.qwen: has keys or values that this version of the program never writes "
        f"({next(iter(change))}) (from {FILE}); "
        "upgrade this program, or restore the file from git"
    ).replace(") (from", ", from")


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"canary": 5}, "canary"),
        ({"adapters": ["sql"], "profile": "small", "prefill": None}, "adapters, prefill, profile"),
        ({"canary": {"adapters": "sql"}}, "canary.adapters"),
        ({"adapters": {"sql": 7}}, "adapters.sql"),
        ({"draft": "one"}, "draft"),
    ],
)
def test_a_block_without_mappings_is_refused_although_its_check_is_right(changes, keys):
    """See defects H1."""
    document = yaml.safe_load(text(Lock(STACK, {MODEL: pin()})))
    block = document["services"]["qwen"] | changes
    document["services"]["qwen"] = block | {"check": _check(block)}
    assert refusal(f"{yaml.dump(document, Dumper=_Dumper)}...\n") == (
        f"services.qwen: has keys or values that this version of the program never writes ({keys}, from {FILE}); "
        "upgrade this program, or restore the file from git"
    )


def test_a_cluster_of_another_shape_is_refused_although_its_check_is_right():
    content = text(Lock(STACK, PINS, CLUSTER.model_copy(update={"asked": "yesterday"})))
    assert refusal(content).startswith("cluster: has keys or values that this version")
    assert f"(asked, from {FILE})" in refusal(content)


def test_a_lock_and_its_groups_are_mappings():
    assert refusal("[]\n...\n") == f"{FILE}: is not a mapping; restore it from git"
    content = TEXT[: TEXT.index("caches:")] + "caches: none\n...\n"
    assert refusal(content).startswith("caches: ")


def test_the_blocks_of_a_lock_have_the_names_that_an_update_takes():
    assert sorted(LOCK.blocks) == ["caches.mistral", "qwen", "zeta"]


def test_no_stack_file_has_the_name_of_a_lock():
    assert not file_name("prod").startswith("Pulumi.")
