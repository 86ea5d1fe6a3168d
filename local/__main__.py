"""`python -m local`: says what is missing before anything newer than an old Python understands is read."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python runs this file only to hear it
    sys.exit("error: Inference Stacks needs Python 3.11 or newer; this is %d.%d" % sys.version_info[:2])  # noqa: UP031

from local.main import main

sys.exit(main(sys.argv[1:]))
