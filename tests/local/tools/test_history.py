"""A build is expected to take as long as the last one."""

from local.tools import history, table
from tests.support.greeter import record


def test_a_build_is_expected_to_take_as_long_as_the_last_one_on_this_machine(tmp_path):
    _, entries = table.read()
    by_name = {entry.name: entry for entry in entries}
    istiod = by_name["istiod"]
    kwok = by_name["kwok"]
    expected = history.History(tmp_path, entries).estimate
    assert expected(istiod) == istiod.seconds
    record(tmp_path, "kwok", "old", kwok.seconds * 5, at=1)
    record(tmp_path, "kwok", "new", kwok.seconds * 2, at=2)
    record(tmp_path, "etcd", "new", by_name["etcd"].seconds * 9, at=3)
    assert expected(kwok) == kwok.seconds * 2
    assert expected(istiod) == istiod.seconds * 2
