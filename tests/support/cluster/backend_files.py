"""Files of a backend that is a folder: states, their backups and the history, some of which are compressed."""

import gzip
from pathlib import Path

_COMPRESSED = b"\x1f\x8b"


def texts(backend: Path) -> list[str]:
    """Return the text of every file below a folder."""
    return [_text(path.read_bytes()) for path in sorted(backend.rglob("*")) if path.is_file()]


def _text(content: bytes) -> str:
    if content.startswith(_COMPRESSED):
        content = gzip.decompress(content)
    return content.decode()
