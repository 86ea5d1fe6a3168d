"""Files that a configuration extends lie in the repository of the program."""

import pytest

from facts import base_files, catalogue_files, repository
from models.problems import ConfigError

SECRET = "topsecret value"


@pytest.mark.parametrize(
    "name", ["../../outside.yaml", "link.yaml", "folder/outside.yaml", "../../../../../../../../../../dev/zero"]
)
def test_a_configuration_names_no_file_outside_of_its_repository(project, name):
    """See defects H17."""
    (project / "link.yaml").symlink_to("../../outside.yaml")
    (project / "folder").symlink_to("../..")
    for read in (lambda: base_files.read({"extends": [name]}, project), lambda: catalogue_files.read([name], project)):
        with pytest.raises(ConfigError) as error:
            read()
        (problem,) = error.value.problems
        assert (problem.what, SECRET in str(error.value)) == (f"leads out of the repository ({name})", False)
        assert problem.remedy.startswith("copy the file into the repository, or set INFERENCE_STACKS_ROOT ")
    assert list(base_files.names({"extends": [name]}, project)) == []


def test_a_configuration_names_files_of_its_repository(project, monkeypatch):
    """See defects H17."""
    (project / "link.yaml").symlink_to("../shared.yaml")
    names = ["../shared.yaml", "link.yaml"]
    assert [document.file for document in base_files.read({"extends": names}, project)] == names
    monkeypatch.setenv(repository.VARIABLE, str(project.parent.parent))
    (document,) = base_files.read({"extends": ["../../outside.yaml"]}, project)
    assert document.tree == {"labels": {"a": SECRET}}
    monkeypatch.setenv(repository.VARIABLE, str(project))
    with pytest.raises(ConfigError, match="leads out of the repository"):
        base_files.read({"extends": ["../shared.yaml"]}, project)
