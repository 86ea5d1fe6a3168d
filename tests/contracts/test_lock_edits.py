"""Edits of a lock by somebody who can compute its check sums: none leads anywhere that the stack file does not.

Each value of a lock is replaced and removed, and each mapping gets further keys, for every kind of source and every
place of a pin. A stack whose lock is accepted has the containers that it has with the true lock, and nothing in its
objects names what the edit names.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from composition import Composition, Given, LockFile, Refusal, compose, locking
from composition.locking import LockOrder
from composition.sources import Configuration
from facts import source_sizes
from models import lock
from models.problems import ConfigError
from models.source import bare, content, scheme
from planning.ground.cluster_facts import NOTHING_READ
from planning.weights.contents import Content
from tests.support.stacks import NAME, tree
from tests.support.stacks.profiles import MODEL, profile

COMMIT, DIGEST = "c1" * 20, f"sha256:{'d' * 64}"
EVIL_COMMIT, EVIL_DIGEST = "e" * 40, f"sha256:{'e' * 64}"
KIT, HUB, IMAGE = "kit://registry.example/org/m:v1", "hf://org/m@refs/pr/5", "image://registry.example/org/server:v1"
ADAPTERS = {"lora": {"adapters": {"sql": {"source": "hf://org/sql"}, "kit": {"source": f"{bare(KIT)}@{DIGEST}"}}}}
ENGINE = {"image": "registry.example/vllm-openai:v0.21.0", "args": ["--enforce-eager"], "env": {"A": "b"}}
CATALOGUE = {"shipped": False, "profiles": {"only": profile("nvidia-l40s", service={"engine": ENGINE})}}


def serving(source, more=None, **service):
    return tree(qwen={"model": {"name": "org/m", "source": source, **(more or {})}, **service})


STACKS = {
    "kit": serving(KIT),
    "kit-digest": serving(f"kit://registry.example/org/named@{DIGEST}"),
    "hf": serving(HUB),
    "hf-commit": serving(f"hf://org/named@{COMMIT}"),
    "s3": serving("s3://models/m", storage={"type": "dedicated"}),
    "pvc": serving("pvc://weights/m"),
    "image": serving(IMAGE),
    "adapters": serving(KIT, ADAPTERS),
    "canary": serving(HUB, canary={"weight": 10, "model": {"source": "hf://org/canary"}}),
    "prefill": serving(KIT, prefill={}, storage={"type": "dedicated"}),
    "cache": {
        **tree(qwen={"model": {"name": "org/c"}, "storage": {"type": "shared", "cache": "weights"}}),
        "caches": {"weights": {"source": "kit://registry.example/org/c:v1"}},
    },
    "profile": {"namespace": "models", "catalogue": CATALOGUE, "services": {"qwen": {"model": {"name": MODEL}}}},
}
EVIL_SOURCES = [
    *(f"hf://evil/m@{EVIL_COMMIT}", f"hf://org/named@{EVIL_COMMIT}", "hf://org/m@evil", KIT, HUB, IMAGE),
    *(f"kit://evil.example/org/m@{EVIL_DIGEST}", f"kit://registry.example/org/named@{EVIL_DIGEST}"),
    *(f"image://evil.example/org/server@{EVIL_DIGEST}", "s3://evil/m", "s3://models/evil", "pvc://evil/m"),
]
OTHER_VALUES = [
    *("http://evil.example", "evil.example:3128", "evil.example/x/y:v1", ["--tokenizer=evil/x"], {"evil": "evil"}),
    *(None, True, -1, 2**70, 1.5, "", [], {}, DIGEST, "2026-01-01T00:00:00Z"),
]
EVIL_KEYS = [
    *({"source": "hf://evil/m"}, {"image": "evil.example/x/y:v1"}, {"env": {"HTTPS_PROXY": "evil.example:3128"}}),
    *({"args": ["--tokenizer=evil/x"]}, {"endpoint": "http://evil.example"}, {"serviceAccountName": "evil"}),
    *({"namespace": "evil"}, {"secrets": ["evil"]}, {"digest": EVIL_DIGEST}, {"annotations": {"evil": "yes"}}),
]
OTHER_CONTENTS = [("org/named:", EVIL_COMMIT), ("org/named@", EVIL_DIGEST)]
"""Sources that name their content in the stack file, with other contents, as pods fetch them."""


def answers(questions):
    """Return what servers would answer."""
    return {each: _answer(each.source) for each in questions}


def _answer(source):
    if scheme(source) in {"s3", "pvc"}:
        return Content(source, DIGEST if scheme(source) == "s3" else None, 2**30, origin="registry.example")
    version = content(source) or (COMMIT if scheme(source) == "hf" else DIGEST)
    return Content(f"{bare(source)}@{version}", None, 2**30, origin="registry.example")


def true_lock(stack, folder):
    """Return the true lock of a stack as plain values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_sizes, "contents", answers)
        made = locking.make(LockOrder(Configuration(stack), NAME, Given(NOTHING_READ), LockFile(folder / "none")))
    assert made.problems == ()
    return yaml.safe_load(lock.text(made.lock))


