"""Finder of a model's `config.json` in a ModelKit or ModelPack, from the first bytes of the layers.

A layer is a plain file, or an archive of a file or folder. The files in the archive of a folder are sorted by name
(kitops 1.7, pkg/lib/kitfile/layer.go). The first bytes of the archive are enough, because `config.json` precedes the
weights.
"""

import io
import json
import posixpath
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

PREFIX = 4 * 2**20
"""Number of bytes that are read from the beginning of a layer."""
_NAME = "config.json"
_FILE_PATH = "org.cncf.model.filepath"
"""Annotation with the path of the file or folder in a layer (modelpack/model-spec, docs/annotations.md)."""
_SMALL = 2**20
_MOST_SMALL = 16
"""Maximum number of small layers that are read if no layer is named `config.json`."""
_LARGEST_CONFIG = 2**20
_EXPANDED = 16 * PREFIX
_GZIP = 31
"""Value of zlib's parameter `wbits` for data with a gzip header."""


def candidates(layers: Iterable[Mapping[str, Any]], kitfile: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the layers that may contain `config.json`, the likeliest layer first.

    `layers` are the layers that pods unpack, as the manifest describes them. If layers have a path that ends with
    the name `config.json`, only these layers are returned.
    """
    named = {str(entry["digest"]): str(entry.get("path", "")) for entry in _entries(kitfile) if "digest" in entry}
    paths = [
        (str(layer.get("annotations", {}).get(_FILE_PATH) or named.get(layer["digest"], "")), layer) for layer in layers
    ]
    if likely := tuple(layer for path, layer in paths if posixpath.basename(path) == _NAME):
        return likely
    sizes = sorted((int(layer["size"]), index) for index, (_, layer) in enumerate(paths))
    small = [index for size, index in sizes if size <= _SMALL][:_MOST_SMALL]
    large = [index for size, index in sizes if size > _SMALL]
    # Only one large layer is returned, the first: the layer of `model` precedes the layers of `model.parts`.
    return tuple(paths[index][1] for index in (*small, *sorted(large)[:1]))


def _entries(kitfile: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of a Kitfile that describe layers."""
    model = cast("dict[str, Any]", kitfile.get("model") or {})
    lists = (model.get("parts"), kitfile.get("code"), kitfile.get("docs"), kitfile.get("datasets"))
    yield model
    for entries in lists:
        yield from cast("list[dict[str, Any]]", entries or [])


def find(media_type: str, beginning: bytes) -> object:
    """Return the content of `config.json`; None if the beginning of the layer does not contain this file."""
    data = beginning
    if media_type.endswith("+gzip"):
        data = _decompress(beginning)
    if ".raw" in media_type:
        return _json_value(data)
    configs = dict[str, object]()
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|") as archive:
            for member in archive:
                if posixpath.basename(member.name) == _NAME and member.isfile() and member.size <= _LARGEST_CONFIG:
                    file = archive.extractfile(member)
                    configs[posixpath.normpath(member.name)] = file and _json_value(file.read())
    except (tarfile.TarError, OSError, EOFError):
        pass  # the beginning of an archive may end within an entry
    outermost = min(configs, key=lambda path: path.count("/"), default="")
    return configs.get(outermost)


def _decompress(data: bytes) -> bytes:
    """Decompress the beginning of gzip data. The result is empty if the data is not gzip."""
    try:
        return zlib.decompressobj(_GZIP).decompress(data, _EXPANDED)
    except zlib.error:
        return b""


def _json_value(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
