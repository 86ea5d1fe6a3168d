"""Start of `python -m cli`, whose commands are in `cli/commands.py`."""

import gc
import sys


def _main() -> int:
    # All objects that a command imports and makes stay in use until it ends. Garbage collection would examine them
    # again and again, which takes a third of the time.
    gc.disable()
    from cli import commands  # noqa: PLC0415, imports are to make no garbage collection

    return commands.main(sys.argv[1:])


sys.exit(_main())
