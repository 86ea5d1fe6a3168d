"""Start of `python -m publishing`: builds and checks a version, or prints its changes with `--notes`."""

import argparse
import sys
from pathlib import Path

from models import version
from publishing import build, changelog, check
from publishing.errors import PublishingError


def main(arguments: list[str]) -> int:
    """Build and check the version of the project in the present folder. Return 0, or 2 if it must not be published."""
    parser = argparse.ArgumentParser(prog="python -m publishing", description="The files of a version.")
    parser.add_argument("--into", type=Path, default=Path("dist"), help="folder of the files, which is made anew")
    parser.add_argument("--notes", action="store_true", help="print what the version changes, and build nothing")
    options = parser.parse_args(arguments)
    project = Path.cwd()
    number = version.read()
    try:
        if options.notes:
            print(changelog.newest((project / changelog.FILE).read_text(encoding="utf-8")).text)
            return 0
        check.commit(project, number)
        files = build.build(project, options.into.resolve(), number)
        check.files(options.into, number)
    except PublishingError as error:
        print(error, file=sys.stderr)
        return 2
    for file in files:
        print(f"{build.digest(file)}  {options.into / file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
