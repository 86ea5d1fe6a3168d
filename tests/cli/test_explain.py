"""The command `explain`: the table in a terminal and as JSON, for services that select and those that do not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cli import explain
from facts import facts_file
from models.problems import ConfigError
from planning.ground.cluster_facts import Served
from tests.support import commands
from tests.support.stacks import profiles, tree
from tests.support.stacks.profiles import MODEL, cluster, profile

BOTH = {
    "fast": profile("amd-mi355x", metric="latency", precision="fp8"),
    "small": profile("amd-mi210"),
    "rough": profile(type="unoptimized"),
}
KNOWN = replace(cluster("amd-mi210", "amd-mi300x"), apis=Served(frozenset()))
ASKED = {"model": {"name": MODEL}}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write a stack file, and return a function that explains it."""
    monkeypatch.chdir(tmp_path)
    Path("Pulumi.yaml").write_text("name: inference-stacks\n", encoding="utf-8")
    Path("facts.json").write_text(facts_file.text(KNOWN), encoding="utf-8")

    def explained(stack, *arguments):
        Path("Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": {"inference-stacks:stack": stack}}))
        code = commands.run(explain, "prod", *arguments, "--facts", "facts.json")
        return code, *capsys.readouterr()

    return explained


def test_the_table_in_a_terminal(run):
    code, out, err = run(profiles.stack(BOTH))
    assert (code, err) == (0, "")
    assert (
        out
        == """services.qwen: org/model

selected: small (optimized, amd-mi210)

profile  scope  rank  stage       reason                   detail
small    stack  1     comparison  BestMatch
fast     stack        cluster     AcceleratorNotInCluster  no node has the labels and devices of amd-mi355x
rough    stack        type        TypeBelowMinimum         its type is unoptimized, below the minimum optimized
"""
    )


def test_the_table_as_json_has_counters_and_scores(run):
    code, out, _ = run(profiles.stack(BOTH), "--json")
    (found,) = json.loads(out)["selections"].values()
    assert code == 0
    assert (found["outcome"], found["profile"], found["locked"], found["hint"]) == ("selected", "small", False, "")
    assert (
        found["diagnostics"].items()
        >= {
            "totalCandidates": 3,
            "afterUnoptimizedFilter": 2,
            "afterOverridesFilter": 2,
            "afterGPUAvailabilityFilter": 1,
            "unoptimizedTemplatesWereFiltered": True,
        }.items()
    )
    best, *others = found["candidates"]
    assert (best["id"], best["rank"], best["scores"]["type"], best["source"]) == ("small", 1, 0, "a page")
    assert [each["scores"] for each in others] == [None, None]
    assert found["question"] == {"model": MODEL}


def test_a_question_without_an_answer_has_its_table_a_hint_and_exit_code_2(run):
    code, out, err = run(profiles.stack({"rough": BOTH["rough"]}))
    assert code == 2
    assert "rough    stack        type   TypeBelowMinimum  its type is unoptimized, below the minimum optimized" in out
    assert "set selection.minimumType: unoptimized to use profiles of lower types" in err
    _, out, _ = run(profiles.stack({"rough": BOTH["rough"]}), "--json")
    (found,) = json.loads(out)["selections"].values()
    assert (found["outcome"], found["profile"]) == ("none", None)
    assert "set selection.minimumType: unoptimized" in found["hint"]


def test_one_service_alone(run):
    stack = profiles.stack(BOTH, qwen=ASKED, other=ASKED, own={"model": {"source": "hf://a/b"}, "accelerator": "amd"})
    assert run(stack, "other")[1].startswith("services.other: ")
    assert run(stack, "own")[1] == "own selects no profile.\n"
    with pytest.raises(ConfigError, match=r"names no service of the stack \(gone\); known: other, own, qwen"):
        run(stack, "gone")


def test_a_stack_that_selects_nothing_says_so(run):
    assert run(tree())[1].startswith("No service selects a profile.")


def test_a_model_in_no_catalogue_is_said(run):
    """See defects C13."""
    code, _, err = run(profiles.stack(BOTH, qwen={"model": {"name": "org/gone"}}))
    assert (code, "add model.source: hf://org/gone" in err) == (2, True)


def test_a_locked_choice_is_in_the_table_of_today(run, tmp_path):
    run(profiles.stack(BOTH))
    lock = profiles.lock(profiles.stack(BOTH), tmp_path, known=cluster("amd-mi355x"))
    assert lock[1] == ()
    (tmp_path / "inference.dev.lock.yaml").rename(tmp_path / "inference.prod.lock.yaml")
    text = (tmp_path / "inference.prod.lock.yaml").read_text(encoding="utf-8")
    (tmp_path / "inference.prod.lock.yaml").write_text(text.replace("inference-stacks/dev", "inference-stacks/prod"))
    _, out, _ = run(profiles.stack(BOTH))
    assert "locked: fast (optimized, latency, fp8, amd-mi355x)" in out
    assert "small    stack  1     comparison  BestMatch" in out


def test_a_profile_that_replaces_a_farther_one_says_so(run):
    """See defects U7."""
    file = Path(explain.__file__).parent.parent / "catalogue" / "gpt-oss-20b.yaml"
    name, farther = next(iter(yaml.safe_load(file.read_text(encoding="utf-8"))["profiles"].items()))
    model = farther["model"]
    nearer = profile("amd-mi210", model=model)
    code, out, _ = run(profiles.stack({name: nearer}, shipped=True, qwen={"model": {"name": model}}))
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith(f"{name} ")]
    assert row.endswith(f"replaces that of catalogue/{file.name}")
