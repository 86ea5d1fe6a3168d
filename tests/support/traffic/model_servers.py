"""Small servers of vLLM's API on loopback: each answers who it is and what it saw."""

import collections
import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

from local.gateway.model_server import body_of
from tests.support.traffic.servers import Server
from tests.support.traffic.vllm_api import Reply, parsed, reply

HELD_SECONDS = 20.0


class ModelServer(Server):
    """One model server, at the address and port of a pod. `forces_usage` is `--enable-force-include-usage`."""

    def __init__(self, pod: str, address: str, port: int, *, forces_usage: bool = False) -> None:
        super().__init__((address, port), Handler)
        self.pod = pod
        self.forces_usage = forces_usage
        self.compresses = False
        """Whether it compresses answers where a client allows that."""
        self.gauges = {
            "vllm:num_requests_waiting": 0.0,
            "vllm:num_requests_running": 0.0,
            "vllm:kv_cache_usage_perc": 0.0,
        }
        self.fails_every = 0
        """It answers each request of this number with 500; 0 for none."""
        self.counted = collections.Counter[tuple[str, str, str]]()
        """Answers by handler, method and group of statuses, as vLLM's server counts them."""
        self.lock = threading.Lock()
        self.free = threading.Event()
        """Cleared to keep every answer back."""
        self.free.set()
        self.scrapes = 0
        """How often somebody asked for its metrics."""
        self.seen = list[dict[str, Any]]()
        """The requests that it answered."""
        self.released = threading.Event()
        """Set for a stream to go on after its first event."""
        self.begin()


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
            self._send("text/plain; version=0.0.4", _metrics(self.server).encode())
        elif self.path == "/v1/models":
            self._answer({"object": "list", "data": [{"id": "model", "object": "model"}]} | self._noted(b""))
        else:
            self._answer(self._noted(b""), status=404)

    def do_POST(self) -> None:
        """Answer as vLLM does, whole or in events. The first event, or the whole answer, has what was seen."""
        body = body_of(self)
        noted = self._noted(body)
        if self._fails():
            self._answer({"error": {"message": "out of order", "code": 500}}, 500)
            return
        answer = reply(self.path.partition("?")[0], body, forces_usage=self.server.forces_usage)
        if answer.is_stream:
            self._stream(answer, noted)
        else:
            self._answer(json.loads(answer.text) | noted, answer.status)

    def _noted(self, body: bytes) -> dict[str, Any]:
        """Keep what was asked, and return it for the answer."""
        request = parsed(body) or {}
        seen = {
            "pod": self.server.pod,
            "port": self.server.server_port,
            "path": self.path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "length": len(body),
            "model": request.get("model"),
            "options": request.get("stream_options"),
            "prompt": hashlib.sha256(str(request.get("prompt")).encode()).hexdigest(),
        }
        self.server.seen.append(seen)
        return {"seen": seen}

    def _fails(self) -> bool:
        """Tell whether the request is one of those that fail."""
        with self.server.lock:
            answers = self.server.counted.items()
            before = sum(count for (_, method, _), count in answers if method == "POST")
        return self.server.fails_every > 0 and (before + 1) % self.server.fails_every == 0

    def _count(self, status: int) -> None:
        """Count an answer. vLLM's server leaves /metrics out."""
        key = (self.path.partition("?")[0], self.command, f"{status // 100}xx")
        if key[0] != "/metrics":
            with self.server.lock:
                self.server.counted[key] += 1

    def _answer(self, answer: dict[str, Any], status: int = 200) -> None:
        self._send("application/json", json.dumps(answer).encode(), status)

    def _send(self, kind: str, body: bytes, status: int = 200) -> None:
        self.server.free.wait(HELD_SECONDS)
        self._count(status)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if self.server.compresses and "gzip" in self.headers.get("Accept-Encoding", ""):
            self.send_header("Content-Encoding", "gzip")
            body = gzip.compress(body)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Reply, noted: dict[str, Any]) -> None:
        """Send one event, and the others once that is released."""
        self.server.free.wait(HELD_SECONDS)
        self._count(answer.status)
        self.send_response(answer.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        first, *others = answer.events
        head, data = first.rstrip().rsplit("data: ", 1)
        self._event(f"{head}data: {json.dumps(json.loads(data) | noted)}\n\n")
        self.server.released.wait(HELD_SECONDS)
        for event in others:
            self._event(event)
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, text: str) -> None:
        event = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()


def _metrics(server: ModelServer) -> str:
    """Return what a server reports, as Prometheus reads it: gauges, the blocks of the cache, and counted answers."""
    named = 'model_name="model"'
    lines = [f"# TYPE {name} gauge\n{name}{{{named}}} {value}" for name, value in server.gauges.items()]
    lines += [
        "# TYPE vllm:cache_config_info gauge",
        'vllm:cache_config_info{block_size="16",num_gpu_blocks="2048"} 1.0',
        "# TYPE vllm:lora_requests_info gauge",
        'vllm:lora_requests_info{max_lora="1",running_lora_adapters="",waiting_lora_adapters=""} 1.0',
        "# TYPE http_requests_total counter",
    ]
    with server.lock:
        for (handler, method, status), count in server.counted.items():
            labels = f'handler="{handler}",method="{method}",status="{status}"'
            lines.append(f"http_requests_total{{{labels}}} {count}.0")
    return "\n".join(lines) + "\n"
