"""The API server agrees with what we render, and with our own schemas of its custom kinds."""

import json

import pytest
import yaml

from tests.support.cluster.plane import serve_googles_kinds, serve_moved_kinds
from tests.support.cluster.server import accepts
from tests.support.cluster.verdicts import edited, ours
from tests.support.commands import rendering
from tests.support.stacks import SHIPPED, WORDS, find, rendered, tree
from tests.support.stacks.varied import VARIED

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", autouse=True)
def _kinds_that_moved(plane, tools):
    serve_moved_kinds(plane, tools)
    serve_googles_kinds(plane)


@pytest.fixture(scope="module")
def shipped(plane):
    """Render every stack that is a file, and make the namespaces that their objects are in."""
    objects = {path: list(yaml.safe_load_all(rendering(path))) for path in (*SHIPPED, *WORDS)}
    places = {manifest["metadata"].get("namespace") for rendering in objects.values() for manifest in rendering} - {
        None
    }
    plane.kubectl("create", "-f", "-", input=yaml.safe_dump_all(map(namespace, sorted(places))))
    yield objects
    plane.kubectl("delete", "namespace", *places, "--wait=false")


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest.mark.parametrize("path", [*SHIPPED, *WORDS], ids=lambda path: path.stem)
def test_the_server_accepts_every_rendered_object_strictly(path, plane, shipped):
    """See zerfoo 9.10."""
    text = "---\n".join(yaml.safe_dump(manifest) for manifest in shipped[path] if manifest["kind"] != "Namespace")
    plane.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


MIRRORED = {"group": "", "kind": "Service", "name": "next", "port": 8000}
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
        (["spec", "rules", 0, "matches"], [{"path": {"type": "PathPrefix", "value": f"/{letter}"}} for letter in "ab"]),
        (["spec", "rules", 0, "timeouts"], {"request": "1.5s"}),
        (["spec", "rules", 0, "timeouts"], {"request": "10m", "backendRequest": "99999ms"}),
        (["spec", "rules", 0, "timeouts"], {"requests": "10m"}),
        (["spec", "rules", 0, "filters"], [{"type": "RequestMirror"}]),
        (["spec", "rules", 0, "filters"], [{"type": "RequestMirror", "requestMirror": {"backendRef": MIRRORED}}]),
        (
            ["spec", "rules", 0, "filters"],
            [{"type": "RequestMirror", "requestMirror": {"backendRef": MIRRORED, "percent": 101}}],
        ),
        (
            ["spec", "rules", 0, "filters"],
            [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "x a", "value": "1"}]}}],
        ),
        (
            ["spec", "rules", 0, "filters"],
            [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "x", "value": "1"}]}}],
        ),
    ],
    "ReferenceGrant": [
        (["spec", "from"], []),
        (["spec", "from", 0, "group"], None),
        (["spec", "to", 0, "name"], None),
        (["spec", "to", 0, "nmae"], "x"),
    ],
    "InferenceObjective": [
        (["spec", "priority"], -7),
        (["spec", "priority"], None),
        (["spec", "poolRef", "nmae"], "x"),
        (["spec", "poolRef"], {}),
    ],
    "InferenceModelRewrite": [
        (["spec", "rules", 0, "targets"], []),
        (["spec", "rules", 0, "targets", 0, "weight"], 0),
        (["spec", "rules", 0, "targets", 0, "weight"], None),
        (["spec", "rules", 0, "matches", 0, "model", "type"], "Prefix"),
        (["spec", "rules", 0, "matches", 0, "model", "value"], ""),
        (["spec", "poolRef", "kind"], "Inference Pool"),
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
NAMES |= {"InferenceObjective": "qwen-batch", "ReferenceGrant": "next-mirror"}
ROUTED = {"InferenceObjective", "InferenceModelRewrite", "ReferenceGrant"}
SPANNING = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [(kind, path, value) for kind, edits in EDITS.items() for path, value in edits],
    ids=lambda part: json.dumps(part)[:160],
)
def test_our_schemas_accept_and_refuse_what_the_server_does(kind, path, value, plane):
    stack = VARIED["routed"] if kind in ROUTED else tree(qwen=SPANNING if kind == "LeaderWorkerSet" else {})
    manifest = edited(find(rendered(stack), kind, NAMES.get(kind, "qwen")), path, value)
    assert ours(manifest) == accepts(plane, manifest)
