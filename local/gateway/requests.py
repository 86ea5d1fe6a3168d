"""A request that a route accepts. It can be sent, or shown as a shell command."""

from __future__ import annotations

import http.client
import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.gateway import model_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATH = "/v1/completions"
PROMPT = "Who answers?"
TIMEOUT = 10.0


@dataclass(frozen=True)
class TrialRequest:
    """A request for a completion."""

    port: int
    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def command(self) -> str:
        """Command line of curl that sends the request."""
        headers = "".join(f" -H {shlex.quote(f'{name}: {value}')}" for name, value in self.headers.items())
        return f"curl http://127.0.0.1:{self.port}{self.path}{headers} -d {shlex.quote(self.body)}"

    def send(self) -> tuple[int, str]:
        """Send the request, and return status and body of the answer; 0 and the error's text if there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request("POST", self.path, self.body, dict(self.headers))
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()


def through(route: Mapping[str, Any], manifests: Sequence[Mapping[str, Any]], port: int) -> TrialRequest:
    """Return a request that the first rule of a rendered route accepts, for the model behind the route."""
    rule = route["spec"]["rules"][0]
    match = rule.get("matches", [{}])[0]
    headers = {"Content-Type": "application/json"}
    for host in route["spec"].get("hostnames", ())[:1]:
        headers["Host"] = host.replace("*", "any", 1)
    headers |= {header["name"]: header["value"] for header in match.get("headers", ())}
    body = json.dumps({"model": _model(rule, manifests), "prompt": PROMPT})
    return TrialRequest(port, _path(rule, match), headers, body)


def _path(rule: Mapping[str, Any], match: Mapping[str, Any]) -> str:
    """Return the path that becomes `PATH` when the rule replaces the prefix of the path."""
    prefix = match.get("path", {}).get("value", "/").rstrip("/")
    rewrites = [item["urlRewrite"]["path"] for item in rule.get("filters", ()) if "urlRewrite" in item]
    replaced = prefix
    if rewrites:
        replaced = rewrites[0]["replacePrefixMatch"]
    return prefix + PATH.removeprefix(replaced.rstrip("/"))


def _model(rule: Mapping[str, Any], manifests: Sequence[Mapping[str, Any]]) -> str:
    """Return a name of the model behind the last backend of a rule. That backend is the primary."""
    ref = rule["backendRefs"][-1]
    key = (ref.get("kind", "Service"), ref["name"])
    target = next(item for item in manifests if (item["kind"], item["metadata"]["name"]) == key)
    selector = target["spec"]["selector"]
    labels = selector.get("matchLabels", selector).items()
    for manifest in manifests:
        template = manifest.get("spec", {}).get("template")
        if manifest["kind"] == "Deployment" and labels <= template["metadata"]["labels"].items():
            return next(iter(model_server.models(template)), "")
    return ""
