"""The API server agrees with what we render, and with our own schemas of its custom kinds."""

import json

import pytest
import yaml

from cli.render import render
from tests.stacks import SHIPPED, find, rendered, tree
from tests.verdicts import edited, ours, servers

pytestmark = pytest.mark.real


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_server_accepts_every_rendered_object_strictly(path, plane):
    objects = list(yaml.safe_load_all(render(str(path), None)))
    missing = {one["metadata"]["namespace"] for one in objects if "namespace" in one["metadata"]}
    for namespace in missing:
        plane.kubectl("create", "namespace", namespace)
    try:
        text = "---\n".join(yaml.safe_dump(one) for one in objects if one["kind"] != "Namespace")
        plane.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=text)
    finally:
        for namespace in missing:
            plane.kubectl("delete", "namespace", namespace)


EDITS = {
    "InferencePool": [
        (["spec", "selector"], {"app": "x"}),
        (["spec", "targetPorts"], []),
        (["spec", "targetPorts"], [{"number": 0}]),
        (["spec", "targetPorts"], [{"number": port} for port in range(1, 10)]),
        (["spec", "endpointPickerRef", "failureMode"], "FailClosed"),
        (["spec", "endpointPickerRef", "failureMode"], "FailOpen"),
        (["spec", "endpointPickerRef", "prt"], 1),
        (["spec", "appProtocol"], "kubernetes.io/h2c"),
        (["spec", "appProtocol"], "grpc"),
    ],
    "HTTPRoute": [
        (["spec", "rules", 0, "matches", 0, "path", "type"], "Prefix"),
        (["spec", "rules", 0, "matches", 0, "path", "value"], "no-slash"),
        (["spec", "rules", 0, "backendRefs", 0, "weight"], -1),
        (["spec", "rules", 0, "backendRefs", 0, "weight"], 0),
        (["spec", "rules", 0, "backendRefs", 0, "wieght"], 1),
        (["spec", "parentRefs", 0, "port"], 70000),
        (["spec", "hostnames"], ["llm.example.com"]),
    ],
    "DestinationRule": [
        (["spec", "trafficPolicy", "portLevelSettings", 0, "tls", "mode"], "PLAIN"),
        (["spec", "trafficPolicy", "portLevelSettings", 0, "tls", "mode"], "DISABLE"),
        (["spec", "trafficPolicy", "portLevelSettings", 0, "prt"], {}),
        (["spec", "hots"], "x"),
    ],
    "LeaderWorkerSet": [
        (["spec", "leaderWorkerTemplate", "size"], 0),
        (["spec", "leaderWorkerTemplate", "size"], 4),
        (["spec", "leaderWorkerTemplate", "siz"], 4),
        (["spec", "leaderWorkerTemplate", "restartPolicy"], "Always"),
        (["spec", "leaderWorkerTemplate", "workerTemplate", "spec", "containers", 0, "imag"], "x"),
        (["spec", "rolloutStrategy", "type"], "Recreate"),
        (["spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"], "10%"),
        (["spec", "startupPolicy"], "LeaderReady"),
        (["spec", "networkConfig", "subdomainPolicy"], "Own"),
    ],
}
NAMES = {"DestinationRule": "qwen-epp", "LeaderWorkerSet": "qwen-decode"}
SPANNING = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [(kind, path, value) for kind, edits in EDITS.items() for path, value in edits],
    ids=lambda part: json.dumps(part)[:60],
)
def test_our_schemas_accept_and_refuse_what_the_server_does(kind, path, value, plane):
    stack = tree(qwen=SPANNING if kind == "LeaderWorkerSet" else {})
    one = edited(find(rendered(stack), kind, NAMES.get(kind, "qwen")), path, value)
    assert ours(one) == servers(plane, one)
