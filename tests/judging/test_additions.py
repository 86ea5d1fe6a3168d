"""Additions of somebody else to a list that a manifest states as a whole are found, said and written over."""

import copy

import pytest

from judging import additions
from manifests.assembly import objects, render
from planning.ground.cluster_facts import FieldOwner, LiveObject, LiveObjects
from tests.support.stacks import lines, plan, tree

TIME = "2026-07-01T07:52:50Z"
TAKEN_BACK = "inference-stacks.io/taken-back"
RULE = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
SERVE = ["spec", "template", "spec", "containers", 0, "args"]


def components(**service):
    return render(plan(tree(qwen=service) | {"networkPolicies": {}}))


def of(kind, name, made=None):
    (found,) = [each for each in objects(made or components()) if each.place[1::2] == (kind, name)]
    return found


def owned(*path):
    """Return the tree of a field that is set as a whole."""
    fields = {}
    for key in reversed(path):
        fields = {key: fields}
    return fields


def changed(rendered, fields, at, change, writer="kubectl-edit"):
    """Return an object of the cluster in which somebody changed a field and now owns some fields."""
    content = copy.deepcopy(dict(rendered.manifest))
    part = content
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = change(part[at[-1]])
    return LiveObject(content, (FieldOwner(writer, TIME, fields),))


def found(rendered, live):
    return [str(each) for each in additions.additions(rendered.manifest, live)]


ARGS = owned(
    "f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"vllm"}', "f:args"
)  # fmt: skip
CASES = {
    "a rule": ("Role", "qwen-epp", owned("f:rules"), ["rules"], lambda rules: [*rules, RULE], "rules"),
    "a subject": (
        "RoleBinding", "qwen-epp", owned("f:subjects"), ["subjects"],
        lambda subjects: [*subjects, {"kind": "Group", "name": "all"}], "subjects",
    ),
    "an argument": (
        "Deployment", "qwen-decode", ARGS, SERVE, lambda args: [*args, "--enforce-eager"],
        "spec.template.spec.containers[vllm].args",
    ),
    "a key of a selector": (
        "Service", "qwen", owned("f:spec", "f:selector"), ["spec", "selector"], lambda keys: {**keys, "a": "b"},
        "spec.selector",
    ),
    "an item in an item": (
        "HTTPRoute", "qwen", owned("f:spec", "f:rules"), ["spec", "rules", 0, "backendRefs"],
        lambda refs: [*refs, refs[0]], "spec.rules",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "fields", "at", "change", "message"), CASES.values(), ids=CASES)
def test_what_is_added_to_a_list_or_map_that_is_stated_as_a_whole_is_found(kind, name, fields, at, change, message):
    """See defects A17."""
    manifest = of(kind, name)
    assert found(manifest, changed(manifest, fields, at, change)) == [f"{message} by kubectl-edit at {TIME}"]
    # Without an owner it is what Pulumi wrote, in an older version of the manifest.
    assert found(manifest, changed(manifest, {}, at, change)) == []


