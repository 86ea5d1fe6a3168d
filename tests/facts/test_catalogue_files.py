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


def test_a_file_of_another_encoding_or_with_a_secret_is_said(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("profiles: {ä: {}}\n".encode("latin-1"))
    (tmp_path / "secret.yaml").write_text("profiles: {a: {token: {secure: v1:abc}}}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        catalogue_files.read(["latin.yaml", "secret.yaml", "nul\0.yaml"], tmp_path)
    assert [str(problem).rpartition(": ")[2].partition(";")[0] for problem in caught.value.problems] == [
        "is not UTF-8",
        "holds a secret value, which only a stack file can hold",
        "is no path",
    ]
