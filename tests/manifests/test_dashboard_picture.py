"""The picture of a dashboard in the documents is that of a rendered dashboard."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from manifests import dashboards
from tests.support import board_picture
from tests.support.stacks.dashboards import board, drawn

PICTURE = Path("docs/dashboard.svg")
SERVICE = {
    "accelerator": "nvidia-h100-80gb",
    "prefill": {"replicas": 2},
    "canary": {"weight": 10, "replicas": 1},
    "endpointPicker": {"flowControl": {}},
}


def tree():
    """Return the dashboard of the picture."""
    return json.loads(dashboards.text(board(drawn(chat=SERVICE), "chat")))


def test_the_documents_show_a_rendered_dashboard(golden):
    golden(PICTURE, board_picture.svg("chat · inference-stacks/prod", tree()))
    assert f"({PICTURE.name})" in Path("docs/watch.md").read_text(encoding="utf-8")


def test_the_picture_has_each_panel():
    texts = ["".join(row.itertext()) for row in ET.fromstring(PICTURE.read_text(encoding="utf-8")).iter()]
    titles = [panel["title"] for panel in tree()["panels"]]
    assert len(titles) > 40
    assert [title for title in titles if not any(text.startswith(title[:18]) for text in texts)] == []
