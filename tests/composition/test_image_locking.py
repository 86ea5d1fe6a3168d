"""`lock --images` pins the images of containers, and a stack renders them as its lock has them."""

import pytest

from composition import Composition, Given, LockFile, Refusal, compose, locking
from composition.locking import LockOrder
from composition.sources import Configuration
from facts import source_sizes
from manifests import image_pins
from manifests.assembly import objects
from models.lock import file_name, text
from planning.ground.cluster_facts import NOTHING_READ
from planning.weights.contents import Content
from planning.weights.sizes import Unusable
from tests.support.stacks import NAME, tree

ENGINE, OTHER = "registry.example/engine:v1", "registry.example/engine:v2"
PICKER = "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.11.0"
FIRST, SECOND = (f"sha256:{letter * 64}" for letter in "ab")
FILE = file_name(NAME.stack)


class Registries:
    """Answers of all registries, and the images that they were asked for."""

    def __init__(self):
        self.digest = FIRST
        self.refused = set()
        self.asked = []

    def answer(self, questions):
        questions = list(questions)
        return {question: self._answer(question) for question in questions}

    def _answer(self, question):
        reference = question.source.removeprefix("image://")
        if question.source.startswith("pvc://"):
            return Content(question.source, origin="nobody")
        self.asked.append(reference)
        if reference in self.refused:
            return Unusable("source", f"is not in its registry ({reference})", "push it, or correct the reference")
        return Content(f"{question.source.rpartition(':')[0]}@{self.digest}", origin="registry.example")


@pytest.fixture
def registries(monkeypatch):
    stand_in = Registries()
    monkeypatch.setattr(source_sizes, "contents", stand_in.answer)
    return stand_in


def stack(image=ENGINE, **more):
    model = {"name": "m", "source": "pvc://weights/m"}
    return tree(qwen={"model": model, "engine": {"image": image, "type": "vllm"}, **more}) | {
        "checks": {"preflight": "skip"}
    }


@pytest.fixture
def lock(tmp_path, registries):
    """Return a function that runs `lock`, writes the file, and returns problems and warnings about images."""

    def run(tree, *, images=False):
        result = locking.make(order(tree, tmp_path, images=images))
        (tmp_path / FILE).write_text(text(result.lock), encoding="utf-8")
        warnings = [str(warning) for warning in result.warnings if str(warning).startswith("images")]
        return [*map(str, result.problems)], warnings

    return run


def order(tree, folder, *, images=False):
    return LockOrder(Configuration(tree), NAME, Given(NOTHING_READ), LockFile(folder), images=images)


def check(tree, folder):
    return [*map(str, locking.check(order(tree, folder)).problems)]


def composed(tree, folder):
    composition = compose(tree, Given(NOTHING_READ), NAME, lock=LockFile(folder))
    assert isinstance(composition, Composition)
    return composition


def unpinned(composition):
    return [*image_pins.references(objects(composition.components), ())]


def said(composition):
    return [str(problem) for problem in composition.source_warnings if str(problem).startswith("images")]


def test_every_image_is_pinned_and_rendered_with_its_digest(lock, tmp_path, registries):
    before = composed(stack(), tmp_path)
    assert unpinned(before) == [ENGINE, PICKER]
    restarts = f"images: get new digests, so that the next run restarts the pods with {PICKER}, {ENGINE}"
    assert lock(stack(), images=True) == ([], [restarts])
    assert sorted(registries.asked) == [PICKER, ENGINE]
    after = composed(stack(), tmp_path)
    assert (unpinned(after), said(after)) == ([], [])
    texts = [repr(item.manifest).replace(f"@{FIRST}", "") for item in after.objects]
    assert texts == [repr(item.manifest) for item in before.objects]


def test_an_image_without_a_tag_is_asked_for_the_latest(lock, tmp_path, registries):
    container = {"name": "more", "image": "registry.example:5000/more"}
    patched = stack(patch={"spec": {"template": {"spec": {"containers": [container]}}}})
    assert lock(patched, images=True)[0] == []
    assert "registry.example:5000/more:latest" in registries.asked
    rendered = [repr(item.manifest) for item in composed(patched, tmp_path).objects]
    assert any(f"'registry.example:5000/more@{FIRST}'" in manifest for manifest in rendered)


