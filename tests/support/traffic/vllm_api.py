"""How vLLM reads bodies, and where its answers have usage. Read in vLLM 00a5fdd, `vllm/entrypoints`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

MODEL = "org/model"
PROMPT = 7
CACHED = 4
WORDS = ("one", "two", "three")
"""Tokens of every prompt, how many of them the cache has, and the tokens of every completion."""
COMPLETIONS = {"/v1/completions", "/v1/chat/completions"}
_FLAG = TypeAdapter(bool | None)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: one text, or events of a stream."""

    status: int
    events: tuple[str, ...] = ()
    text: str = ""

    @property
    def is_stream(self) -> bool:
        """Return whether the answer is a stream of events."""
        return bool(self.events)


def parsed(body: bytes) -> Mapping[str, Any] | None:
    """Return a body as FastAPI reads it, in any encoding of JSON and with NaN; None if it is not an object."""
    try:
        request = json.loads(body or b"{}")
    except ValueError:
        return None
    return request if isinstance(request, dict) else None


def asks_stream(request: Mapping[str, Any]) -> bool:
    """Return whether a request asks for a stream, as Pydantic casts (`stream: bool | None`); raise `ValueError`."""
    return bool(_FLAG.validate_python(request.get("stream")))


def reply(path: str, body: bytes, *, forces_usage: bool) -> Reply:
    """Return what vLLM answers, with or without `--enable-force-include-usage`."""
    request = parsed(body)
    try:
        is_stream = request is not None and asks_stream(request)
    except ValidationError:
        request = None
    if request is None:
        return Reply(400, text=json.dumps({"error": {"code": 400}}))
    if path in COMPLETIONS:
        return _completion(request, is_stream=is_stream, forces_usage=forces_usage)
    if path == "/v1/responses":
        return _response(is_stream=is_stream)
    if path == "/v1/messages":
        return _message(is_stream=is_stream)
    if path == "/tokenize":
        return _whole({"count": PROMPT, "max_model_len": 4096, "tokens": [*range(PROMPT)]})
    return Reply(404, text=json.dumps({"detail": "Not Found"}))


def _completion(request: Mapping[str, Any], *, is_stream: bool, forces_usage: bool) -> Reply:
    if not is_stream:
        choice = {"index": 0, "text": " ".join(WORDS), "finish_reason": "stop"}
        return _whole({"object": "text_completion", "model": MODEL, "choices": [choice], "usage": _usage(len(WORDS))})
    options = request.get("stream_options") or {}
    # `should_include_usage` of serve/utils/api_utils.py: the flag means usage at the end, and in each part.
    at_end = forces_usage or bool(options.get("include_usage"))
    in_parts = forces_usage or (at_end and bool(options.get("continuous_usage_stats")))
    chunks = list[dict[str, Any]]()
    for number, word in enumerate(WORDS, start=1):
        choice = {"index": 0, "text": word, "finish_reason": "stop" if number == len(WORDS) else None}
        usage = {"usage": _usage(number)} if in_parts else {}
        chunks.append({"object": "text_completion", "model": MODEL, "choices": [choice]} | usage)
    if at_end:
        chunks.append({"object": "text_completion", "model": MODEL, "choices": [], "usage": _usage(len(WORDS))})
    return Reply(200, (*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"))


def _response(*, is_stream: bool) -> Reply:
    """Answer of the Responses API: its counts have other names, and stand deeper in a stream."""
    usage = {"input_tokens": PROMPT, "output_tokens": len(WORDS), "total_tokens": PROMPT + len(WORDS)}
    answer = {"object": "response", "model": MODEL, "status": "completed", "usage": usage}
    if not is_stream:
        return _whole(answer)
    deltas = [{"type": "response.output_text.delta", "delta": word} for word in WORDS]
    return _typed(*deltas, {"type": "response.completed", "response": answer})


def _message(*, is_stream: bool) -> Reply:
    """Answer of the Messages API: its counts have other names."""
    usage = {"input_tokens": PROMPT, "output_tokens": len(WORDS)}
    if not is_stream:
        return _whole({"type": "message", "model": MODEL, "stop_reason": "end_turn", "usage": usage})
    start = {"type": "message_start", "message": {"model": MODEL, "usage": {**usage, "output_tokens": 0}}}
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"text": word}} for word in WORDS]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    return _typed(start, *deltas, end, {"type": "message_stop"})


def _usage(completion: int) -> dict[str, Any]:
    counts = {"prompt_tokens": PROMPT, "completion_tokens": completion, "total_tokens": PROMPT + completion}
    return {**counts, "prompt_tokens_details": {"cached_tokens": CACHED}}


def _whole(answer: Mapping[str, Any]) -> Reply:
    return Reply(200, text=json.dumps(answer))


def _typed(*events: Mapping[str, Any]) -> Reply:
    return Reply(200, tuple(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events))
