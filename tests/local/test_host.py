"""Everything that the machine lacks is said at once."""

import os
import shutil

import pytest

from local import host
from local.errors import LocalError


def test_another_platform_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "uname", Machine)
    with pytest.raises(LocalError, match=r"Linux x86-64 only; this is linux aarch64"):
        host.check(tmp_path)


class Machine:
    machine = "aarch64"


def test_everything_that_is_missing_is_named_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(host.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(LocalError, match=r"lacks Python's module ensurepip, the command git, the command make"):
        host.check(tmp_path)


def test_too_little_disk_is_said_at_the_first_set_up_only(monkeypatch, tmp_path):
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 7 * 10**9))
    with pytest.raises(LocalError, match=r"needs 8 GB of free disk space; .* has 7\.0 GB"):
        host.check(tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / "cache" / "tools").mkdir(parents=True)
    host.check(tmp_path)