OTHERS = {
    "another value, which the provider sees": ("Role", owned("f:rules"), ["rules"], lambda rules: [RULE, *rules[1:]]),
    "fewer items, which the provider sees": ("Role", owned("f:rules"), ["rules"], lambda rules: rules[:1]),
    "defaults of the API server": (
        "HTTPRoute", owned("f:spec", "f:rules"), ["spec", "rules", 0], lambda rule: {**rule, "default": True},
    ),
    "a label": (
        "Role", owned("f:metadata", "f:labels", "f:team"), ["metadata", "labels"], lambda keys: {**keys, "team": "a"},
    ),
    "a container": (
        "Deployment", owned("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"mesh"}', "f:args"),
        ["spec", "template", "spec", "containers"], lambda items: [*items, {"name": "mesh", "args": ["a"]}],
    ),
    "a set": (
        "Role", owned("f:metadata", "f:finalizers", 'v:"a"'), ["metadata", "labels"], dict,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "at", "change"), OTHERS.values(), ids=OTHERS)
def test_what_others_may_own_and_what_the_provider_sees_is_no_addition(kind, fields, at, change):
    names = {"Role": "qwen-epp", "HTTPRoute": "qwen", "Deployment": "qwen-decode"}
    manifest = of(kind, names[kind])
    assert found(manifest, changed(manifest, fields, at, change)) == []


def test_an_object_with_additions_is_annotated_with_them_and_a_warning_names_them():
    made = components()
    role = of("Role", "qwen-epp", made)
    live = changed(role, owned("f:rules"), ["rules"], lambda rules: [*rules, RULE])
    live_objects = LiveObjects({role.place: live})
    annotated = additions.take_back(made, live_objects)
    problems = tuple(additions.judge(made, live_objects))
    assert lines(problems, "warning") == [
        f"Role models/qwen-epp: kubectl-edit added entries to rules ({TIME}); this run removes them"
    ]
    before = {each.id: each for each in objects(made)}
    differing = [each for each in objects(annotated) if each != before[each.id]]
    (marked,) = differing
    assert marked.manifest["metadata"]["annotations"] == {TAKEN_BACK: f"rules by kubectl-edit at {TIME}"}
    assert marked.manifest["rules"] == role.manifest["rules"]


def moved(items):
    return [{**items[0], "port": 9999}]


def test_a_port_that_somebody_gave_another_number_is_told_with_the_way_back():
    """The key of an item makes another item, and two of one name are refused. See defects A17."""
    made = components()
    service = of("Service", "qwen", made)
    fields = owned("f:spec", "f:ports", 'k:{"port":9999,"protocol":"TCP"}', "f:port")
    live = changed(service, fields, ["spec", "ports"], moved)
    live_objects = LiveObjects({service.place: live})
    annotated = additions.take_back(made, live_objects)
    problems = tuple(additions.judge(made, live_objects))
    (line,) = lines(problems, "warning")
    what = f"Service models/qwen: kubectl-edit changed the keys that identify spec.ports[8000] ({TIME}), and no run "
    assert line.startswith(what)
    assert line.endswith("; restore the keys of 8000, or delete the object and run with --refresh")
    assert annotated == made
    # A port beside the stated one is its owner's.
    beside = changed(service, fields, ["spec", "ports"], lambda items: [*items, {"name": "b", "port": 9999}])
    unchanged = LiveObjects({service.place: beside})
    assert additions.take_back(made, unchanged) == made
    assert list(additions.judge(made, unchanged)) == []


def test_the_annotation_stays_as_it_is_once_nothing_is_added():
    made = components()
    workload = of("Deployment", "qwen-decode", made)
    content = copy.deepcopy(dict(workload.manifest))
    content["metadata"]["annotations"] = {**content["metadata"].get("annotations", {}), TAKEN_BACK: "earlier"}
    live_objects = LiveObjects({workload.place: LiveObject(content)})
    annotated = additions.take_back(made, live_objects)
    problems = tuple(additions.judge(made, live_objects))
    assert problems == ()
    assert of("Deployment", "qwen-decode", annotated).manifest == content
    unchanged = LiveObjects({})
    assert additions.take_back(made, unchanged) == made
    assert list(additions.judge(made, unchanged)) == []


def test_kinds_are_read_where_they_are_and_secrets_are_not():
    stack = tree(qwen={}) | {"observability": {"metrics": {"type": "prometheus-operator"}}}
    kinds = additions.kinds(render(plan(stack)))
    assert {("apps/v1/Deployment", "models"), ("rbac.authorization.k8s.io/v1/Role", "models")} <= kinds
    assert ("rbac.authorization.k8s.io/v1/ClusterRoleBinding", "") in kinds
    assert not {kind for kind, _ in kinds} & {"v1/Secret", "v1/ConfigMap", "v1/ServiceAccount"}
