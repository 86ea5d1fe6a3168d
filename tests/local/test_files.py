"""Files are replaced whole, and locks are held by one process."""

import pytest

from local import files
from local.errors import LocalError


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    files.write(path, "first")
    with pytest.raises(UnicodeEncodeError):
        files.write(path, "second \udcff")
    assert path.read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_lock_is_held_by_one_at_a_time_and_a_folder_can_be_one(tmp_path):
    for path in (tmp_path / "new" / "lock", tmp_path):
        with files.lock(path), pytest.raises(LocalError, match="busy"), files.lock(path, refusal="busy"):
            pass
        with files.lock(path, refusal="busy"):
            pass


def test_the_text_of_a_file_that_does_not_exist_is_empty(tmp_path):
    assert files.text(tmp_path / "absent") == ""
    (tmp_path / "present").write_text("ä")
    assert files.text(tmp_path / "present") == "ä"
