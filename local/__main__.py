"""Entry point of `python -m local`. It checks Python's version before it imports modules with newer syntax."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python runs this file, too
    sys.exit("error: Inference Stacks needs Python 3.11 or newer; this is %d.%d" % sys.version_info[:2])  # noqa: UP031

from local.main import main

sys.exit(main(sys.argv[1:]))
