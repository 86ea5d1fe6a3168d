"""One way from a configuration to checked objects, for a deployment run and for `python -m cli render`.

Load, ask for sizes, plan, read the cluster, decide waits, render, check: which step follows which stands here alone.
Nothing here knows Pulumi or prints; who calls says what was found, registers it or writes it down.
"""

from composition.pipeline import Composition, Refusal, compose
from composition.target import Given, Live, Target

__all__ = ["Composition", "Given", "Live", "Refusal", "Target", "compose"]
