"""Kubeconfigs for API servers on loopback, with users of every kind."""

import base64
import json

from facts import cluster
from models.stack import Cluster
from planning.ground.cluster_facts import Served
from tests.support.cluster.loopback import discovery

DISCOVERY = {"/api": discovery(("", "v1", "Service")), "/apis": discovery(("apps", "v1", "Deployment"))}
KINDS = Served(frozenset({"v1/Service", "apps/v1/Deployment"}))
"""Kinds of a server that answers `DISCOVERY`."""
FAILED = "the cluster could not be read"
VERSION = "client.authentication.k8s.io/v1"


def kinds(access):
    return cluster.read(Cluster(), access, None).apis


def base64_text(content):
    return base64.b64encode(content).decode()


def config(server, user, *, name="here", **more):
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": server, **more}}],
        "users": [{"name": name, "user": user}],
    }


def plugin(status, **more):
    """Return a plugin that is a shell: it prints a credential that it has from its environment."""
    answer = json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})
    script = more.pop("script", 'printf %s "$ANSWER"')
    environment = [{"name": "ANSWER", "value": answer}]
    fixed = {"apiVersion": VERSION, "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}
    return {"exec": {**fixed, "env": environment, **more}}


def client_certificate(pems):
    return {
        "client-certificate-data": base64_text(pems.data("client")),
        "client-key-data": base64_text(pems.data("client-key")),
    }


def plugin_certificate(pems):
    return {
        "clientCertificateData": pems.data("client").decode(),
        "clientKeyData": pems.data("client-key").decode(),
    }
