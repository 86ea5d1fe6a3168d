"""Selection in a stack: what is read, what a lock keeps, what is told of it, and what canary and prefill get."""

import pytest

from composition import Given, LockFile, compose, selecting
from composition.selecting import ProfileSelection
from composition.sources import Sources
from models.problems import ConfigError
from planning.ground.cluster_facts import NOTHING_READ
from planning.selection.records import Reason
from tests.support.stacks import GATEWAY, NAME, find, profiles, tree
from tests.support.stacks.profiles import MODEL, cluster, composed, facts, lock, node, profile

ASKED = {"model": {"name": MODEL}}
BOTH = {"small": profile("amd-mi210"), "large": profile("amd-mi355x")}
CLUSTER = cluster("amd-mi210", "amd-mi355x")


def outputs(stack, known=NOTHING_READ, **more):
    return composed(stack, known, **more).contract["services"]["qwen"]


def chosen(stack, known=NOTHING_READ, **more):
    return outputs(stack, known, **more)["profile"]["id"]


def told(stack, known, folder):
    """Return the warnings about selections."""
    found = composed(stack, known, lock=LockFile(folder))
    return [str(each) for each in (*found.source_warnings, *found.preflight) if ".selection: " in str(each)]


class Counting(Given):
    """A cluster that counts how often it is read."""

    def __init__(self, known):
        super().__init__(known)
        object.__setattr__(self, "reads", [])

    def facts(self, spec, needs):
        self.reads.append(needs)
        return super().facts(spec, needs)


def test_a_stack_that_selects_nothing_reads_no_catalogue_and_no_nodes(monkeypatch):
    monkeypatch.setattr(selecting.shipped, "files", lambda: pytest.fail("the catalogue was read"))
    target = Counting(NOTHING_READ)
    compose(tree(), target, NAME)
    assert len(target.reads) == 1


def test_the_nodes_are_read_for_a_question_that_the_lock_does_not_answer(tmp_path):
    stack, target = profiles.stack(BOTH), Counting(CLUSTER)
    compose(stack, target, NAME)
    assert [each.nodes for each in target.reads] == [True, True]
    lock(stack, tmp_path, known=CLUSTER)
    locked = Counting(CLUSTER)
    compose(stack, locked, NAME, lock=LockFile(tmp_path))
    assert len(locked.reads) == 1


@pytest.mark.parametrize("known", [NOTHING_READ, CLUSTER, cluster("amd-mi355x"), facts([])])
def test_a_locked_choice_stays_whatever_facts_say(tmp_path, known):
    lock(profiles.stack(BOTH), tmp_path, known=cluster("amd-mi210"))
    assert chosen(profiles.stack(BOTH), known, lock=LockFile(tmp_path)) == "small"


def test_a_better_one_is_told_and_taken_by_an_update_alone(tmp_path):
    stack = profiles.stack(BOTH)
    lock(stack, tmp_path, known=cluster("amd-mi210"))
    update = "run `python -m cli lock dev --update qwen` to select again"
    better = "services.qwen.selection: large would be selected instead of small, which is locked"
    assert told(stack, CLUSTER, tmp_path) == [f"{better}; {update}"]
    lock(stack, tmp_path, known=CLUSTER)
    assert chosen(stack, CLUSTER, lock=LockFile(tmp_path)) == "small"
    lock(stack, tmp_path, "qwen", known=CLUSTER)
    assert chosen(stack, CLUSTER, lock=LockFile(tmp_path)) == "large"
    assert told(stack, CLUSTER, tmp_path) == []


def test_one_that_does_not_fit_is_told_and_stays(tmp_path):
    stack = profiles.stack({"small": BOTH["small"]})
    lock(stack, tmp_path, known=cluster("amd-mi210"))
    (line,) = told(stack, cluster(), tmp_path)
    assert "small is locked, but would be dropped (cluster, AcceleratorNotInCluster: no node has" in line
    assert chosen(stack, cluster(), lock=LockFile(tmp_path)) == "small"


