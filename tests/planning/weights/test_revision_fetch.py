"""Revisions of a hub with a slash: branches in folders, and references such as refs/pr/5."""

import json
import subprocess
import sys

import pytest

import planning
from manifests.assembly import objects, render
from models.load import load
from models.lock import Lock
from models.paths import Path
from models.pins import Pin
from models.problems import ConfigError
from planning.weights import locks
from tests.support.stacks import NAME, find, lines, plan, tree

COMMIT = "c1" * 20
REVISIONS = pytest.mark.parametrize("revision", ["refs/pr/5", "release/v1.2", "refs/convert/parquet"])
LIBRARY = """
import types


class HfApi:
    def model_info(self, name, revision):
        return types.SimpleNamespace(sha={("org/m", "refs/pr/5"): "%s"}[name, revision])
"""


def serving(revision, **service):
    return tree(qwen={"model": {"name": "org/m", "source": f"hf://org/m@{revision}"}, **service})


def fetching(loaded):
    """Return the container that fetches the model."""
    manifests = [each.manifest for each in objects(render(planning.plan(loaded, NAME)))]
    containers = find(manifests, "Deployment", "qwen-decode")["spec"]["template"]["spec"]["initContainers"]
    return next(container for container in containers if container["name"] == "model-download")


@REVISIONS
def test_a_revision_with_a_slash_is_a_source_wherever_a_source_may_stand(revision):
    """See defects HF2."""
    source = f"hf://org/m@{revision}"
    adapters = {"lora": {"adapters": {"sql": {"source": source}}}}
    canary = {"weight": 1, "model": {"source": source}}
    stack = tree(
        qwen={"model": {"name": "org/m", "source": source, **adapters}, "canary": canary},
        bert={"model": {"name": "org/bert"}, "storage": {"type": "shared", "cache": "weights"}},
    )
    stack["caches"] = {"weights": {"source": source, "size": "5Gi"}}
    found = json.dumps([each.manifest for each in objects(render(planning.plan(load(stack), NAME)))])
    # Pods of primary and canary fetch model and adapter, and a Job fetches the cache.
    assert found.count(f'"hf://org/m:{revision}"') == 5


@pytest.mark.parametrize("revision", ["refs/../main", "a//b", "/a", "a/", "a/./b", "a b/c", "a/-b/%2e"])
def test_a_revision_that_leaves_its_place_is_none(revision):
    with pytest.raises(ConfigError, match="is not a Hugging Face model"):
        plan(serving(revision))


@pytest.mark.parametrize("prefill", [{}, {"prefill": {}}])
def test_the_container_asks_the_hub_for_the_commit_and_lets_the_downloader_fetch_it(tmp_path, prefill):
    """The downloader takes no source with a slash in its revision. The library of the hub is a stand-in."""
    container = fetching(load(serving("refs/pr/5", **prefill)))
    assert container["args"][0] == "hf://org/m:refs/pr/5"
    *interpreter, entrypoint = container["command"]
    assert (interpreter[0], entrypoint) == ("python3", "/storage-initializer/scripts/initializer-entrypoint")
    (tmp_path / "huggingface_hub.py").write_text(LIBRARY % COMMIT, encoding="utf-8")
    downloader = tmp_path / "downloader"
    downloader.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    downloader.chmod(0o755)
    command = [sys.executable, *interpreter[1:], str(downloader), *container["args"]]
    environment = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [f"hf://org/m:{COMMIT}", container["args"][1]]), done.stderr


def test_a_revision_without_a_slash_is_fetched_by_the_downloader_alone():
    assert "command" not in fetching(load(serving("v1.2")))


@REVISIONS
def test_a_locked_revision_is_fetched_by_its_commit(revision):
    stack, at = serving(revision), Path("services", "qwen", "model")
    values = {"was": f"hf://org/m@{revision}", "source": f"hf://org/m@{COMMIT}", "asked": "2026-11-22T05:00:00Z"}
    pins = {at: Pin.model_validate({**values, "from": "https://huggingface.co"})}
    container = fetching(locks.apply(load(stack), Lock(str(NAME), pins), NAME.stack).loaded)
    assert container["args"][0] == f"hf://org/m:{COMMIT}"
    assert "command" not in container


def test_a_reference_that_the_hub_moves_is_a_warning():
    expected = "is a branch, so the files may change under it (refs/pr/5); write the commit: hf://org/m@<commit>"
    warned = [line for line in lines(plan(serving("refs/pr/5")).warnings, "warning") if "source: " in line]
    assert warned == [f"services.qwen.model.source: {expected}"]