def test_a_lock_without_images_asks_no_registry_and_renders_as_before(lock, tmp_path, registries):
    before = composed(stack(), tmp_path)
    assert lock(stack()) == ([], [])
    assert registries.asked == []
    assert "images" not in (tmp_path / FILE).read_text(encoding="utf-8")
    after = composed(stack() | {"checks": {"preflight": "skip", "lock": "strict"}}, tmp_path)
    assert [item.manifest for item in after.objects] == [item.manifest for item in before.objects]


def test_digests_stay_until_they_are_asked_for_again(lock, tmp_path, registries):
    lock(stack(), images=True)
    first = (tmp_path / FILE).read_text(encoding="utf-8")
    registries.digest = SECOND
    registries.asked.clear()
    assert lock(stack()) == ([], [])
    assert (registries.asked, (tmp_path / FILE).read_text(encoding="utf-8")) == ([], first)
    assert lock(stack(), images=True)[0] == []
    second = (tmp_path / FILE).read_text(encoding="utf-8")
    assert (FIRST in second, second.count(SECOND), second.count("moved: true")) == (False, 2, 2)


def test_digests_of_images_that_are_gone_are_dropped_with_words(lock, tmp_path):
    lock(stack(), images=True)
    assert lock(stack(OTHER)) == (
        [],
        [
            f"images: lose the digests of images that no pod has any more ({ENGINE})",
            f"images: get no digest for images that are new ({OTHER}); run `python -m cli lock dev --images`",
        ],
    )
    assert unpinned(composed(stack(OTHER), tmp_path)) == [OTHER]


@pytest.mark.parametrize(("mode", "warned"), [("warn", True), ("skip", False)])
def test_another_tag_than_that_of_the_lock_is_reported(lock, tmp_path, mode, warned):
    lock(stack(), images=True)
    changed = composed(stack(OTHER) | {"checks": {"preflight": "skip", "lock": mode}}, tmp_path)
    message = f"images.{OTHER}: differs from {FILE}, which has {ENGINE}; run `python -m cli lock dev --images`"
    assert said(changed) == ([message] if warned else [])
    assert unpinned(changed) == [OTHER]


def test_a_strict_check_refuses_images_that_the_lock_lacks(lock, tmp_path):
    lock(stack(), images=True)
    strict = stack(OTHER, pod={"containers": {"more": {"image": "registry.example/more:v1"}}})
    strict |= {"checks": {"preflight": "skip", "lock": "strict"}}
    refusal = compose(strict, Given(NOTHING_READ), NAME, lock=LockFile(tmp_path))
    assert isinstance(refusal, Refusal)
    assert str(refusal.error).splitlines() == [
        f"images.{OTHER}: differs from {FILE}, which has {ENGINE}; run `python -m cli lock dev --images`",
        f"images.registry.example/more:v1: has no digest in {FILE}; run `python -m cli lock dev --images`",
    ]


def test_all_images_that_no_registry_has_are_problems_at_once_and_keep_their_digests(lock, tmp_path, registries):
    lock(stack(), images=True)
    registries.digest = SECOND
    registries.refused = {ENGINE, PICKER}
    assert sorted(lock(stack(), images=True)[0]) == [
        f"images.{image}: is not in its registry ({image}); push it, or correct the reference"
        for image in (PICKER, ENGINE)
    ]
    assert (tmp_path / FILE).read_text(encoding="utf-8").count(FIRST) == 2


def test_a_check_finds_moved_missing_and_needless_digests(lock, tmp_path, registries):
    lock(stack(), images=True)
    assert check(stack(), tmp_path) == []
    registries.digest = SECOND
    moved = check(stack(), tmp_path)
    assert len(moved) == 2
    assert all(
        f"({FIRST} to {SECOND}); run `python -m cli lock dev --images`, which rolls out" in line for line in moved
    )
    registries.digest = FIRST
    assert check(stack(OTHER), tmp_path) == [
        f"images.{OTHER}: has no block in {FILE}; run `python -m cli lock dev --images`",
        f"images.{ENGINE}: is in {FILE}, and no pod has it; run `python -m cli lock dev`",
    ]


def test_a_digest_that_has_moved_makes_a_new_generation_and_the_first_one_does_not(lock, tmp_path, registries):
    pair = stack(prefill={})
    first = names(composed(pair, tmp_path))
    lock(pair, images=True)
    assert names(composed(pair, tmp_path)) == first
    registries.digest = SECOND
    lock(pair, images=True)
    assert names(composed(pair, tmp_path)).isdisjoint(first)


def names(composition):
    return {workload.name for workload in composition.plan.services[0].workloads}