def test_one_that_is_gone_or_has_changed_is_told_and_stays_as_it_was(tmp_path):
    stack = profiles.stack({"small": profile("amd-mi210", service={"engine": {"maxNumSeqs": 7}})})
    lock(stack, tmp_path, known=cluster("amd-mi210"))
    changed = profiles.stack({"small": profile("amd-mi210", service={"engine": {"maxNumSeqs": 9}})})
    gone = profiles.stack({"other": profile("amd-mi210")})
    for other, what in ((changed, "has changed in the catalogue"), (gone, "no longer in the catalogue")):
        assert what in told(other, cluster("amd-mi210"), tmp_path)[0]
        found = composed(other, cluster("amd-mi210"), lock=LockFile(tmp_path))
        deployment = find([each.manifest for each in found.objects], "Deployment", "qwen-decode")
        assert "--max-num-seqs=7" in str(deployment)


def test_a_cordoned_node_changes_nothing_but_a_warning():
    stack, nodes = profiles.stack(BOTH), [node("a", "amd-mi355x"), node("b", "amd-mi210")]
    before = composed(stack, facts(nodes))
    after = composed(stack, facts([node("a", "amd-mi355x", cordoned=True), nodes[1]]))
    assert [each.manifest for each in before.objects] == [each.manifest for each in after.objects]
    added = {str(each) for each in after.preflight} - {str(each) for each in before.preflight}
    assert len(added) == 1
    assert "no node of this class takes pods (a: cordoned)" in added.pop()


def test_another_question_makes_the_lock_stale(tmp_path):
    stack = profiles.stack(BOTH)
    lock(stack, tmp_path, known=cluster("amd-mi355x"))
    other = profiles.stack(BOTH, qwen=ASKED | {"selection": {"accelerators": ["amd-mi210"]}})
    assert chosen(other, CLUSTER, lock=LockFile(tmp_path)) == "small"
    what = "has changed since inference.dev.lock.yaml was written"
    stale = f"services.qwen.selection: {what}; run `python -m cli lock dev`"
    assert told(other, CLUSTER, tmp_path) == [stale]
    with pytest.raises(ConfigError, match="has changed since"):
        composed(other | {"checks": {"lock": "strict"}}, CLUSTER, lock=LockFile(tmp_path))
    assert told(other | {"checks": {"lock": "skip"}}, CLUSTER, tmp_path) == []


def test_a_lock_without_the_service_is_told(tmp_path):
    lock(profiles.stack(BOTH, other=ASKED), tmp_path, known=CLUSTER)
    (line,) = told(profiles.stack(BOTH, qwen=ASKED), CLUSTER, tmp_path)
    assert line.startswith("services.qwen.selection: has no profile in inference.dev.lock.yaml")


def test_without_nodes_it_is_told_that_they_were_not_considered():
    found = composed(profiles.stack(BOTH))
    (line,) = [str(each) for each in found.preflight if ".selection: " in str(each)]
    assert line.startswith("services.qwen.selection: large was selected although the nodes are unknown: cluster.")


CANARY = ASKED | {
    "canary": {"weight": 0, "selection": {"profile": "small"}, "prefill": {}},
    "prefill": {},
}


def test_canary_and_prefill_get_their_own_profile_and_have_their_own_place_in_the_lock(tmp_path):
    stack = profiles.stack(BOTH, qwen=CANARY) | {"gateway": dict(GATEWAY)}
    found, made = outputs(stack, CLUSTER), lock(stack, tmp_path, known=CLUSTER)[0]
    ids = {name: {role: each["id"] for role, each in found[name]["profiles"].items()} for name in ("primary", "canary")}
    assert ids == {
        name: {"decode": each, "prefill": each} for name, each in (("primary", "large"), ("canary", "small"))
    }
    assert sorted(map(str, made.profiles)) == ["services.qwen", "services.qwen.canary"]
    assert outputs(stack, NOTHING_READ, lock=LockFile(tmp_path))["canary"]["profiles"]["prefill"]["locked"] is True


def test_prefill_may_wish_something_else():
    fast = profile("amd-mi355x", metric="throughput", service={"engine": {"maxNumSeqs": 9}})
    service = ASKED | {"prefill": {"selection": {"metric": "throughput"}}, "selection": {"metric": "latency"}}
    both = {"fast": fast, "near": profile("amd-mi355x", metric="latency", service={"engine": {"maxNumSeqs": 7}})}
    found = composed(profiles.stack(both, qwen=service))
    profiles_by_role = found.contract["services"]["qwen"]["primary"]["profiles"]
    assert {role: each["id"] for role, each in profiles_by_role.items()} == {"decode": "near", "prefill": "fast"}
    manifests = [each.manifest for each in found.objects]
    assert "--max-num-seqs=7" in str(find(manifests, "Deployment", "qwen-decode"))
    assert "--max-num-seqs=9" in str(find(manifests, "Deployment", "qwen-prefill"))


