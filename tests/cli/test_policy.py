"""The command `policy`: verdicts on stacks and on rendered objects, exit codes, and mistakes of the command."""

import json

import pytest

from tests.support import commands

DEV = "Pulumi.dev.yaml"


def ended(capsys, *arguments):
    return commands.ended(capsys, "policy", *arguments)


def test_advisory_violations_of_a_stack_are_printed_and_mandatory_ones_end_with_1(capsys, tmp_path):
    end = ended(capsys, DEV)
    assert end.code == 0
    assert (
        "advisory two-pickers: Deployment models/qwen-epp spec.replicas is an endpoint picker of one replica"
        in end.output
    )
    config = tmp_path / "config.json"
    config.write_text('{"all": "disabled", "two-pickers": "mandatory"}')
    end = ended(capsys, DEV, "--config", str(config))
    assert end.code == 1
    assert end.output.startswith("mandatory two-pickers: ")
    assert end.output.count("\n") == 1
    assert end.errors == "1 of 1 verdicts refuse the stack\n"


@pytest.mark.parametrize("form", ["yaml", "json", "list", "items"])
def test_rendered_objects_are_judged_in_every_form(capsys, tmp_path, form):
    text = commands.rendering(DEV, *(["--json"] if form != "yaml" else []))
    if form == "list":
        text = "".join(f"---\n{json.dumps(item)}\n" for item in json.loads(text)["objects"])
    elif form == "items":
        text = json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": json.loads(text)["objects"]})
    file = tmp_path / "objects"
    file.write_text(text)
    capsys.readouterr()
    end = ended(capsys, "--rendered", str(file))
    assert end.code == 0
    assert end.output.count("two-pickers") == 1
    assert end.output.count("image-digests") == 2
    assert "can't tell: the stack has no outputs of an inference stack" in end.output


def test_a_raw_object_of_another_program_is_refused(capsys, tmp_path):
    file = tmp_path / "role.yaml"
    file.write_text("kind: Role\nmetadata: {name: r, namespace: n}\nrules: [{verbs: ['*']}]\n")
    end = ended(capsys, "--rendered", str(file))
    assert end.code == 1
    assert (
        end.output
        == "mandatory no-wildcards: Role n/r rules[0] permits everything (verbs: '*'); list what the account needs\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "policy: judges a stack or the objects of a file, and needs one of them"),
        ([DEV, "--rendered", "x"], "policy: judges a stack or the objects of a file, and needs one of them"),
        (["--rendered", "/nowhere"], "--rendered: "),
        ([DEV, "--config", "/nowhere"], "--config: "),
        (["--rendered", "LICENSE"], "--rendered"),
        ([DEV, "--config", "LICENSE"], "--config: the configuration is no JSON"),
    ],
)
def test_a_mistake_of_the_command_is_told_without_a_traceback(capsys, arguments, message):
    end = ended(capsys, *arguments)
    assert end.code == 2
    assert message in end.errors
    assert "Traceback" not in end.errors


@pytest.mark.parametrize("text", ["- 3", "kind: Pod", "metadata: {}", "a: [", "&a [*a]", "kind: 3\nmetadata: {}"])
def test_files_that_hold_no_objects_are_refused(capsys, tmp_path, text):
    file = tmp_path / "file.yaml"
    file.write_text(text)
    end = ended(capsys, "--rendered", str(file))
    assert end.code == 2
    assert end.errors.startswith("--rendered")


def test_an_empty_file_has_nothing_to_judge(capsys, tmp_path):
    file = tmp_path / "empty.yaml"
    file.write_text("---\n")
    assert ended(capsys, "--rendered", str(file)) == (0, "", "")


def test_mistakes_of_a_configuration_stand_in_a_line_each(capsys, tmp_path):
    config = tmp_path / "config.json"
    config.write_text('{"image-digest": "advisory", "money": {"perMonth": "x"}}')
    end = ended(capsys, DEV, "--config", str(config))
    assert end.code == 2
    assert "--config: image-digest: is no rule; did you mean image-digests?" in end.errors
    assert "--config: money.perMonth: is no number" in end.errors
