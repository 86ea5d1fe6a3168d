"""Announced differences: what excuses a value, and what does not."""

from typing import Any

import pytest

from migration import announced
from migration.accounts import Original
from migration.announced import FileRole
from migration.fields import table
from migration.notes import Note
from models.paths import Path

CHART: dict[str, Any] = {
    "modelArtifacts": {"name": "acme/chat", "uri": "pvc://weights/models/chat"},
    "decode": {"parallelism": {"tensor": 2}, "containers": [{"name": "vllm", "image": "acme/vllm:latest"}]},
}


def subject(tree: dict[str, Any] = CHART, *noted: Path) -> FileRole:
    notes = tuple(Note("values.yaml", path, "ask", "") for path in noted)
    return FileRole("modelservice-chart", Original("values.yaml", tree, table("modelservice-chart")), "decode", notes)


def excused(part: str, ours: tuple[str, ...], theirs: tuple[str, ...], *noted: Path, **tree: Any) -> set[str]:
    reasons = announced.reasons(subject({**CHART, **tree}, *noted), part, ours, theirs)
    return {value for _, value in reasons}


def test_a_value_of_the_file_is_excused_and_no_other_one() -> None:
    """The chart sets TP_SIZE to what the file says for the role, and without it to 1."""
    assert excused("environment", (), ("TP_SIZE=2", "TP_SIZE=4", "DP_SIZE=1", "DP_SIZE=2")) == {
        "TP_SIZE=2",
        "DP_SIZE=1",
    }


def test_a_row_with_both_sides_holds_for_a_pair() -> None:
    """A folder of weights alone has lost its counterpart."""
    assert excused("arguments", ("/models",), ("/model-cache/models/chat",)) == {"/models", "/model-cache/models/chat"}
    assert excused("arguments", ("/models",), ()) == set()
    assert excused("arguments", ("/models",), ("/model-cache/models/other",)) == set()


def test_what_the_file_states_is_not_excused() -> None:
    """The other system has it too, so its rendering has changed if it lacks."""
    flag = ("--shutdown-timeout=45",)
    assert excused("arguments", flag, ()) == set(flag)
    containers = [{"name": "vllm", "args": ["--shutdown-timeout", "30"]}]
    assert excused("arguments", flag, (), decode={"containers": containers}) == set()


@pytest.mark.parametrize(
    ("part", "value", "decode"),
    [
        ("environment", "USER=engine", {"containers": [{"env": [{"name": "USER", "value": "a"}]}]}),
        (
            "probes",
            "livenessProbe /health",
            {"containers": [{"extraConfig": {"livenessProbe": {"httpGet": {"port": 1}}}}]},
        ),
        (
            "tolerations",
            '{"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}',
            {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]},
        ),
        ("ports", "8000", {"containers": [{"ports": [{"containerPort": 8200}]}]}),
    ],
)
def test_each_part_is_looked_up_in_the_file(part: str, value: str, decode: dict[str, Any]) -> None:
    """Variables, probes, tolerations and ports, with a file that does not state them as the control."""
    assert excused(part, (value,), ()) == {value}
    assert excused(part, (value,), (), decode=decode) == set()


def test_some_rows_need_a_note() -> None:
    """An image differs because a note says that its tag is no version."""
    images = ("acme/release:v1",), ("acme/vllm:latest",)
    assert excused("image", *images) == set()
    assert excused("image", *images, Path("decode", "containers", 0, "image")) == {*images[0], *images[1]}
    assert excused("image", images[0], ("acme/other:latest",), Path("decode", "containers", 0, "image")) == set()


def test_an_unknown_source_has_the_rows_of_all() -> None:
    """A source without rows of its own is none that nothing is known about."""
    nobody = FileRole("nobody", Original("a.yaml", {}, table("zerfoo")), "", ())
    values = ("USER=engine", "HF_HUB_DISABLE_TELEMETRY=1")
    assert set(announced.reasons(nobody, "environment", values, ())) == {("ours", "USER=engine")}


def test_roles_and_shared_fields_state_what_is_theirs() -> None:
    """Values of another role are not those of this one; fields of all roles are."""
    tree = {"spec": {"engine": {"args": ["--seed=1"]}, "prefill": {"env": [{"name": "USER"}]}, "template": {}}}
    original = Original("a.yaml", tree, table("kserve"))
    decode = FileRole("kserve", original, "spec", (), ("spec.engine", "spec.prefill"))
    assert not decode.states("environment", "USER=engine")
    assert not decode.states("arguments", "--seed=2")
    assert FileRole("kserve", original, "spec.prefill", ()).states("environment", "USER=engine")
    assert FileRole("kserve", original, "spec.template", (), (), "spec.engine").states("arguments", "--seed=2")
