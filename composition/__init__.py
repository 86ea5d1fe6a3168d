"""Composition of a stack from its configuration, for runs of Pulumi's engine and for commands of `python -m cli`.

Only this package decides the order of the steps: load, read sizes, plan, render, read the cluster, add waits, check.
The package neither imports Pulumi nor prints. Its callers print the problems, and register or print the objects.
"""

from composition import defects, selecting, sources
from composition.pipeline import compose
from composition.results import Composition, Refusal
from composition.target import Given, Live, Target
from facts.lock_file import LockFile

__all__ = [
    "Composition",
    "Given",
    "Live",
    "LockFile",
    "Refusal",
    "Target",
    "compose",
    "defects",
    "selecting",
    "sources",
]
