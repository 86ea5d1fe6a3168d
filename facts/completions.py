"""Requests to services as clients send them: a completion of one token."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from facts import hosts, side_by_side
from facts.transport import Run, Transport
from models.trees import mapping, sequence

_Key = TypeVar("_Key")
_SECONDS = 20.0
"""Time for all services together. One token of a large model takes a few seconds."""
_LONGEST = 2**20
"""Maximum number of bytes that are read of an answer."""


@dataclass(frozen=True, slots=True)
class AskedService:
    """A service that gets a request."""

    url: str
    model: str | None
    """Name of the model; None for the first that the service names."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request."""

    words: str
    """The result, without the time that it took."""
    seconds: float | None = None
    """Time until the token; None without a token."""

    @property
    def text(self) -> str:
        """Return the result with the time that it took."""
        if self.seconds is None:
            return self.words
        return f"{self.words} after {self.seconds:.1f} s"


def ask(targets: Mapping[_Key, AskedService]) -> dict[_Key, Answer]:
    """Send a request for one token to each service, side by side, and return what became of each.

    All services together have 20 seconds. The requests have no credentials. A service that does not answer does not
    raise. The requests are sent in daemon threads, so that the program can end while a server sends byte after byte.
    """
    if hosts.is_offline():
        return dict.fromkeys(targets, Answer("nothing: this run is offline"))
    run = Run(_SECONDS)
    answers = side_by_side.answers(targets, run, lambda key: _answer(targets[key], run))
    late = f"did not answer within {_SECONDS:g} seconds, the time for all services"
    return {key: answers.get(key) or Answer(f"{target.url} {late}") for key, target in targets.items()}


def _answer(target: AskedService, run: Run) -> Answer:
    """Return what becomes of a request. What a server sends may raise anything, such as a redirect to a wrong URL."""
    try:
        return _ask(target, run)
    except urllib.error.HTTPError as error:
        return Answer(f"{target.url} answered {error.code}{_refusal(error.code)}")
    except Exception as error:  # noqa: BLE001, a thread that ends by an error leaves services without an answer
        return Answer(f"{target.url} did not answer ({_name(error)})")


def _ask(target: AskedService, run: Run) -> Answer:
    url = target.url
    # A service that does not name its models does not serve; the answer to a request for any model says why.
    model = target.model or _first_model(url, run) or "model"
    body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": 1}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/completions", body, headers)  # noqa: S310, a URL of http or https
    start = time.monotonic()
    with Transport(run, lambda _: True).open(request) as response:
        content = response.read(_LONGEST)
    if _has_token(content):
        return Answer(f"{url} answered 200 with a token", time.monotonic() - start)
    return Answer(f"{url} answered 200 without a token")


def _first_model(url: str, run: Run) -> str | None:
    """Return the name of the first model that a service at a URL serves; None if the service does not say."""
    request = urllib.request.Request(f"{url}/v1/models")  # noqa: S310, a URL of http or https
    try:
        with Transport(run, lambda _: True).open(request) as response:
            listed = json.loads(response.read(_LONGEST))
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
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
    except (ValueError, RecursionError):
        return False
    return bool(sequence(mapping(answer).get("choices")))
