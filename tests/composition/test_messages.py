"""Messages of a deployment run and of `cli render` for one stack: their order, and those beside a mistake."""

import json
from dataclasses import replace

import pulumi
import pytest
import yaml

from judging.validation import SchemaError
from manifests import pods
from models.problems import ConfigError
from planning.ground.cluster_facts import Served, Unknown, unread
from tests.support.commands import rendering
from tests.support.program import run
from tests.support.stacks import tree

DOUBTFUL = tree(qwen={"canary": {"weight": 0, "prefill": {}}}) | {
    "cluster": {"facts": {"type": "none"}, "name": "c"},
    "checks": {"advisories": "skip"},
    "release": "llm-d-0.9",
}
"""A stack of which each step has something to say."""
UNCHECKED = "went unchecked: cluster.facts is none"
OF_ROUTES = f"gateways/gateway: acceptance of the routes of services.qwen {UNCHECKED}"
OF_PLAN = "services.qwen.canary: weight 0 without headers: its pods run, but get no requests"
UNSIZED = {
    "model": {"name": "org/kit", "source": "kit://127.0.0.1:1/org/kit:v1", "insecure": True},
    "storage": {"type": "dedicated", "storageClassName": "fast"},
}
"""A service whose claim has a size that nobody answers."""
OF_SOURCE = "neither size nor existence of kit://127.0.0.1:1/org/kit:v1 was checked"


@pytest.fixture
def warned(monkeypatch):
    """Collect what the program warns of, as people see it."""
    lines = []
    monkeypatch.setattr(pulumi.log, "warn", lambda line: lines.append(line.removeprefix("\N{WORD JOINER}")))
    return lines


@pytest.fixture
def written(tmp_path):
    """Write a stack as a file."""

    def write(stack):
        path = tmp_path / "stack.yaml"
        path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": stack}}))
        return str(path)

    return write


def test_a_deployment_run_warns_of_the_cluster_then_of_its_routes_then_of_the_change_then_of_the_plan(warned):
    run(DOUBTFUL)
    kinds, routes, references, names, *others = warned
    assert kinds.startswith("whether the cluster serves apps/v1/Deployment, ")
    assert kinds.endswith(UNCHECKED)
    assert routes == f"collisions with other routes on gateways/gateway {UNCHECKED}"
    assert references == f"namespaces (models), listeners of gateways/gateway, nodes, quotas of models {UNCHECKED}"
    assert names == f"whether existing objects belong to other stacks {UNCHECKED}"
    generations = f"services.qwen.canary: generations of running pods {UNCHECKED}"
    assert others == [OF_ROUTES, generations, OF_PLAN]


def test_a_rendering_warns_of_the_plan_alone(written, capsys):
    rendering(written(DOUBTFUL))
    assert capsys.readouterr().err == f"warning: {OF_PLAN}\n"


def test_a_rendering_for_a_cluster_warns_of_the_plan_then_of_its_routes(written, tmp_path, capsys):
    (tmp_path / "facts.json").write_text(json.dumps({"apis": []}))
    rendering(written(DOUBTFUL), "--facts", str(tmp_path / "facts.json"))
    of_routes = OF_ROUTES.replace("cluster.facts is none", "facts.json has no gateways")
    assert capsys.readouterr().err == f"warning: {OF_PLAN}\nwarning: {of_routes}\n"


def test_a_source_that_does_not_answer_is_said_beside_the_mistake_that_follows(warned, written, capsys):
    stack = DOUBTFUL | {"services": {"qwen": {**DOUBTFUL["services"]["qwen"], **UNSIZED}}}
    with pytest.raises(pulumi.RunError, match=r"services\.qwen\.model\.size: is missing") as error:
        run(stack)
    with pytest.raises(ConfigError) as same:
        rendering(written(stack))
    (line,) = warned
    assert line.startswith(f"services.qwen.model: {OF_SOURCE}")
    assert capsys.readouterr().err == f"warning: {line}\n"
    assert str(error.value) == f"The configuration is mistaken, nothing was changed:\n  - {same.value}"


def test_a_mistake_that_the_schema_shows_leaves_a_deployment_run_no_warning_and_a_rendering_the_plans(
    warned, written, capsys
):
    qwen = {**DOUBTFUL["services"]["qwen"], "patch": {"decode": {"spec": {"replica": 1}}}}
    stack = DOUBTFUL | {"services": {"qwen": qwen}}
    with pytest.raises(pulumi.RunError, match="does not fit Kubernetes' schema"):
        run(stack)
    assert warned == []
    with pytest.raises(ConfigError, match="does not fit Kubernetes' schema"):
        rendering(written(stack))
    assert capsys.readouterr().err == f"warning: {OF_PLAN}\n"


def test_a_mistake_of_ours_is_no_mistake_of_the_configuration(monkeypatch, written, capsys):
    monkeypatch.setattr(pods, "security", lambda *_: {"runAsNonRot": True})
    with pytest.raises(SchemaError, match="runAsNonRot"):
        rendering(written(DOUBTFUL))
    assert capsys.readouterr().err == f"warning: {OF_PLAN}\n"


def test_what_preflight_refuses_is_warned_of_first_and_nothing_is_said_of_the_change(warned, monkeypatch):
    facts = replace(unread(Unknown("it was refused")), apis=Served(frozenset()))
    monkeypatch.setattr("facts.cluster.read", lambda *_: facts)
    with pytest.raises(pulumi.RunError) as error:
        run(DOUBTFUL)
    assert warned == [
        "whether the cluster's CRDs are new enough went unchecked: it was refused",
        "collisions with other routes on gateways/gateway went unchecked: it was refused",
        "namespaces (models), listeners of gateways/gateway, nodes, quotas of models went unchecked: it was refused",
        "whether existing objects belong to other stacks went unchecked: cluster.facts is none",
    ]
    headline, *lines = str(error.value).splitlines()
    assert headline == "The cluster is not as this stack needs it, nothing was changed:"
    assert lines[0].startswith("  - apps/v1/Deployment: the cluster does not serve it; ")
