"""Single files are read from published wheels, and compared with their digests."""

import hashlib
import io
import re
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
import yaml

from upstream import history, series_labels, vllm, wheels
from upstream.wheels import Wheel

TABLES = Path("planning/releases/engines")


def wheel_of(files, recorded):
    """Return a wheel whose record has the digests of some other contents."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        digests = {path: urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for path, text in recorded.items()}
        rows = [f"{path},sha256={digest.decode().rstrip('=')},1" for path, digest in digests.items()]
        archive.writestr("a-1.dist-info/RECORD", "\n".join(rows))
    return stream.getvalue()


@pytest.fixture
def published(monkeypatch):
    """Serve bytes as a server does that gives ranges; the list has the length of each answer."""
    answers = []

    class Answer(io.BytesIO):
        """An answer with headers."""

    def publish(content):
        def request(url, method, first=None, last=None):
            answer = Answer(content[first : last + 1] if method == "GET" else b"")
            answer.headers = {"content-length": str(len(content))}
            answers.append(len(answer.getvalue()))
            return answer

        monkeypatch.setattr(wheels, "_request", request)
        return answers

    return publish


def test_single_files_of_a_wheel_are_read_by_ranges(published):
    files = {"a.py": "one", "b.py": "two", "big": "x" * 5 * 2**20}
    answers = published(wheel_of(files, files))
    assert wheels.files(Wheel("a.whl", "https://a", ""), ("a.py", "b.py", "c.py")) == {"a.py": b"one", "b.py": b"two"}
    assert sum(answers) < 2 * 2**20


def test_a_file_that_is_not_what_the_wheel_records_is_refused(published):
    published(wheel_of({"a.py": "other"}, {"a.py": "one"}))
    with pytest.raises(ValueError, match=r"a\.py does not match its digest in the wheel"):
        wheels.files(Wheel("a.whl", "https://a", ""), ("a.py",))


def read(name):
    """Return a table of the engines."""
    return yaml.load((TABLES / name).read_text(), yaml.CSafeLoader)


def test_every_version_of_the_table_has_its_wheel_and_digests():
    table, origin = (read(name) for name in ("vllm.yaml", "vllm-sources.yaml"))
    assert table["versions"] == [*origin["wheels"]] == sorted(table["versions"], key=history.numbers)
    assert len(table["versions"]) >= 4
    for version, wheel in origin["wheels"].items():
        assert wheel["wheel"].startswith(f"vllm-{version}-")
        assert {vllm.ARGUMENTS, vllm.VARIABLES} <= wheel["files"].keys() <= {*vllm.FILES, *series_labels.FILES}
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in [wheel["sha256"], *wheel["files"].values()])