def test_prefill_may_be_selected_for_a_service_that_says_all_itself():
    explicit = {"model": {"name": MODEL, "source": f"hf://{MODEL}"}, "accelerator": "amd-mi355x"}
    service = explicit | {"prefill": {"selection": {"profile": "large"}}}
    profiles_by_role = outputs(profiles.stack(BOTH, qwen=service))["primary"]["profiles"]
    assert {role: each["id"] for role, each in profiles_by_role.items()} == {"prefill": "large"}
    unknown = service | {"model": {"name": "org/none", "source": "hf://org/none"}}
    with pytest.raises(ConfigError, match=r"services\.qwen\.model\.name: is not in the catalogue"):
        composed(profiles.stack(BOTH, qwen=unknown))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": 7}, r"services\.qwen\.model\.name: is a number \(7\)"),
        (
            {"name": "org/none", "source": "image://registry.example/server:v1"},
            r"services\.qwen\.model\.name: is not in the catalogue \(org/none\); use org/model, or remove selection",
        ),
    ],
)
def test_a_model_that_cannot_be_looked_up_is_told_at_its_name(model, message):
    with pytest.raises(ConfigError, match=message):
        composed(profiles.stack(BOTH, qwen={"model": model, "selection": {}}))


def test_a_canary_that_says_all_itself_has_no_profile_of_its_service():
    other = {"name": "org/other", "source": "hf://org/other"}
    canary = {"weight": 0, "model": other, "accelerator": "amd-mi355x"}
    stack = profiles.stack(BOTH, qwen=ASKED | {"canary": canary}) | {"gateway": dict(GATEWAY)}
    found = outputs(stack, CLUSTER)
    assert (found["profile"]["id"], found["canary"]["profiles"]) == ("large", {})


@pytest.mark.parametrize(
    ("layer", "expected"),
    [("defaults", "7"), ("profile", "9"), ("service", "11")],
)
def test_a_profile_is_between_defaults_and_the_service(layer, expected):
    numbers = {"defaults": {"engine": {"maxNumSeqs": 7}}, "profile": {}, "service": {}}
    numbers["profile"] = {"engine": {"maxNumSeqs": 9}} if layer != "defaults" else {}
    numbers["service"] = {"engine": {"maxNumSeqs": 11}} if layer == "service" else {}
    stack = profiles.stack({"a": profile(service=numbers["profile"])}, qwen=ASKED | numbers["service"])
    found = composed(stack | {"defaults": numbers["defaults"]})
    deployment = find([each.manifest for each in found.objects], "Deployment", "qwen-decode")
    assert f"'--max-num-seqs={expected}'" in str(deployment)


def test_arguments_and_variables_of_a_profile_merge_with_those_of_the_service():
    fields = {"engine": {"args": ["--seed=2"], "env": {"A": "service"}}}
    of_profile = {"engine": {"args": ["--seed=1", "--enforce-eager"], "env": {"A": "profile", "B": "profile"}}}
    found = composed(profiles.stack({"a": profile(service=of_profile)}, qwen=ASKED | fields))
    text = str(find([each.manifest for each in found.objects], "Deployment", "qwen-decode"))
    assert "'--seed=2'" in text
    assert "'--enforce-eager'" in text
    assert "--seed=1" not in text
    assert "{'name': 'A', 'value': 'service'}" in text
    assert "{'name': 'B', 'value': 'profile'}" in text


def test_selection_in_defaults_concerns_models_of_the_catalogue_alone():
    stack = profiles.stack(BOTH, qwen=ASKED, own=tree()["services"]["qwen"])
    found = composed(stack | {"defaults": {"selection": {"accelerators": ["amd-mi210"]}}}).contract["services"]
    assert (found["qwen"]["profile"]["id"], found["own"]["profile"]) == ("small", None)


