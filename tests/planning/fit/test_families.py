"""The table of families names shapes that the program reads."""

from planning.fit import configs, families


def test_every_shape_has_a_reader_and_every_reader_a_family():
    assert {*families._shapes().values()} == configs._READERS.keys()
