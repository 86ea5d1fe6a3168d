"""The Kubernetes provider through which the objects of an inference stack are registered."""

import importlib.metadata
import json

import pulumi

from facts.cluster import KubeAccess

_RATE = {"burst": 2000, "qps": 1000}
"""Limit of requests per second to the API server. The client's default limit of about 50 slows large previews down."""
_SETTINGS = {
    "enableConfigMapMutable": "true",
    "enableSecretMutable": "true",
    "kubeClientSettings": json.dumps(_RATE),
    "suppressDeprecationWarnings": "false",
}
_PINNED = {
    "deleteUnreachable": "false",
    "enableServerSideApply": "true",
    "skipUpdateUnreachable": "false",
    "upsertExistingObjects": "true",
}
"""Settings whose defaults are environment variables (PULUMI_K8S_…), so that every workstation runs with the same ones.

`deleteUnreachable` would take the objects of a cluster that does not answer out of the state. With
`upsertExistingObjects`, version 4.29 and newer take over objects that exist already, as older versions do: a run that
was killed leaves such objects. (Configure in provider/pkg/provider/provider.go of pulumi-kubernetes.)
"""
_DISTRIBUTION = "pulumi-kubernetes"


class ClusterProvider(pulumi.ProviderResource):
    """Kubernetes provider, of whose cluster the state has nothing but a name, unless the kubeconfig is a secret.

    The class of Pulumi's SDK is not used: it writes the value of the variable KUBECONFIG into the state
    (pulumi_kubernetes/provider.py). Then another path would be a change on every other workstation, and commands that
    do not run the program, such as `pulumi destroy`, would use that path instead of the user's variables.
    """

    def __init__(self, name: str, access: KubeAccess, identifier: str, opts: pulumi.ResourceOptions) -> None:
        """Register the provider.

        `identifier` is the cluster's name in the state. Later runs leave it as it is: the provider would otherwise
        replace every object (`clusterIdentifier` in DiffConfig of provider/pkg/provider/provider.go).
        """
        inputs = plain_inputs(access.context, identifier)
        if access.kubeconfig is not None:
            inputs["kubeconfig"] = pulumi.Output.secret(access.kubeconfig)
        fixed = pulumi.ResourceOptions(ignore_changes=["clusterIdentifier"], version=sdk_version())
        super().__init__("kubernetes", name, inputs, pulumi.ResourceOptions.merge(opts, fixed))


def plain_inputs(context: str | None, identifier: str) -> dict[str, object]:
    """Return the inputs of the provider, without the kubeconfig, which is a secret."""
    return {**_SETTINGS, **_PINNED, "clusterIdentifier": identifier, "context": context}


def sdk_version() -> str:
    """Return the version of the installed SDK of the provider, which is also that of the provider."""
    return importlib.metadata.version(_DISTRIBUTION)
