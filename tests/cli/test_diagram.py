"""The diagram of a stack: every object of a request's path is in it once, with weights and ports."""

import json
import re
from pathlib import Path

import pytest

from cli import named_stack
from facts import source_sizes
from judging.report.diagram import mermaid
from models import lock
from models.paths import Path as ConfigPath
from models.pins import Pin
from models.problems import ConfigError
from tests.support.stacks import tree

EXAMPLE = Path("examples/canary.yaml")
METERED = Path("examples/metered.yaml")
ID = r"(?<![\w/.-])(?:i|[gs]\d+(?:v\d+[edp]?|r|m)?)(?![\w/.-])"
ANSWERED = {"asked": "2026-11-22T05:00:00Z", "origin": "https://s3.amazonaws.com"}
QUOTED = re.compile(r'"[^"]*"')


def printed(stack):
    return mermaid(named_stack.read(str(stack)).compose().plan)


def test_the_documents_show_the_diagram_of_an_example():
    assert f"```mermaid\n{printed(EXAMPLE)}```" in Path("docs/watch.md").read_text(encoding="utf-8")


def test_a_diagram_is_of_the_stack_with_its_lock(tmp_path, monkeypatch):
    """Without a lock, strict refuses the stack; with a lock, no source is asked for its size. See defects H23."""
    monkeypatch.chdir(tmp_path)
    Path("Pulumi.yaml").write_text("name: inference-stacks\n", encoding="utf-8")
    model = {"name": "org/m", "source": "s3://models/m"}
    stack = tree(qwen={"model": model, "storage": {"type": "dedicated"}}) | {"checks": {"lock": "strict"}}
    file = {"config": {"inference-stacks:stack": stack}}
    Path("Pulumi.prod.yaml").write_text(json.dumps(file), encoding="utf-8")
    asked = list[object]()
    monkeypatch.setattr(source_sizes, "sizes", lambda questions, _: dict.fromkeys(asked.extend(questions) or ()))
    with pytest.raises(ConfigError, match=r"checks\.lock: is strict, and there is no lock"):
        printed("prod")
    pin = Pin.default(was=model["source"], source=model["source"], digest=f"sha256:{'a' * 64}", bytes=7, **ANSWERED)
    pins = {ConfigPath("services", "qwen", "model"): pin}
    Path("inference.prod.lock.yaml").write_text(
        lock.text(lock.Lock("acme/inference-stacks/prod", pins)), encoding="utf-8"
    )
    asked.clear()
    assert "qwen" in printed("prod")
    assert asked == []
