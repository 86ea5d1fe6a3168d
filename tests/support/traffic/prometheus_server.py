"""A played Prometheus on loopback: it answers range selectors from samples that a test gives it."""

import contextlib
import http.server
import json
import re
import threading
from urllib.parse import parse_qs, urlsplit

SELECTOR = re.compile(r"(?P<name>[\w:]+)(\{(?P<matchers>.*)\})?\[(?P<seconds>\d+)s\]")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')


def is_selected(labels, matchers):
    """Tell whether matchers of PromQL select labels; absent labels count as empty."""
    for name, operator, text in matchers:
        pattern = text.replace("\\\\", "\\")
        value = labels.get(name, "")
        same = value == pattern if operator in {"=", "!="} else re.fullmatch(pattern, value) is not None
        if same is operator.startswith("!"):
            return False
    return True


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers `/api/v1/query` from the samples, or as the test says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: texts[0] for name, texts in parse_qs(parts.query).items()}
        with self.server.lock:
            self.server.asked.append((parts.path, query, self.headers.get("Authorization")))
        status, headers, body = self.server.answer(parts.path, query)
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body)), "Connection": "close"} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.server.drips:
                while not self.server.ended.wait(0.01):
                    self.wfile.write(b" ")
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class PlayedPrometheus(http.server.ThreadingHTTPServer):
    """A Prometheus whose series are `series`: labels, and samples as pairs of time and value."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.asked = []
        self.series = []
        self.values = {}
        self.answer = self.from_series
        self.drips = False
        self.ended = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Say nothing of clients that break off."""

    def add(self, name, samples, **labels):
        self.series.append(({"__name__": name, **labels}, samples))

    def from_series(self, path, query):
        if path == "/api/v1/query_range":
            return self.from_values(query)
        match = SELECTOR.fullmatch(query["query"])
        if path != "/api/v1/query" or match is None:
            return json_answer({"status": "error", "errorType": "bad_data", "error": "invalid parameter"}, 400)
        end = float(query["time"])
        start = end - int(match["seconds"])
        matchers = [*MATCHER.findall(match["matchers"] or ""), ("__name__", "=", match["name"])]
        result = []
        for labels, samples in self.series:
            within = [[time, str(value)] for time, value in samples if start < time <= end]
            if within and is_selected(labels, matchers):
                result.append({"metric": labels, "values": within})
        return matrix(result)

    def from_values(self, query):
        """Answer an expression with the values that the test gave it, a number for each step."""
        number = self.values.get(query["query"])
        if number is None:
            return matrix([])
        times = range(int(query["start"]), int(query["end"]) + 1, int(query["step"]))
        return matrix([{"metric": {}, "values": [[time, str(number)] for time in times]}])


def matrix(result, **more):
    return json_answer({"status": "success", "data": {"resultType": "matrix", "result": result}, **more})


def json_answer(content, status=200):
    return status, {"Content-Type": "application/json"}, json.dumps(content).encode()


@contextlib.contextmanager
def playing():
    """Serve a played Prometheus while the test runs."""
    server = PlayedPrometheus()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
