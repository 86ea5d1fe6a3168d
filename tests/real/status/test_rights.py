"""The printed rights suffice for a status on the real API server; without one of them no other verdict is made."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli import rights as command
from composition import Composition, Given, compose
from composition import status as composed_status
from facts import cluster
from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.rights import Options, Purpose
from judging.status.verdict import ExitCode
from local.cluster import ControlPlane
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.snapshot import KINDS_OF_VARIANTS
from tests.support.captured_objects import conditions, parent
from tests.support.cluster import identities, status
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.identities import Right, single_rights
from tests.support.stacks import NAME
from tests.support.waits import eventually

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
NAMESPACE = "status-rights"
STORED = {
    "model": {"source": "hf://org/stored@d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "size": "64Mi"},
    "storage": {"type": "dedicated", "storageClassName": "nobody"},
}
METRICS = [{"type": "queue-size", "target": 5}]
SERVICES = {
    "qwen": {},
    "reached": {"route": {"enabled": False}, "endpointPicker": {"proxy": {}}},
    "busy": {"autoscaling": {"type": "hpa", "maxReplicas": 2, "metrics": METRICS}},
    "late": {"resources": {"requests": {"cpu": "9000"}}},
    "stored": STORED,
    "blind": {},
    "refused": {},
}
"""Services: three in order but for metrics, the others broken in a way of their own."""
EVERYTHING_ELSE = Right(NAMESPACE, "", "podtemplates", (), "list")
"""A right that no status needs: the identity without it has exactly the printed rights."""


def stack():
    return in_namespace(NAMESPACE, **SERVICES)


def planned():
    composition = compose(stack(), Given(NOTHING_READ), NAME)
    assert isinstance(composition, Composition), composition
    return composition


def printed(purpose=Purpose.STATUS):
    return list(command.roles(command.of_composition(planned(), purpose, Options()), purpose))


def set_status(plane, kind, name, namespace, **fields):
    patch = json.dumps({"status": fields})
    plane.kubectl("patch", kind, name, "-n", namespace, "--subresource=status", "--type=merge", f"--patch={patch}")


def accept(plane, gateway):
    """Write what a gateway controller writes into a Gateway, routes and pools that it accepts."""
    name = gateway["name"]
    namespace = gateway["namespace"]
    listener = {"name": "http", "attachedRoutes": 1, "supportedKinds": []}
    listeners = [{**listener, "conditions": conditions("Accepted", "Programmed")}]
    set_status(plane, "gateway", name, namespace, conditions=conditions("Accepted", "Programmed"), listeners=listeners)
    for kind in ("httproute", "inferencepool"):
        items = json.loads(plane.kubectl("get", kind, "-n", NAMESPACE, "-o", "json"))["items"]
        for item in items:
            parents = [parent({"name": name, "namespace": namespace})]
            set_status(plane, kind, item["metadata"]["name"], NAMESPACE, parents=parents)


def verdicts(access):
    """Return what is unread, and of each service exit code, whether it serves, and the culprit."""
    whole = composed_status.of_stack(access, composed_status.expectations(planned()))
    return whole.unread, {name: record(whole.only(None, [name])) for name in SERVICES}


def record(one_service):
    culprits = [
        (service.serves, service.culprit and (service.culprit.state.id, service.culprit.object))
        for service in one_service.services
    ]
    return one_service.exit_code, culprits


def is_settled(access):
    """Tell whether two services answer and the others are broken by what the test has done to them."""
    codes = {name: code for name, (code, _) in verdicts(access)[1].items()}
    broken = {name for name, code in codes.items() if code is ExitCode.FAILS}
    serving = [codes[name] is ExitCode.SERVES for name in ("qwen", "reached")]
    return all(serving) and broken == SERVICES.keys() - {"qwen", "reached", "busy"}


@pytest.fixture(scope="module")
def deployed(plane: ControlPlane):
    """Deploy a stack, break four of its services, and return the access of the administrator."""
    gateway = stack()["gateway"]
    listener = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in {NAMESPACE, gateway["namespace"]}
    ]
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": gateway["name"], "namespace": gateway["namespace"]},
        "spec": {"gatewayClassName": "nobody", "listeners": [listener]},
    }
    document = {"apiVersion": "v1", "kind": "List", "items": [*namespaces, manifest]}
    plane.kubectl("apply", "-f", "-", input=json.dumps(document))
    status.apply(plane, stack())
    accept(plane, gateway)
    plane.kubectl("scale", "deployment/blind-epp", "--replicas=0", "-n", NAMESPACE)
    refusal = [{**conditions("Accepted")[0], "status": "False", "reason": "NotAllowedByListeners"}]
    reference = {"name": gateway["name"], "namespace": gateway["namespace"]}
    set_status(plane, "httproute", "refused", NAMESPACE, parents=[{**parent(reference), "conditions": refusal}])
    access = KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None)
    eventually(lambda: is_settled(access), pause=1)
    yield access
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def tokens(plane: ControlPlane, deployed):
    """Return tokens of identities that each lack one of the printed rights, or none of them."""
    assert deployed
    rights = {*single_rights(printed()), EVERYTHING_ELSE}
    with identities.client(plane) as api:
        return identities.tokens_without(api, rights, NAMESPACE, "on-call")


def kubeconfig(plane, token):
    config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(config)


def access_of(plane, token):
    return KubeAccess(kubeconfig(plane, token), None)


def test_with_exactly_the_printed_rights_everything_is_told(plane, deployed, tokens):
    unread, services = verdicts(access_of(plane, tokens[EVERYTHING_ELSE]))
    assert unread == {}
    assert services == verdicts(deployed)[1]
    culprits = {name: found[0][1][0] for name, (_, found) in services.items() if found[0][1]}
    assert culprits.keys() >= {"late", "stored", "blind", "refused"}
    assert len(set(culprits.values())) >= 4


def test_the_command_works_with_exactly_the_printed_rights(plane, tokens, tmp_path):
    (tmp_path / "kubeconfig").write_text(kubeconfig(plane, tokens[EVERYTHING_ELSE]))
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": stack()}}))
    line = [sys.executable, "-m", "cli", "status", str(path), "--as", str(NAME), "--json"]
    environment = {"PATH": "/usr/bin:/bin", "KUBECONFIG": str(tmp_path / "kubeconfig"), "HOME": str(tmp_path)}
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (5, "")
    document = json.loads(done.stdout)
    assert document["unread"] == []
    assert {service["name"]: service["state"] for service in document["services"]}["qwen"] == "healthy"


def flat(permissions):
    """Return each right of a user's rules, with the namespace for which it was asked."""
    return {
        (namespace, group, resource, tuple(rule.get("resourceNames", ())), verb)
        for namespace, rules in permissions.rules.items()
        for rule in rules
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
    }