def composed(stack, document, folder):
    """Compose a stack with a lock whose check sums are right."""
    for group in lock._BLOCKS:
        for block in document.get(group, {}).values():
            block["check"] = lock._check(block)
    text = yaml.dump(document, Dumper=lock._Dumper)
    (folder / lock.file_name(NAME.stack)).write_text(f"{text}...\n", encoding="utf-8")
    return compose(copy.deepcopy(stack), Given(NOTHING_READ), NAME, lock=LockFile(folder))


def places(value, at=()) -> Iterator[tuple]:
    """Yield the path of every value in the blocks of a lock. Lists count as values."""
    if len(at) > 2:
        yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            if at or key in lock._BLOCKS:
                yield from () if key == "check" else places(inner, (*at, key))


def edits(document) -> Iterator[tuple[str, dict]]:
    """Yield every edit of a lock, with its description."""
    for at in places(document):
        for value in (*EVIL_SOURCES, *OTHER_VALUES):
            changed, parent = _at(document, at)
            parent[at[-1]] = value
            yield f"{at} is {value}", changed
        changed, parent = _at(document, at)
        del parent[at[-1]]
        yield f"{at} is gone", changed
        for more in EVIL_KEYS:
            changed, parent = _at(document, at)
            if isinstance(parent[at[-1]], dict):
                parent[at[-1]] |= more
                yield f"{at} gets {more}", changed


def _at(document, path):
    """Return a copy of a lock, and the mapping in it that has the last key of a path."""
    changed = copy.deepcopy(document)
    node = changed
    for key in path[:-1]:
        node = node[key]
    return changed, node


def containers(composition):
    """Return the names of the containers of each workload and Job. The names of workloads follow what a lock says."""
    pods = [rendered.manifest.get("spec", {}).get("template", {}).get("spec", {}) for rendered in composition.objects]
    names = ([each["name"] for each in (*pod.get("initContainers", ()), *pod.get("containers", ()))] for pod in pods)
    return sorted(each for each in names if each)


def test_a_block_can_have_every_key_that_an_edit_changes(tmp_path):
    """The control: together the locks have every place of a pin, and each is accepted as it is."""
    keys = set[str]()
    for stack in STACKS.values():
        document = true_lock(stack, tmp_path)
        keys |= {key for at in places(document) for key in at}
        assert isinstance(composed(stack, document, tmp_path), Composition)
    assert {"caches", "adapters", "canary", "profile", "question", "source", "was", "digest", "bytes"} <= keys


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", STACKS)
def test_no_edit_of_a_lock_leads_anywhere_else(name, tmp_path):
    """See defects H1."""
    stack, counts = STACKS[name], Counter()
    document = true_lock(stack, tmp_path)
    original = composed(stack, copy.deepcopy(document), tmp_path)
    assert isinstance(original, Composition)
    for description, changed in edits(document):
        found = composed(stack, changed, tmp_path)
        is_accepted = isinstance(found, Composition)
        counts[is_accepted] += 1
        if is_accepted:
            rendered = json.dumps([each.manifest for each in found.objects])
            assert "evil" not in rendered, description
            assert not any(f"{place}{mark}" in rendered for place, mark in OTHER_CONTENTS), description
            assert containers(found) == containers(original), description
        else:
            assert isinstance(found, Refusal)
            assert isinstance(found.error, ConfigError), description
    assert min(counts[True], counts[False]) > 2, counts
