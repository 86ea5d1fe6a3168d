"""Files with serving profiles that a stack names: what is read, and what is said of those that cannot be."""

import pytest

from facts import catalogue_files
from models.problems import ConfigError


def test_files_of_a_stack_are_read_relative_to_its_folder(tmp_path):
    (tmp_path / "private.yaml").write_text("profiles: {a: {}}\n", encoding="utf-8")
    (document,) = catalogue_files.read(["private.yaml"], tmp_path)
    assert (document.file, document.tree) == ("private.yaml", {"profiles": {"a": {}}})


def test_all_files_that_cannot_be_read_are_said(tmp_path):
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("[a]", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        catalogue_files.read(["gone.yaml", "/absolute.yaml", "empty.yaml", "list.yaml"], tmp_path)
    assert [str(problem).partition(";")[0] for problem in caught.value.problems] == [
        "gone.yaml: cannot be read (No such file or directory)",
        "catalogue.files[1]: is not relative (/absolute.yaml)",
        "empty.yaml: is empty",
        "list.yaml: is not a mapping",
    ]
