"""Start of `python -m cli`, whose commands are in `cli/commands.py`."""

import gc
import sys

_INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""


def _main() -> int:
    # All modules and objects of a command stay in use until the command ends. The garbage collector would examine them
    # again and again, and take a third of the command's time.
    gc.disable()
    try:
        from cli import commands  # noqa: PLC0415, imports must run without garbage collection

        return commands.main(sys.argv[1:])
    except KeyboardInterrupt:
        return _INTERRUPTED


sys.exit(_main())
