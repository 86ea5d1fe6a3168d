"""Reader of Docker's configuration: the credentials of registries."""

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from facts.hosts import DOCKER_HUB, ServerOrigin

_NAMES = {"docker.io": "index.docker.io", DOCKER_HUB: "index.docker.io"}
"""Name in the configuration of each registry whose name differs from it."""


def credentials(host: str) -> str | None:
    """Return user and password for a registry, as base64 text, from `auths`.

    None if `auths` has no credentials for this registry. Credential helpers are not run. Raises OSError or ValueError
    for a file that exists but cannot be read, because the file may contain credentials for this registry.
    """
    entry = _entry(host)
    if entry.get("auth") or not entry.get("username"):
        return entry.get("auth")
    return base64.b64encode(f"{entry['username']}:{entry.get('password', '')}".encode()).decode()


def names(server: ServerOrigin) -> bool:
    """Return whether the configuration has credentials for a server."""
    try:
        return any(_entry(name) for name in (server.host, f"{server.host}:{server.port}"))
    except (OSError, ValueError):
        return False


def _entry(host: str) -> Mapping[str, str]:
    path = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"
    try:
        auths = cast("dict[str, dict[str, str]]", json.loads(path.read_text(encoding="utf-8")).get("auths") or {})
    except FileNotFoundError:
        return {}
    name = _NAMES.get(host, host)
    return next((auths[key] for key in auths if _host(key) == name), dict[str, str]())


def _host(key: str) -> str:
    """Return the host in a key of `auths`. The key is a host or a URL, and may contain a path."""
    if "://" in key:
        return key.partition("://")[2].partition("/")[0]
    return key.partition("/")[0]
