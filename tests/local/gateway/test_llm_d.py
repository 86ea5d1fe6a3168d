"""The picker of llm-d on PATH is known by the version that Go wrote into it."""

import hashlib

import pytest

from local.gateway import llm_d

BUILT = b"\x7fELF mod\tgithub.com/llm-d/llm-d-router\tv%s\th1:a="


@pytest.mark.parametrize(
    ("version", "release"),
    [("0.11.0", "llm-d-0.10"), ("0.10.2", "llm-d-0.9"), ("0.9.0", "llm-d-0.8"), ("0.8.0", None), (None, None)],
)
def test_the_release_follows_from_the_version_in_the_program(version, release, tmp_path, monkeypatch):
    content = b"no version" if version is None else BUILT % version.encode()
    program = tmp_path / llm_d.NAME
    program.write_bytes(content)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if release is None:
        assert llm_d.find() is None
        return
    known, tool = llm_d.find()
    assert (known, tool.version, tool.path, tool.origin) == (release, version, program, "PATH")
    assert tool.sha256 == hashlib.sha256(content).hexdigest()


def test_without_a_picker_on_path_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert llm_d.find() is None
