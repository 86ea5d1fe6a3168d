"""Runner of credential plugins: commands that a kubeconfig names under `exec`.

The protocol is client-go's: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_KIND = "ExecCredential"
_REQUEST_VARIABLE = "KUBERNETES_EXEC_INFO"
_STDIN = 0


class PluginError(Exception):
    """A credential plugin failed. The error's text never contains the plugin's output, which may be a credential."""


@dataclass(frozen=True, slots=True)
class Credential:
    """Answer of a plugin: a token, or a client certificate with its key (PEM), or both. Absent values are empty."""

    token: str = field(repr=False)
    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


def run(plugin: Mapping[str, Any], folder: Path, cluster: Mapping[str, Any]) -> Credential:
    """Run a plugin and return its credential.

    A command with a slash is relative to `folder`; other commands are looked up in PATH. The plugin gets `cluster`
    if its `provideClusterInfo` is true. There is no time limit, because a plugin may wait for the user.
    """
    interactive = _is_interactive(plugin)
    spec = dict[str, Any](interactive=interactive)
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = cluster
    request = json.dumps({"apiVersion": plugin["apiVersion"], "kind": _KIND, "spec": spec})
    variables = {item["name"]: str(item["value"]) for item in plugin.get("env") or ()}
    command = str(plugin["command"])
    if os.sep in command:
        command = str(folder / command)
    process = subprocess.run(
        [command, *map(str, plugin.get("args") or ())],
        env={**os.environ, **variables, _REQUEST_VARIABLE: request},
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if interactive else subprocess.DEVNULL,
        check=False,
    )
    if process.returncode:
        raise PluginError(f"the credential plugin ended with status {process.returncode}")
    return _credential(process.stdout, plugin["apiVersion"])


def _is_interactive(plugin: Mapping[str, Any]) -> bool:
    """Return whether the plugin may use the terminal. Standard input must be that terminal, as in client-go.

    Raises PluginError if the plugin needs a terminal and standard input is none.
    """
    mode = plugin.get("interactiveMode") or "IfAvailable"
    has_terminal = os.isatty(_STDIN)
    if mode == "Always" and not has_terminal:
        raise PluginError("the credential plugin needs a terminal")
    return mode != "Never" and has_terminal


def _credential(answer: bytes, version: str) -> Credential:
    try:
        content = json.loads(answer)
        matches = (content["apiVersion"], content["kind"]) == (version, _KIND)
        token, certificate, key = (
            content["status"].get(name) or "" for name in ("token", "clientCertificateData", "clientKeyData")
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise PluginError(f"the credential plugin printed no {_KIND}") from None
    if not matches:
        raise PluginError(f"the credential plugin printed no {_KIND} of {version}")
    if bool(certificate) != bool(key) or not (token or certificate):
        raise PluginError("the credential plugin printed neither a token nor a certificate with its key")
    return Credential(token, certificate.encode(), key.encode())
