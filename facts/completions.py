"""Requests to services as clients send them: a completion of one token."""

import http.client
import json
import time
import urllib.error
import urllib.request

from facts import hosts
from facts.transport import Run, Transport
from models.trees import mapping, sequence

_SECONDS = 20.0
"""Time after which nobody waits for the answer. One token of a large model takes a few seconds."""
_LONGEST = 2**20
"""Maximum number of bytes that are read of an answer."""


def ask(url: str, model: str) -> str:
    """Send a request for one token to a service at a URL, and return what became of it, in words.

    The request has no credentials. It does not raise if the service does not answer.
    """
    if hosts.is_offline():
        return "nothing: this run is offline"
    body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": 1}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/completions", body, headers)  # noqa: S310, a URL of http or https
    start = time.monotonic()
    try:
        with Transport(Run(_SECONDS), lambda _: True).open(request) as response:
            content = response.read(_LONGEST)
    except urllib.error.HTTPError as error:
        return f"{url} answered {error.code}{_refusal(error.code)}"
    except (OSError, http.client.HTTPException) as error:
        return f"{url} did not answer ({_name(error)})"
    seconds = time.monotonic() - start
    if _has_token(content):
        return f"{url} answered 200 with a token after {seconds:.1f} s"
    return f"{url} answered 200 without a token"


def first_model(url: str) -> str | None:
    """Return the name of the first model that a service at a URL serves; None if the service does not say."""
    if hosts.is_offline():
        return None
    request = urllib.request.Request(f"{url}/v1/models")  # noqa: S310, a URL of http or https
    try:
        with Transport(Run(_SECONDS), lambda _: True).open(request) as response:
            listed = json.loads(response.read(_LONGEST))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    names = [mapping(entry).get("id") for entry in sequence(mapping(listed).get("data"))]
    return next((name for name in names if isinstance(name, str)), None)


def _name(error: Exception) -> str:
    """Return the name of an error, or that of the error inside one of `urllib`."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, Exception):
        return type(reason).__name__
    return type(error).__name__


def _refusal(status: int) -> str:
    if status in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        return ", because this request has no credentials"
    return ""


def _has_token(content: bytes) -> bool:
    """Tell whether an answer of the completions API has a choice (vLLM, entrypoints/openai/completion)."""
    try:
        answer = json.loads(content)
    except ValueError:
        return False
    return bool(sequence(mapping(answer).get("choices")))
