"""Surprising precedence between planned routes and other routes of the cluster: narrower hosts, and ties."""

from collections.abc import Iterator, Sequence

from models.problems import Problem
from planning.routes.hosts_and_ties import HostIndex, losses, ties
from planning.routes.records import RequestClaim


def judge(ours: Sequence[RequestClaim], theirs: Sequence[RequestClaim]) -> Iterator[Problem]:
    """Yield a warning for each surprising precedence between planned claims and other claims of the cluster."""
    yield from losses(ours, HostIndex(theirs))
    yield from losses(theirs, HostIndex(ours))
    yield from dict.fromkeys(ties(ours, theirs))
