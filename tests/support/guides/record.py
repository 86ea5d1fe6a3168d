"""Command that records the facts of a guide: `python -m tests.support.guides.record SOURCE OBJECTS VALUES...`.

OBJECTS is the output of `kubectl kustomize` for a guide's overlay; each VALUES is a file of values for its router, of
which later ones win. Prints the content of `facts.yaml`.
"""

import sys
from pathlib import Path
from typing import Any, cast

import yaml

from tests.support.guides import facts
from tests.support.guides.rows import lines_of


def main(source: str, objects: str, *values: str) -> None:
    """Print the record of a guide."""
    texts = [Path(path).read_text("utf-8") for path in (objects, *values)]
    merged = dict[str, Any]()
    for text in texts[1:]:
        merged = _merged(merged, yaml.safe_load(text))
    manifests = [manifest for manifest in yaml.safe_load_all(texts[0]) if manifest]
    record = {
        "source": source,
        "lines": sum(map(lines_of, texts)),
        "facts": facts.of(manifests) | facts.of_values(merged),
    }
    yaml.safe_dump(record, sys.stdout, sort_keys=False, width=1000)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = base.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _merged(cast("dict[str, Any]", below), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


if __name__ == "__main__":
    main(*sys.argv[1:])
