"""A Pulumi program that reads resources from a JSON file and registers them. It decides nothing.

The program that this project ships cannot be faster than the bare program, because both register the same resources
with the same arguments and options. Beforehand, `benchmarks/preview.py` writes these resources to `registrations.json`.
"""

import json
import pathlib
import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

_GROUPS = {
    "": "core",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "networking.k8s.io": "networking",
    "policy": "policy",
    "rbac.authorization.k8s.io": "rbac",
    "resource.k8s.io": "resource",
}
"""Module of the SDK for each built-in API group."""


def main() -> None:
    """Register all components with their resources, and export the outputs."""
    registrations = json.loads(pathlib.Path("registrations.json").read_text(encoding="utf-8"))
    top = pulumi.ComponentResource(registrations["type"], registrations["name"], registrations["inputs"])
    options = pulumi.ResourceOptions(parent=top, version=registrations["version"], ignore_changes=["clusterIdentifier"])
    secret = {"kubeconfig": pulumi.Output.secret(pulumi.Config().require("kubeconfig"))}
    provider = pulumi.ProviderResource("kubernetes", "cluster", {**registrations["provider"], **secret}, options)
    resources = dict[str, pulumi.Resource]()
    for component in registrations["components"]:
        opts = pulumi.ResourceOptions(parent=top, provider=provider)
        if component["type"] is not None:
            options = pulumi.ResourceOptions(parent=top, providers=[provider])
            parent = pulumi.ComponentResource(component["type"], component["name"], component["inputs"], options)
            opts = pulumi.ResourceOptions(parent=parent)
            parent.register_outputs({})
        for resource in component["resources"]:
            resources[resource["name"]] = _register(resource, resources, opts)
    top.register_outputs(registrations["outputs"])
    for name, value in registrations["outputs"].items():
        pulumi.export(name, value)
    awaited = {key: [resources[name].urn for name in names] for key, names in registrations["awaited"].items()}
    pulumi.export("awaited", {key: pulumi.Output.all(*urns).apply(bool) for key, urns in awaited.items()})


def _register(
    resource: Mapping[str, Any], resources: Mapping[str, pulumi.Resource], opts: pulumi.ResourceOptions
) -> pulumi.Resource:
    seconds = resource["seconds"]
    timeouts = None
    if seconds is not None:
        timeouts = pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s")
    options = pulumi.ResourceOptions(
        depends_on=[resources[name] for name in resource["after"]],
        custom_timeouts=timeouts,
        replace_on_changes=resource["replace_on_changes"],
        delete_before_replace=resource["delete_before_replace"],
        ignore_changes=resource["ignore_changes"],
        retain_on_delete=resource["retain_on_delete"],
        protect=resource["protect"],
    )
    merged = pulumi.ResourceOptions.merge(opts, options)
    return _make(resource["name"], resource["manifest"], merged)


def _make(name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Register an object with the SDK's class for its kind, like a program that is written by hand."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    if group in _GROUPS:
        cls = attrgetter(f"{_GROUPS[group]}.{version}.{manifest['kind']}")(k8s)
        fields = {_snake_case(field): value for field, value in manifest.items()}
        return cls(name, **fields, opts=opts)
    identity = {"api_version": manifest["apiVersion"], "kind": manifest["kind"]}
    return k8s.apiextensions.CustomResource(
        name, **identity, metadata=manifest["metadata"], spec=manifest["spec"], opts=opts
    )


def _snake_case(field: str) -> str:
    return re.sub("([A-Z])", r"_\1", field).lower()


main()
