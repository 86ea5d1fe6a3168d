"""Access to the objects of OtterScale's ModelService, shared by the tests about it."""

from tests.support.stacks import find, rendered, tree
from tests.support.stacks.shapes import engine

PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def deployment(service, role="decode"):
    return find(rendered(tree(qwen=service)), "Deployment", f"qwen-{role}")


def pod(service, role="decode"):
    return deployment(service, role)["spec"]["template"]


def picker(everything, name="qwen"):
    return engine(find(everything, "Deployment", f"{name}-epp")["spec"]["template"])


def kind(everything, name):
    return [manifest for manifest in everything if manifest["kind"] == name]
