"""Small servers of the OpenAI API on loopback: each answers who it is and what it saw."""

import contextlib
import hashlib
import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local.gateway.model_server import body_of

HELD_SECONDS = 20.0
EVENTS = 4


class ModelServer(ThreadingHTTPServer):
    """One model server, at the address and port of a pod."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pod: str, address: str, port: int) -> None:
        super().__init__((address, port), Handler)
        self.pod = pod
        self.gauges = {
            "vllm:num_requests_waiting": 0.0,
            "vllm:num_requests_running": 0.0,
            "vllm:kv_cache_usage_perc": 0.0,
        }
        self.free = threading.Event()
        """Cleared to keep every answer back."""
        self.free.set()
        self.scrapes = 0
        """How often somebody asked for its metrics."""
        self.seen = list[dict[str, Any]]()
        """The requests that it answered."""
        self.released = threading.Event()
        """Set for a stream to go on after its first event."""
        self._connections = set[socket.socket]()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection, which may outlive many requests."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that ends."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, unless it is that nobody waits for the answer any more."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def end(self) -> None:
        """Break every connection off; who connects from now on is refused."""
        self.shutdown()
        self.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers of a model server; the paths and the names of metrics are those of vLLM."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *_: object) -> None:
        """Log nothing; what was asked is kept by the server."""

    def do_GET(self) -> None:
        """Answer which models there are, and how busy the server is."""
        if self.path == "/metrics":
            self.server.scrapes += 1
            self._send("text/plain; version=0.0.4", _metrics(self.server.gauges).encode())
        elif self.path == "/v1/models":
            self._answer({"object": "list", "data": [{"id": "model", "object": "model"}]} | self._noted(b""))
        else:
            self._answer(self._noted(b""), status=404)

    def do_POST(self) -> None:
        """Answer a completion, whole or in events."""
        body = body_of(self)
        noted = self._noted(body)
        if self.path not in {"/v1/completions", "/v1/chat/completions"}:
            self._answer(noted, status=404)
        elif json.loads(body).get("stream"):
            self._stream(noted)
        else:
            usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 1, "total_tokens": len(body) // 4 + 1}
            self._answer({"object": "text_completion", "choices": [{"text": "yes"}], "usage": usage} | noted)

    def _noted(self, body: bytes) -> dict[str, Any]:
        """Keep what was asked, and return it for the answer."""
        request = json.loads(body) if body else {}
        seen = {
            "pod": self.server.pod,
            "port": self.server.server_port,
            "path": self.path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "length": len(body),
            "model": request.get("model"),
            "prompt": hashlib.sha256(str(request.get("prompt")).encode()).hexdigest(),
        }
        self.server.seen.append(seen)
        return {"seen": seen}

    def _answer(self, answer: dict[str, Any], status: int = 200) -> None:
        self._send("application/json", json.dumps(answer).encode(), status)

    def _send(self, kind: str, body: bytes, status: int = 200) -> None:
        self.server.free.wait(HELD_SECONDS)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, noted: dict[str, Any]) -> None:
        """Send one event, and the others once that is released."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event(json.dumps({"choices": [{"text": "0"}]} | noted))
        self.server.released.wait(HELD_SECONDS)
        for number in range(1, EVENTS):
            self._event(json.dumps({"choices": [{"text": str(number)}]}))
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()


def _metrics(gauges: dict[str, float]) -> str:
    """Return gauges as Prometheus reads them, and the blocks of the cache."""
    named = 'model_name="model"'
    lines = [f"# TYPE {name} gauge\n{name}{{{named}}} {value}" for name, value in gauges.items()]
    lines += [
        "# TYPE vllm:cache_config_info gauge",
        'vllm:cache_config_info{block_size="16",num_gpu_blocks="2048"} 1.0',
        "# TYPE vllm:lora_requests_info gauge",
        'vllm:lora_requests_info{max_lora="1",running_lora_adapters="",waiting_lora_adapters=""} 1.0',
    ]
    return "\n".join(lines) + "\n"
