"""Program that prints what an engine's HTTP server counts. The Python of an engine's environment runs it.

The command line is `server_script.py PATHS`. PATHS is JSON: a list of objects with `path`, and with the `status` of the
answer, or with null if the handler raises an error. The output is JSON: the labels of each answer that is counted.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from fastapi import FastAPI, Response
from prometheus_client import REGISTRY
from vllm.entrypoints.serve.instrumentator.metrics import attach_router


def main(rows: list[dict[str, Any]]) -> None:
    """Print the labels of the answers that the server counts."""
    app = FastAPI()
    attach_router(app)
    for row in rows:
        if row["routed"]:
            app.post(row["path"])(_handler(row["status"]))
    for row in rows:
        with contextlib.suppress(RuntimeError):
            asyncio.run(_ask(app, row["path"]))
    samples = (sample for metric in REGISTRY.collect() for sample in metric.samples)
    print(json.dumps([sample.labels for sample in samples if sample.name == "http_requests_total"]))


def _handler(status: int | None) -> Any:
    async def answer() -> Response:
        if status is None:
            raise RuntimeError
        return Response(status_code=status)

    return answer


async def _ask(app: FastAPI, path: str) -> None:
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: dict[str, Any]) -> None:
        return

    await app(scope, receive, send)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
