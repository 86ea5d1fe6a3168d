"""Small servers of the OpenAI API, in the place of model servers' pods. They know names of models, but run no model."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

NAMES = ("--served-model-name", "--model")
"""Flags of vLLM with the names of a model. The names are read from the first of these flags that an engine has."""
METRICS = """\
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="model"} 0.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="model"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="model"} 0.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",num_gpu_blocks="2048"} 1.0
# TYPE vllm:lora_requests_info gauge
vllm:lora_requests_info{max_lora="0",running_lora_adapters="",waiting_lora_adapters=""} 1.0
"""


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    """Return the whole body of a request. A proxy sends the body in chunks if a picker has read the body before."""
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length", "0")))
    parts = list[bytes]()
    while size := int(request.rfile.readline() or b"0", 16):
        parts.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(parts)


class ModelServer(ThreadingHTTPServer):
    """Server in the place of one pod, at the pod's address."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pod: str, models: Collection[str], address: str, port: int) -> None:
        super().__init__((address, port), _ModelHandler)
        self.pod = pod
        self.models = models
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()

    def end(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()


def models(pod: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names under which the engine of a pod serves its model."""
    arguments = [str(argument) for argument in pod["spec"]["containers"][0].get("args", ())]
    for flag in NAMES:
        names = tuple(argument.partition("=")[2] for argument in arguments if argument.startswith(f"{flag}="))
        if names:
            return names
    return ()


class _ModelHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _pod(self) -> ModelServer:
        return cast("ModelServer", self.server)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Log nothing; the proxy logs every request."""

    def do_GET(self) -> None:
        """Answer with the metrics of a pod, or with its models."""
        if self.path == "/metrics":
            self._send(200, METRICS.encode(), "text/plain; version=0.0.4")
        elif self.path == "/v1/models":
            data = [{"id": name, "object": "model", "owned_by": self._pod.pod} for name in self._pod.models]
            self._answer(200, {"object": "list", "data": data})
        else:
            self._answer(404, {"error": {"message": f"no such path: {self.path}", "code": 404}})

    def do_POST(self) -> None:
        """Answer a request for a completion with the name of the pod."""
        model = json.loads(body_of(self) or b"{}").get("model")
        text = f"Played by {self._pod.pod}: no model runs here."
        if model not in self._pod.models:
            message = f"The model `{model}` does not exist."
            self._answer(404, {"error": {"message": message, "type": "NotFoundError", "code": 404}})
        elif self.path == "/v1/chat/completions":
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            self._answer(200, _completion("chat.completion", model, choice))
        elif self.path == "/v1/completions":
            choice = {"index": 0, "text": text, "finish_reason": "stop"}
            self._answer(200, _completion("text_completion", model, choice))
        else:
            self._answer(404, {"error": {"message": f"no such path: {self.path}", "code": 404}})

    def _answer(self, status: int, answer: Mapping[str, Any]) -> None:
        self._send(status, json.dumps(answer).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _completion(kind: str, model: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"object": kind, "created": int(time.time()), "model": model, "choices": [choice], "usage": usage}
