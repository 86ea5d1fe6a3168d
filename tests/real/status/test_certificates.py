"""States of the certificates of listeners, which are in Secrets of the real API server."""

import base64
import json
import subprocess
from datetime import timedelta

import pytest
import yaml

from cli import rights as command
from composition import Composition, Given, compose
from composition import status as composed_status
from facts.kubeconfig import KubeAccess
from judging.rights import Options, Purpose
from judging.status.records import Link
from judging.status.states import Level
from judging.status.verdict import ExitCode
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.snapshot import TLS_CERTIFICATE
from tests.support.captured_objects import conditions, parent
from tests.support.cluster import certificates, identities, status
from tests.support.cluster.deployments import in_namespace
from tests.support.stacks import NAME

pytestmark = pytest.mark.real

NAMESPACE = "status-certificates"
GATEWAY = {"name": "front", "namespace": NAMESPACE}
STACK = in_namespace(NAMESPACE, qwen={}) | {"gateway": {"provider": "istio", **GATEWAY}}
SECRET = "public-tls"
ENDED = timedelta(days=6)
"""Time after which the certificate of the test has expired."""
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "certificates.cert-manager.io"},
    "spec": {
        "group": "cert-manager.io",
        "names": {"kind": "Certificate", "plural": "certificates"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
UNREADY = {"type": "Ready", "status": "False", "reason": "Failed", "lastTransitionTime": "2026-11-28T01:00:00Z"}
UNREADY |= {"message": "the order has failed: acme: 403"}


def listener(name, **fields):
    return {"name": name, "allowedRoutes": {"namespaces": {"from": "All"}}, **fields}


HTTPS = listener("https", port=443, protocol="HTTPS", tls={"mode": "Terminate", "certificateRefs": [{"name": SECRET}]})
HTTP = listener("http", port=80, protocol="HTTP")


@pytest.fixture(scope="module")
def world(plane):
    """Deploy a service behind a Gateway whose controller has accepted everything."""
    with status.space(plane, NAMESPACE) as space:
        status.apply(plane, STACK)
        serve(space, HTTPS)
        for kind, name in (("httproute", "qwen"), ("inferencepool", pool_of(space))):
            write_status(space, f"{kind}/{name}", parents=[parent(GATEWAY)])
        space.await_without_states(Link.WORKLOAD)
        yield space


def pool_of(space):
    (pool,) = json.loads(space.kubectl("get", "inferencepools", "-o", "json"))["items"]
    return pool["metadata"]["name"]


def write_status(space, target, **fields):
    space.patch(target, {"status": fields}, "--subresource=status")


def serve(space, *listeners):
    """Give the Gateway some listeners, and write what its controller writes."""
    api = "gateway.networking.k8s.io/v1"
    spec = {"gatewayClassName": "nobody", "listeners": [*listeners]}
    space.create({"apiVersion": api, "kind": "Gateway", "metadata": GATEWAY, "spec": spec})
    generation = json.loads(space.kubectl("get", "gateway/front", "-o", "json"))["metadata"]["generation"]
    verdict = [{**entry, "observedGeneration": generation} for entry in conditions("Accepted", "Programmed")]
    statuses = [
        {"name": entry["name"], "attachedRoutes": 1, "supportedKinds": [], "conditions": verdict} for entry in listeners
    ]
    write_status(space, "gateway/front", conditions=verdict, listeners=statuses)


def put(space, certificate, key):
    """Write a certificate and its key into the Secret."""
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": SECRET}}
    space.create({**secret, "data": data})


@pytest.fixture
def near(world, tmp_path):
    """Write a certificate into the Secret that ends in five days."""
    issued = certificates.make(tmp_path, days=5)
    put(world, issued.data("server"), issued.data("server-key"))
    return world


def gateway_of(space, **options):
    (component,) = space.components(Link.GATEWAY, certificates=True, **options)
    return component


@pytest.mark.states("certificate-expires")
def test_a_certificate_that_ends_soon_is_named_and_one_of_ten_years_is_not(near, tools, tmp_path):
    component = gateway_of(near)
    (state,) = component.findings
    assert (state.state.id, str(state.object)) == ("certificate-expires", f"Secret {NAMESPACE}/{SECRET}")
    assert state.words.startswith("expires in 5 days, at ")
    assert state.words.endswith(" UTC, and is the certificate of the listener https")
    assert state.since is not None
    assert (component.is_broken, component.level) == (False, Level.DEGRADED)
    assert near.status(certificates=True).exit_code is ExitCode.DEGRADED
    subprocess.run([str(tools["pki"].path), str(tmp_path)], check=True)
    put(near, (tmp_path / "apiserver.crt").read_bytes(), (tmp_path / "apiserver.key").read_bytes())
    assert gateway_of(near).findings == ()
    assert near.status(certificates=True).exit_code is ExitCode.SERVES


@pytest.mark.states("certificate-expired")
def test_a_service_with_nothing_but_an_expired_certificate_does_not_serve(near):
    component = gateway_of(near, later=ENDED)
    (state,) = component.findings
    assert (state.state.id, str(state.object)) == ("certificate-expired", f"Secret {NAMESPACE}/{SECRET}")
    assert f"expired at {state.since:%Y-%m-%d %H:%M} UTC" in state.words
    assert component.is_broken is True
    service = near.service(later=ENDED, certificates=True)
    assert (service.serves, service.culprit) == (False, state)
    serve(near, HTTPS, HTTP)
    try:
        component = gateway_of(near, later=ENDED)
        assert component.findings == (state,)
        assert (component.is_broken, component.level) == (False, Level.DEGRADED)
    finally:
        serve(near, HTTPS)


def test_without_the_option_no_certificate_is_judged(near):
    (component,) = near.components(Link.GATEWAY, later=ENDED)
    assert (component.findings, component.is_broken) == ((), False)


@pytest.mark.states("certificate-unready")
def test_a_certificate_that_cert_manager_cannot_renew_is_named_with_its_message(near):
    near.create(DEFINITION)
    near.plane.kubectl("wait", "crd/certificates.cert-manager.io", "--for=condition=Established", "--timeout=60s")
    try:
        for name, secret in (("public", SECRET), ("other", "other-tls")):
            metadata = {"name": name, "namespace": NAMESPACE}
            spec = {"secretName": secret}
            near.create({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata, "spec": spec})
            write_status(near, f"certificates.cert-manager.io/{name}", conditions=[UNREADY])
        states = {finding.state.id: finding for finding in gateway_of(near).findings}
        assert states.keys() == {"certificate-expires", "certificate-unready"}
        unready = states["certificate-unready"]
        assert str(unready.object) == f"Certificate {NAMESPACE}/public"
        assert unready.words == "is not ready: Failed the order has failed: acme: 403"
        assert unready.since is not None
    finally:
        near.plane.kubectl("delete", "crd", "certificates.cert-manager.io")


def rights_with(*names):
    """Return the rights that are printed for a status with some certificates."""
    composition = compose(STACK, Given(NOTHING_READ), NAME)
    assert isinstance(composition, Composition)
    required = command.of_composition(composition, Purpose.STATUS, Options(certificates=names))
    return composition, identities.single_rights(command.roles(required, Purpose.STATUS))


def test_the_printed_rights_suffice_and_without_the_right_to_the_secret_nothing_is_told(near):
    composition, rights = rights_with(SECRET)
    (of_secret,) = {right for right in rights if right.resource == "secrets"}
    assert (of_secret.names, of_secret.verb) == ((SECRET,), "get")
    more = identities.Right(NAMESPACE, "", "podtemplates", (), "list")
    with identities.client(near.plane) as api:
        tokens = identities.tokens_without(api, {*rights, more}, NAMESPACE, "watchman")
    expected = composed_status.expectations(composition)
    config = yaml.safe_load(near.plane.kubeconfig.read_text(encoding="utf-8"))
    statuses = {}
    for right in (more, of_secret):
        config["users"][0]["user"] = {"token": tokens[right]}
        access = KubeAccess(yaml.safe_dump(config), None)
        statuses[right] = composed_status.of_stack(access, expected, certificates=True)
    assert statuses[more].unread == {}
    assert statuses[more].services[0].culprit.state.id == "certificate-expires"
    assert statuses[of_secret].unread.keys() == {TLS_CERTIFICATE}
    assert statuses[of_secret].exit_code is ExitCode.UNKNOWN
    assert statuses[of_secret].services[0].serves is None
