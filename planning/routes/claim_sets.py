"""Sets of claims on one gateway and host that a single request may match together.

A set of members is an integer, in which bit n stands for the member with index n. The members that can match the same
request as a claim are found by a few operations on such sets, whatever the number of members, and not by comparing the
claim with each of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from models.paths import Path
from planning.ground.cluster_facts import ParentRef
from planning.routes.records import EVERY_HOST, RequestClaim
from planning.routes.request_claims import EXACT

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Member:
    """A claim on one listener of a gateway."""

    claim: RequestClaim
    parent: ParentRef


class ClaimSet:
    """Members with the same gateway, host and path."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self._of_name = dict[str, int]()
        self._of_value = dict[tuple[str, str], int]()
        self._of_names = dict[tuple[str, ...], int]()
        self._of_count = dict[int, int]()
        self._of_section = dict[str | None, int]()
        self._of_port = dict[int | None, int]()
        self._of_holder = dict[Path, int]()
        self.exact = 0
        """The set of members without regular expressions for headers."""
        self.conditional = 0
        """The set of members with conditions other than path and headers, such as a method."""

    @property
    def everybody(self) -> int:
        """Return the set of all members."""
        return (1 << len(self.members)) - 1

    def add(self, claim: RequestClaim, parent: ParentRef) -> None:
        """Add a claim on a listener."""
        bit = 1 << len(self.members)
        match = claim.match
        self.members.append(Member(claim, parent))
        for kind, name, value in match.headers:
            if kind == EXACT:
                _add(self._of_name, name, bit)
                _add(self._of_value, (name, value), bit)
        _add(self._of_names, claim.header_names, bit)
        _add(self._of_count, len(match.headers), bit)
        _add(self._of_section, parent.section_name, bit)
        _add(self._of_port, parent.port, bit)
        _add(self._of_holder, claim.holder, bit)
        if all(kind == EXACT for kind, _, _ in match.headers):
            self.exact |= bit
        if match.more:
            self.conditional |= bit

    def meeting(self, claim: RequestClaim, parent: ParentRef) -> int:
        """Return the members of other holders of which a request can match the headers together with those of `claim`.

        They share a listener with `parent`. Regular expressions count as matching every value.
        """
        members = self.everybody & ~self._of_holder.get(claim.holder, 0)
        for kind, name, value in claim.match.headers:
            if kind == EXACT:
                members &= ~self._of_name.get(name, 0) | self._of_value.get((name, value), 0)
        if parent.section_name is not None:
            members &= self._of_section.get(parent.section_name, 0) | self._of_section.get(None, 0)
        if parent.port is not None:
            members &= self._of_port.get(parent.port, 0) | self._of_port.get(None, 0)
        return members

    def with_names(self, names: tuple[str, ...]) -> int:
        """Return the members that require exactly the headers with these names."""
        return self._of_names.get(names, 0)

    def with_fewer(self, count: int) -> int:
        """Return the members that require fewer than `count` headers."""
        fewer = 0
        for number, members in self._of_count.items():
            if number < count:
                fewer |= members
        return fewer

    def claims(self, members: int) -> list[RequestClaim]:
        """Return the distinct claims of a set of members."""
        claims = dict[int, RequestClaim]()
        while members:
            claim = self.members[lowest(members)].claim
            claims[id(claim)] = claim
            members &= members - 1
        return [*claims.values()]

    def first_of(self, members: int, limit: int) -> list[RequestClaim]:
        """Return claims of a set of members: one for each of the first holders, at most `limit`."""
        claims = list[RequestClaim]()
        while members and len(claims) < limit:
            claim = self.members[lowest(members)].claim
            claims.append(claim)
            members &= ~self._of_holder[claim.holder]
        return claims


def _add(sets: dict[_Key, int], key: _Key, bit: int) -> None:
    """Add a member to the set of a key."""
    sets[key] = sets.get(key, 0) | bit


def lowest(members: int) -> int:
    """Return the smallest index in a set of members, which is not empty."""
    return (members & -members).bit_length() - 1


def shorter_paths(path: str) -> Iterator[str]:
    """Yield the paths above a path: for `/a/b` these are `/a` and `/`."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path


def covering_hosts(host: str) -> Iterator[str]:
    """Yield the wildcards that cover a host: for `x.a.b` these are `*.a.b`, `*.b` and `*`."""
    if host == EVERY_HOST:
        return
    rest = host.removeprefix("*.")
    while rest := rest.partition(".")[2]:
        yield f"*.{rest}"
    yield EVERY_HOST
