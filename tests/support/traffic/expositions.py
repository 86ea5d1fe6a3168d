"""Played `/metrics` of engines, pickers and a cluster: the series of the tables, with counters that grow."""

import contextlib
import http.server
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import count

from planning.ground.metric_facts import Kind

Metric = tuple[str, Kind, Mapping[str, str], Sequence[float]]
"""Name, kind, labels with their values, and the bounds of a histogram."""


def lines(metric: Metric, moment: int) -> Iterator[str]:
    """Yield the samples of a metric. Counters grow with the moment."""
    name, kind, labels, bounds = metric
    if kind != "histogram":
        yield f"{name}{_labels(labels)} {moment if kind == 'counter' else 1}"
        return
    for index, bound in enumerate([*bounds, float("inf")]):
        text = "+Inf" if bound == float("inf") else f"{bound:g}"
        yield f"{name}_bucket{_labels({**labels, 'le': text})} {moment * (index + 1)}"
    total = moment * (len(bounds) + 1)
    yield f"{name}_count{_labels(labels)} {total}"
    yield f"{name}_sum{_labels(labels)} {total}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


@contextlib.contextmanager
def serving(pages: Mapping[str, Sequence[Metric]]) -> Generator[str]:
    """Serve metrics by path on loopback, and return host and port."""
    moments = count(1)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            moment = next(moments)
            samples = [line for metric in pages[self.path] for line in lines(metric, moment)]
            body = ("\n".join(samples) + "\n").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
