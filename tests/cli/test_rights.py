"""The command `rights`, which prints Roles."""

import pytest
import yaml

from cli import rights as command
from judging.rights import Purpose
from models.problems import ConfigError
from tests.support import commands
from tests.support.stacks import tree


def test_the_command_prints_roles(tmp_path, capsys):
    path = tmp_path / "stack.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": tree()}}))
    commands.run(command, str(path), "--for", Purpose.STATUS)
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [(each["kind"], each["metadata"].get("namespace")) for each in printed] == [
        ("ClusterRole", None),
        ("Role", "gateways"),
        ("Role", "models"),
    ]
    assert {each["metadata"]["name"] for each in printed} == {"inference-stacks-status"}


def test_the_logs_of_a_status_need_a_right_of_their_own(tmp_path, capsys):
    path = tmp_path / "stack.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": tree()}}))
    commands.run(command, str(path), "--for", Purpose.STATUS)
    assert "pods/log" not in capsys.readouterr().out
    commands.run(command, str(path), "--for", Purpose.STATUS, "--logs")
    assert "pods/log" in capsys.readouterr().out


@pytest.mark.parametrize("purpose", [Purpose.PREVIEW, Purpose.DEPLOY, Purpose.GATE])
@pytest.mark.parametrize("option", [("--logs",), ("--certificates", "public-tls")])
def test_options_of_a_status_are_refused_for_another_purpose(tmp_path, purpose, option):
    path = tmp_path / "stack.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": tree()}}))
    with pytest.raises(ConfigError, match=f"{option[0]}.*has no effect on the rights for a {purpose}"):
        commands.run(command, str(path), "--for", purpose, *option)
