"""Every leaf of the goldens that decides where requests go has an effect on the translator that plays gateways."""

import copy
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.support.traffic.gateway import Translation
from tests.support.traffic.others import pods_of_others, pools_of_others, referenced_pools

GOLDENS = {path.stem: path for path in sorted(Path("tests/contracts/goldens").glob("*.yaml"))}
WITHOUT_EFFECT = {
    r"\w+ (apiVersion|kind|metadata\.creationTimestamp)": "say what an object is, and since when",
    r"\w+ metadata\.(labels|annotations)\..*": "tell whose an object is, and what is awaited",
    r"DestinationRule metadata\.(name|namespace)": "a rule is about its host, for all namespaces",
    r"HTTPRoute spec\.parentRefs\.\d+\.(port|sectionName)": "the gateway that is played has one listener",
}
"""Leaves that the translator does not read, each with the reason."""


def leaves(node, path=()):
    """Yield the paths of all leaves; an empty group is one, too."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from leaves(child, (*path, key))
    if not isinstance(node, dict | list) or not node:
        yield path


def put(node, path, value):
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value


def changed(value):
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 7
        case str():
            return f"{value}0" if value[-1:].isalnum() else f"{value}other"
        case _:
            return {"other": "other"}


def surroundings(manifests):
    """Yield what a cluster adds to a golden: a ready pod for each template; times of creation."""
    for number, each in enumerate(manifests):
        each["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        yield each
        group = each.get("spec", {}).get("leaderWorkerTemplate", {})
        for template in (each.get("spec", {}).get("template"), *group.values()):
            if isinstance(template, dict) and each["kind"] in {"Deployment", "LeaderWorkerSet"}:
                about = {"name": f"{each['metadata']['name']}-0", "namespace": each["metadata"]["namespace"]}
                status = {"podIP": f"10.0.0.{number}", "conditions": [{"type": "Ready", "status": "True"}]}
                labels = {"labels": template["metadata"]["labels"]}
                yield {"kind": "Pod", "metadata": about | labels, "spec": template["spec"], "status": status}


def pickers(manifests):
    """Return what stands for the pickers of a golden, which listen where their Services lead."""
    services = [each for each in manifests if each["kind"] == "Service"]
    return [
        SimpleNamespace(
            namespace=each["metadata"]["namespace"],
            labels=each["spec"]["selector"],
            ports={port.get("targetPort", port["port"]): 20000 + port["port"] for port in each["spec"]["ports"]},
        )
        for each in services
    ]


def translated(manifests, played):
    """Return the configuration for each gateway that a route of the objects names, or the refusal."""
    found = {}
    routes = [each for each in manifests if each["kind"] == "HTTPRoute"]
    for name in sorted(
        {f"{each['namespace']}/{each['name']}" for route in routes for each in route["spec"]["parentRefs"]}
    ):
        try:
            translation = Translation(manifests, name, played)
        except (ValueError, KeyError, StopIteration) as error:
            return repr(error)
        clusters = {each["name"]: each for each in translation.clusters}
        found[name] = (translation.routes, clusters)
    return found


def is_reached(each, manifests):
    """Tell whether an object is a route, a pool that a route leads to, or the rule of such a pool's picker."""
    if each["kind"] == "HTTPRoute":
        return True
    reached = {*referenced_pools(manifests)}
    pools = [each for each in manifests if each["kind"] == "InferencePool" and place(each) in reached]
    pickers = {(each["metadata"]["namespace"], each["spec"]["endpointPickerRef"]["name"]) for each in pools}
    rules = [each for each in manifests if each["kind"] == "DestinationRule" and place(each) in pickers]
    return each in (*pools, *rules)


def place(each):
    return each["metadata"].get("namespace"), each["metadata"]["name"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", GOLDENS)
def test_every_leaf_that_decides_where_requests_go_has_an_effect(name):
    documents = list(yaml.load_all(GOLDENS[name].read_text(encoding="utf-8"), yaml.CSafeLoader))
    documents += pools_of_others(documents)
    manifests = [*surroundings(documents), *pods_of_others(documents)]
    played = pickers(manifests)
    before = translated(manifests, played)
    idle = []
    for number, each in enumerate(manifests):
        for path in leaves(each) if is_reached(each, manifests) else ():
            written = f"{each['kind']} {'.'.join(map(str, path))}"
            if any(re.fullmatch(pattern, written) for pattern in WITHOUT_EFFECT):
                continue
            mutant = copy.deepcopy(each)
            value = each
            for key in path:
                value = value[key]
            put(mutant, path, changed(value))
            if translated([*manifests[:number], mutant, *manifests[number + 1 :]], played) == before:
                idle.append(f"{each['metadata']['name']}: {written}")
    assert idle == []
