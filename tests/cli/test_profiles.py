"""The page of the shipped profiles is that of their files."""

import re
from pathlib import Path

from cli import profiles
from planning.selection import shipped
from tests.support.commands import ended


def test_the_committed_page_is_the_catalogue(golden):
    golden(Path("docs/catalogue.md"), profiles.text())


def test_the_command_prints_the_page(capsys):
    assert ended(capsys, "reference", "profiles") == (0, profiles.text(), "")


def test_every_profile_has_a_row_and_every_model_its_precisions_by_class():
    page = profiles.text()
    found = dict(re.findall(r"^\| \[([\w-]+)\]\(https://\S+\) (\|.+\|)$", page, re.MULTILINE))
    keys = {key for document in shipped.files() for key in document.tree["profiles"]}
    assert found.keys() == keys
    assert found["gpt-oss-120b-h100-fp4"] == "| `nvidia-h100-80gb` | 1 | fp4 |  | optimized |"
    (head, _, *rows) = [
        line for line in page.splitlines() if line.startswith(("| Model", "|---", "| Qwen/Qwen3-32B<"))
    ][:3]
    cells = dict(zip(head.split(" | "), rows[0].split(" | "), strict=True))
    assert cells["`amd-mi300x`"] == "bf16, fp8"
    assert cells["`nvidia-h100-80gb`"] == "bf16"
    assert cells["`nvidia-l4`"] == ""