def test_the_api_server_lists_the_printed_rights_and_those_of_every_user(plane, tokens):
    namespaces = sorted({right.namespace for right in single_rights(printed())} - {""})
    with identities.client(plane) as api:
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        api.create(accounts, {"metadata": {"name": "anybody"}})
        nobody = api.create(f"{accounts}/anybody/token", {"spec": {}})["status"]["token"]
    of_everybody = flat(cluster.permissions(access_of(plane, nobody), namespaces))
    of_reader = flat(cluster.permissions(access_of(plane, tokens[EVERYTHING_ELSE]), namespaces))
    rights = {tuple(right) for right in single_rights(printed())}
    wide = {right for right in rights if right[0] == ""}
    in_each = {(namespace, *right[1:]) for right in wide for namespace in namespaces}
    assert of_reader - of_everybody == rights | in_each


def test_without_any_right_the_verdict_is_the_same_or_unknown(plane, deployed, tokens):
    whole = verdicts(deployed)[1]
    for right in tokens.keys() - {EVERYTHING_ELSE}:
        unread, services = verdicts(access_of(plane, tokens[right]))
        (kind,) = unread
        assert kind.rpartition("/")[2].lower() + "s" == right.resource
        assert services["qwen"][0] is ExitCode.UNKNOWN
        for name, found in services.items():
            assert found == whole[name] or found[0] is ExitCode.UNKNOWN, (right, name)


def unread(plane, token):
    """Return the kinds of variants that an identity may not read."""
    return reader.read(access_of(plane, token), ReadScope((NAMESPACE,), kinds=KINDS_OF_VARIANTS)).unread()


def test_with_exactly_the_rights_for_a_gate_variants_are_read_and_without_any_of_them_one_kind_is_not(plane, deployed):
    assert deployed
    rights = single_rights(printed(Purpose.GATE))
    with identities.client(plane) as api:
        tokens_of_gate = identities.tokens_without(api, {*rights, EVERYTHING_ELSE}, NAMESPACE, "gate")
    assert unread(plane, tokens_of_gate[EVERYTHING_ELSE]) == {}
    account = f"system:serviceaccount:{NAMESPACE}:gate-{sorted({*rights, EVERYTHING_ELSE}).index(EVERYTHING_ELSE)}"
    listed = plane.kubectl("auth", "can-i", "--list", f"--as={account}", "--no-headers", "-n", NAMESPACE)
    resources = {line.split()[0].partition(".")[0] for line in listed.splitlines() if line.rstrip().endswith("[list]")}
    assert resources == {right.resource for right in rights}
    for right in rights:
        (kind,) = unread(plane, tokens_of_gate[right])
        assert kind.rpartition("/")[2].lower() + "s" == right.resource
