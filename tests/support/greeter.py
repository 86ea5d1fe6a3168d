"""A table with one small tool, and what takes the place of `go` and of the tool itself."""

import json
import os
import re
from pathlib import Path

from local.tools import build

ROWS = """
[go]
minimum = "1.26"
below = "2"
version = "1.26.6"
requirements = "go.txt"
seconds = 1

[[tool]]
name = "greeter"
names = ["greeter", "greet"]
version = "1.0.0"
from = "go"
package = "."
seconds = 1
path = { minimum = "1.2", below = "2", probe = ["--version"], pattern = '(\\d+\\.\\d+\\.\\d+)' }

[[tool]]
name = "companion"
names = ["companion"]
version = "1.0.0"
from = "go"
package = "."
module = "greeter"
seconds = 1
with = "greeter"
"""


GO = """#!/bin/sh
echo "$@" >> "$0.calls"
case "$1" in
env) echo go1.26.8 ;;
build) while [ "$1" != -o ]; do shift; done; {build} ;;
esac
"""


WRITE = 'printf "#!/bin/sh\\necho built\\n" > "$2"; chmod +x "$2"'


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def say_version(folder: Path, version: str, *names: str) -> None:
    for name in names:
        script(folder / name, f"#!/bin/sh\necho {version}\n")


def builds(folder: Path) -> int:
    calls = folder / "go.calls"
    return len(re.findall(r"^build", calls.read_text(), re.MULTILINE)) if calls.exists() else 0


def record(cache: Path, name: str, key: str, seconds: float, at: float) -> None:
    path = cache / "tools" / name / key / build.METADATA
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": "1", "seconds": seconds, "sha256": {}}))
    os.utime(path, (at, at))
