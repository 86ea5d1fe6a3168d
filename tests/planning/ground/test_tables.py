import pytest
from pydantic import ValidationError

from models.base import Spec
from planning.ground import tables
from planning.releases import channels


class Empty(Spec):
    """A table without keys."""


def test_tables_of_a_folder_are_named_without_their_ending():
    assert tables.names("releases") == tuple(sorted(channels()))


def test_a_table_that_is_missing_or_malformed_is_an_error():
    with pytest.raises(FileNotFoundError):
        tables.read(Empty, "nowhere.yaml")
    with pytest.raises(ValidationError):
        tables.read(Empty, "bundles.yaml")
