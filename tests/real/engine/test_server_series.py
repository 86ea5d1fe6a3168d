"""Answers that the HTTP server of an engine counts, by path and status."""

import json
from pathlib import Path

import pytest

from local.vllm import installation
from planning.observing import metrics
from tests.support.engine import scripts

pytestmark = pytest.mark.engine

SCRIPT = Path("tests/support/engine/server_script.py")
ANSWERS = metrics.table().server["requests"]
ROWS = [
    {"path": "/v1/completions", "status": 200, "routed": True},
    {"path": "/v1/chat/completions", "status": 503, "routed": True},
    {"path": "/v1/embeddings", "status": 404, "routed": True},
    {"path": "/v1/responses", "status": None, "routed": True},
    {"path": "/nowhere", "status": 404, "routed": False},
    *({"path": path, "status": 200, "routed": True} for path in ("/health", "/v1/load_lora_adapter", "/v1/models")),
]
"""Requests with the status of their answer, or None for a handler that raises an error."""


@pytest.mark.parametrize("name", installation.versions())
def test_the_server_counts_answers_with_the_labels_of_the_table(name):
    version = installation.version(name)
    if not version.is_installed():
        pytest.skip(f"vLLM {version.name} is not installed; run python -m local engine {version.name}")
    counted = scripts.run(version, SCRIPT, [json.dumps(ROWS)])
    assert {tuple(sorted(labels)) for labels in counted} == {tuple(ANSWERS.labels)}
    statuses = {labels["handler"]: labels["status"] for labels in counted}
    assert statuses == {
        "/v1/completions": "2xx",
        "/v1/chat/completions": "5xx",
        "/v1/embeddings": "4xx",
        "/v1/responses": "5xx",
        "/v1/models": "2xx",
        "none": "4xx",
    }
