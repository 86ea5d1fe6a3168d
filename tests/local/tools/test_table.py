"""The table of tools is read whole, and a key changes with everything that a build depends on."""

from local.tools import table

ROOT = table.ROOT


def test_every_row_of_the_table_is_read():
    go, entries = table.read()
    assert go.minimum < go.below
    names = [name for entry in entries for name in entry.names]
    assert len(names) == len(set(names))
    assert {"pulumi", "kube-apiserver", "envoy"} <= set(names)
    by_name = {entry.name: entry for entry in entries}
    assert by_name["pulumi-language-python"].together == "pulumi"
    assert by_name["pulumi"].on_path.fits("3.230.0")
    assert not by_name["pulumi"].on_path.fits("4.0.0")


def test_versions_are_compared_as_numbers():
    assert table.numbers("1.10.0") > table.numbers("1.9.9")


def test_the_key_changes_with_the_row_and_the_module(root):
    def key():
        return table.read(root)[1][0].key

    first = key()
    assert key() == first
    (root / "modules" / "greeter" / "go.sum").write_text("example.com v1.0.0 h1:a=\n")
    second = key()
    rows = (root / "tools.toml").read_text()
    (root / "tools.toml").write_text(rows.replace('version = "1.0.0"', 'version = "1.0.1"'))
    assert len({first, second, key()}) == 3
    changed = key()
    (root / "tools.toml").write_text((root / "tools.toml").read_text().replace("seconds = 1", "seconds = 2"))
    assert key() == changed
