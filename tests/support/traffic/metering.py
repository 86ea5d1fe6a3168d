"""Reading of requests and answers, as phoebe 4f3fb26 does (files of `internal/proxy`)."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

DATA = b"data: "


@dataclass(frozen=True, slots=True)
class Event:
    """One row of a bill (`metering.Event`), as far as tests look at it."""

    request_id: str
    auth_id: str
    resource_id: str
    model: str
    prompt: int
    cached: int
    completion: int
    finish: str
    aborted: bool


def with_usage(body: bytes) -> bytes:
    """Return the body of a request that asks for the usage of its stream (`rewriteIncludeUsage`, rewrite.go:95).

    A body is untouched unless Go reads it as an object whose `stream` is the boolean true: Go reads UTF-8 alone, no
    byte-order mark and no NaN.
    """
    try:
        # Go's decoder replaces bytes that are not UTF-8, where Python's would refuse them.
        request = json.loads(body.decode(errors="replace"), parse_constant=_refused)
    except ValueError:
        return body
    if not isinstance(request, dict) or request.get("stream") is not True:
        return body
    options = request.get("stream_options")
    options = options if isinstance(options, dict) else {}
    if options.get("include_usage") is True:
        return body
    return json.dumps(request | {"stream_options": options | {"include_usage": True}}).encode()


def _refused(constant: str) -> float:
    raise ValueError(constant)


Count = Annotated[int, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]


class _Details(BaseModel):
    cached_tokens: Count = 0


class _Usage(BaseModel):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: _Details | None = None


class _Choice(BaseModel):
    finish_reason: Text | None = None


class _Chunk(BaseModel):
    """Chunk of an answer (`chunk`, tee.go). It is not read at all if one of these members has another type."""

    model_config = ConfigDict(extra="ignore")

    model: Text | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


class Tee:
    """Reads an answer while it passes (`captureReader`, tee.go)."""

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._rest = b""
        self._model = ""
        self._finish = ""
        self._usage: _Usage | None = None

    def read(self, piece: bytes) -> None:
        """Read the next bytes; of a stream, its complete lines."""
        self._rest += piece
        if self._is_stream:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                if line.startswith(DATA):
                    self._inspect(line.removeprefix(DATA).strip())

    def event(self, about: dict[str, Any], *, aborted: bool, bills_partial: bool) -> Event | None:
        """Return the row of the bill at the answer's end, if it has one (`emit`, proxy.go:409)."""
        if not self._is_stream:
            self._inspect(self._rest.strip())
        if self._usage is None and not (aborted and bills_partial):
            return None
        usage = self._usage or _Usage()
        details = usage.prompt_tokens_details or _Details()
        return Event(
            **about,
            model=self._model,
            prompt=usage.prompt_tokens,
            cached=details.cached_tokens,
            completion=usage.completion_tokens,
            finish=self._finish,
            aborted=aborted,
        )

    def _inspect(self, text: bytes) -> None:
        try:
            chunk = _Chunk.model_validate_json(text)
        except ValidationError:
            return
        self._model = chunk.model or self._model
        for choice in chunk.choices or ():
            self._finish = choice.finish_reason or self._finish
        self._usage = chunk.usage or self._usage
