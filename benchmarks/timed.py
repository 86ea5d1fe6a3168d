"""The program of a stack, which also writes down the duration of composing: everything between pydantic and Pulumi.

Composing includes reading the cluster and all checks in the cluster. The first resource is registered afterwards.
"""

import os
import runpy
import time
from pathlib import Path
from typing import Any

from components import drafts

TIMES = "BENCHMARK_TIMES"
"""Variable with the path of the file into which the seconds of wall-clock time are written."""


def main() -> None:
    """Run the program, with a clock around its function `compose`."""
    compose = drafts.compose

    def compose_by_the_clock(*args: Any, **options: Any) -> Any:  # noqa: ANN401, what the function takes and returns
        start = time.monotonic()
        result = compose(*args, **options)
        Path(os.environ[TIMES]).write_text(str(time.monotonic() - start), encoding="ascii")
        return result

    drafts.compose = compose_by_the_clock
    runpy.run_path(str(Path(__file__).resolve().parent.parent / "__main__.py"))


if __name__ == "__main__":
    main()
