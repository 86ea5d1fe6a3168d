"""The programs in docs/embedding.md have the ten lines of README."""

import re
from pathlib import Path

import yaml

from planning.ground.instances import TYPE

TEXT = Path("docs/embedding.md").read_text(encoding="utf-8")
TEN_LINES = yaml.safe_load(Path("Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"]["inference-stacks:stack"]


def test_the_program_in_yaml_has_the_ten_lines():
    (text,) = re.findall(r"```yaml\n(name: .*?)```", TEXT, re.DOTALL)
    component = yaml.safe_load(text)["resources"]["chat"]
    package, _, name = component["type"].partition(":")
    assert f"{package}:index:{name}" == TYPE
    assert component["properties"] == {**TEN_LINES, "namespace": "chat"}


def test_the_programs_in_other_languages_have_the_same_model():
    source = TEN_LINES["services"]["qwen"]["model"]["source"]
    blocks = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
    assert {language for language, text in blocks if source in text} >= {"yaml", "ts", "py", "go", "python"}
