"""The picture of a status in the README shows the text of real objects: a control plane, Istio, a picker, three models.

The objects in `captured/status-scene.json` are those of a control plane of `make try`, without what nobody reads. One
service got a pod that was killed for memory, and another lost the nodes of its pods.
"""

import json
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from cli import status_text
from cli.status_text import Page
from judging.status import verdict
from planning.ground.snapshot import Snapshot
from tests.support import picture

SCENE = Path(__file__).parent / "captured" / "status-scene.json"
PICTURE = Path("docs/status.svg")
COMMAND = "$ python -m cli status prod"
WIDTH = 80


def test_the_readme_shows_the_status_of_the_scene(golden):
    lines = _lines()
    golden(PICTURE, picture.svg([COMMAND, *lines]))
    assert {line[:2] for line in lines} >= {"✓ ", "! ", "✗ "}
    assert f"({PICTURE})" in Path("README.md").read_text(encoding="utf-8")


def test_the_picture_has_each_line_of_the_text():
    lines = _lines()
    rows = ET.fromstring(PICTURE.read_text(encoding="utf-8")).iter("{http://www.w3.org/2000/svg}text")
    assert ["".join(row.itertext()) for row in rows] == [COMMAND, *lines]


def test_the_text_fits_a_terminal_of_80_columns():
    assert max(map(len, _lines())) <= WIDTH


def _lines():
    scene = json.loads(SCENE.read_text(encoding="utf-8"))
    status = verdict.of(Snapshot(datetime.fromisoformat(scene["readAt"]), scene["objects"]), {})
    return list(status_text.lines(status, Page("inference-stacks.prod"), WIDTH))