def test_a_missing_accelerator_is_the_profiles_where_the_model_is_in_the_catalogue():
    known = {"model": {"name": MODEL, "source": "s3://bucket/model"}}
    found = outputs(profiles.stack(BOTH, qwen=known))
    assert (found["profile"]["id"], found["model"]["source"]) == ("large", "s3://bucket/model")
    with pytest.raises(ConfigError, match=r"services\.qwen\.accelerator: is missing"):
        composed(profiles.stack(BOTH, qwen={"model": {"name": "org/x", "source": "s3://bucket/model"}}))


def test_files_are_between_the_stack_and_the_shipped_profiles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "profiles:\n  mine: {model: Qwen/Qwen3-32B, type: optimized, deviceCount: 1, source: a page, "
        "service: {accelerator: nvidia-h100-80gb, model: {source: 'hf://Qwen/Qwen3-32B'}}}\n",
        encoding="utf-8",
    )
    service = {"model": {"name": "Qwen/Qwen3-32B"}}
    stack = profiles.stack({}, shipped=True, qwen=service)
    stack["catalogue"]["files"] = ["mine.yaml"]
    assert chosen(stack) == "mine"
    near = profile("nvidia-l40s", model="Qwen/Qwen3-32B")
    assert chosen(stack | {"catalogue": stack["catalogue"] | {"profiles": {"near": near}}}) == "near"
    shipped = profiles.stack({}, shipped=True, qwen=service)
    assert chosen(shipped) not in {"mine", "near"}
    with pytest.raises(ConfigError, match="is not in the catalogue"):
        composed(profiles.stack({}, qwen=service))


def test_a_profile_replaces_one_of_the_same_id_that_is_farther():
    whole = profiles.catalogue({"a": profile("amd-mi210")}, {"a": profiles.Scope.SHIPPED})
    assert [each.class_name for each in whole.candidates(MODEL)] == ["amd-mi210"]


def test_every_reason_occurs_in_a_selection():
    both = {
        "best": profile("amd-mi300x"),
        "worse": profile("amd-mi210"),
        "type": profile(type="preview"),
        "unknown": profile("no-class"),
        "absent": profile("amd-mi355x"),
        "large": profile(count=16),
        "misfit": profile("nvidia-l40s", service={"model": {"source": "hf://Qwen/Qwen3-235B-A22B"}}),
    }
    known, found = cluster("amd-mi300x", "amd-mi210"), set[str]()
    found |= set(profiles.reasons(profiles.among(both, known)).values())
    tie = {"a": profile("amd", metric="latency", precision="fp8"), "b": profile("amd", metric="latency")}
    for requested in (
        {"profile": "best"},
        {"metric": "throughput"},
        {"precision": "fp8"},
        {"deviceCount": 2},
        {"minDeviceMemory": "64Ti"},
        {"minDeviceMemory": "1Gi"},
        {"accelerators": ["nvidia"]},
    ):
        found |= set(profiles.reasons(profiles.among(tie | both, **requested)).values())
    found |= set(profiles.reasons(profiles.among({"a": profile(), "b": profile()})).values())
    scopes = {"a": profiles.Scope.SHIPPED}
    whole = profiles.catalogue({"a": profile(), "b": profile()}, scopes).candidates(MODEL)
    found |= set(profiles.reasons(profiles.selection(whole)).values())
    by_image = profiles.question()
    asked = by_image.model_copy(update={"image": "registry.example/server:v1"})
    found |= set(profiles.reasons(profiles.selection(whole, asked)).values())
    assert found == {str(reason) for reason in Reason}


def test_an_empty_tree_selects_nothing():
    assert selecting.select({}, Sources(), None, "dev", Given(NOTHING_READ)) == ProfileSelection()


def test_a_preview_shows_the_profile_of_each_role_beside_its_devices():
    both = {"small": profile("amd-mi210"), "large": profile("amd-mi300x", metric="latency")}
    (service,) = composed(profiles.stack(both)).plan.services
    assert service.preview_inputs()["profiles"] == {"decode": "large (optimized, latency, amd-mi300x)"}
    (plain,) = composed(profiles.stack({}, qwen=tree()["services"]["qwen"])).plan.services
    assert "profiles" not in plain.preview_inputs()
