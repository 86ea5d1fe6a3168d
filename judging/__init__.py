"""Judging: pure functions that compare plans and rendered objects with schemas, clusters and earlier runs."""

from judging.situation import Situation
from judging.verdicts import announce, judge, outages_of

__all__ = ["Situation", "announce", "judge", "outages_of"]
