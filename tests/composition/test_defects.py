"""Reports of mistakes of this program name its own lines, and hold no text that may be a credential."""

import json
from pathlib import Path

import pytest
import yaml

from composition import defects
from judging.validation import SchemaError

HERE = Path(__file__).relative_to(Path.cwd())


def report(run):
    with pytest.raises(Exception) as error:  # noqa: PT011, the report is of any exception
        run()
    return [*defects.lines(error.value)]


@pytest.mark.parametrize(
    ("run", "name"),
    [
        pytest.param(lambda: json.loads("hunter2"), "JSONDecodeError", id="library of Python"),
        pytest.param(lambda: yaml.safe_load("{hunter2"), "ParserError", id="installed package"),
    ],
)
def test_a_report_has_the_type_and_the_lines_of_this_program_alone(run, name):
    first, *frames = report(run)
    assert first == name
    assert [frame.partition(":")[0] for frame in frames] == [str(HERE)] * 2
    assert frames[-1].endswith(" <lambda>")


def test_a_report_of_a_schema_error_is_its_text():
    def run():
        raise SchemaError("Deployment a: x: unknown\nDeployment b: y: unknown")

    assert report(run) == ["Deployment a: x: unknown", "Deployment b: y: unknown"]
