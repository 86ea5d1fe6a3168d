"""Files that a configuration or a command names are regular files of bounded size."""

import os
import threading
from pathlib import Path

import pytest

from facts import facts_file, platform_file, regular_files
from facts.regular_files import UnreadableError
from models.problems import ConfigError
from planning.ground.cluster_facts import Unknown


def reason(path, **options):
    with pytest.raises(UnreadableError) as error:
        regular_files.text(path, 100, **options)
    return str(error.value)


def test_what_is_no_regular_file_is_never_opened(tmp_path):
    """See defects H17."""
    os.mkfifo(tmp_path / "fifo")
    assert reason(Path("/dev/zero")) == reason(tmp_path / "fifo") == "is not a regular file"
    assert reason(Path("/dev/zero"), pipe=True) == "is not a regular file"
    assert reason(tmp_path) == "cannot be read (Is a directory)"
    assert reason(tmp_path / "absent") == "cannot be read (No such file or directory)"
    assert reason(tmp_path / "nul\0") == "is no path"
    (tmp_path / "loop").symlink_to("loop")
    assert reason(tmp_path / "loop") == "cannot be read (Too many levels of symbolic links)"


def test_a_large_file_is_refused(tmp_path):
    """See defects H17."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    assert regular_files.text(file, 100) == "x" * 100
    file.write_bytes(b"x" * 101)
    assert reason(file).startswith("is larger than ")
    os.truncate(file, 2**40)
    assert reason(file).startswith("is larger than ")


def test_ends_of_lines_are_those_of_unix(tmp_path):
    (tmp_path / "file").write_bytes("a\r\nb\rc\né".encode())
    assert regular_files.text(tmp_path / "file", 100) == "a\nb\nc\né"
    (tmp_path / "file").write_bytes(b"\xff")
    assert reason(tmp_path / "file") == "is not UTF-8"


def test_a_command_reads_a_pipe_and_does_not_wait_for_a_writer(tmp_path):
    """See defects H17."""
    os.mkfifo(tmp_path / "fifo")
    assert regular_files.text(tmp_path / "fifo", 100, pipe=True) == ""
    reader, writer = os.pipe()
    thread = threading.Timer(0.05, lambda: (os.write(writer, b"content"), os.close(writer)))
    thread.start()
    assert regular_files.text(Path(f"/dev/fd/{reader}"), 100, pipe=True) == "content"
    thread.join()
    os.close(reader)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 5000, "is nested too deeply"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "is nested too deeply"),
        ("[" * 101 + "]" * 101, "is nested too deeply"),
        ("{", "is not JSON"),
        ('{"a": NaN}', "is not JSON"),
        ("9" * 5000, "is not JSON"),
        ('["\\ud800"]', "has an escape that is half a character"),
        ('{"\\ude00": 1}', "has an escape that is half a character"),
    ],
    ids=["open", "deep", "levels", "no-json", "constant", "digits", "half", "half-in-a-key"],
)
def test_what_is_wrong_with_json_is_said(tmp_path, text, what):
    """See defects H16."""
    file = tmp_path / "file.json"
    file.write_text(text)
    with pytest.raises(UnreadableError, match=what):
        regular_files.json_value(file)
    facts = facts_file.read(file)
    assert facts.apis == Unknown(f"file.json {what}")
    with pytest.raises(ConfigError, match=rf"^--platform: {what} \(file\.json\); "):
        platform_file.read(file)


def test_json_within_the_limits_is_read(tmp_path):
    file = tmp_path / "file.json"
    file.write_text('["\\ud83d\\ude00", "é"]')
    assert regular_files.json_value(file) == ["😀", "é"]
    file.write_text('{"a": [0, Infinity]}')
    assert regular_files.json_value(file, infinite=True) == {"a": [0, float("inf")]}
