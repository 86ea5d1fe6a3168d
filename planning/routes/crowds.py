"""Crowds: claims on one gateway and host that a single request may match together.

A set of members is an integer, in which bit n stands for the member with index n. The members that can match the same
request as a claim are found by a few operations on such sets, whatever the number of members, and not by comparing the
claim with each of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from models.paths import Path
from planning.ground.cluster_facts import ParentRef
from planning.routes.collisions import EVERY_HOST, RequestClaim

_EXACT = "Exact"


@dataclass(frozen=True, slots=True)
class Member:
    """A claim on one listener of a gateway."""

    claim: RequestClaim
    parent: ParentRef


class Crowd:
    """Members with the same gateway, host and path."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self._of_name, self._of_value = dict[str, int](), dict[tuple[str, str], int]()
        self._of_names, self._of_count = dict[tuple[str, ...], int](), dict[int, int]()
        self._of_section, self._of_port = dict[str | None, int](), dict[int | None, int]()
        self._of_holder = dict[Path, int]()
        self._exact = self._conditional = 0

    @property
    def everybody(self) -> int:
        """Return the set of all members."""
        return (1 << len(self.members)) - 1

    @property
    def exact(self) -> int:
        """Return the set of members without regular expressions for headers."""
        return self._exact

    @property
    def conditional(self) -> int:
        """Return the set of members with conditions other than path and headers, such as a method."""
        return self._conditional

    def add(self, claim: RequestClaim, parent: ParentRef) -> None:
        """Add a claim on a listener."""
        bit, match = 1 << len(self.members), claim.match
        self.members.append(Member(claim, parent))
        for kind, name, value in match.headers:
            if kind == _EXACT:
                self._of_name[name] = self._of_name.get(name, 0) | bit
                self._of_value[name, value] = self._of_value.get((name, value), 0) | bit
        names, count = header_names(claim), len(match.headers)
        self._of_names[names] = self._of_names.get(names, 0) | bit
        self._of_count[count] = self._of_count.get(count, 0) | bit
        self._of_section[parent.section_name] = self._of_section.get(parent.section_name, 0) | bit
        self._of_port[parent.port] = self._of_port.get(parent.port, 0) | bit
        self._of_holder[claim.holder] = self._of_holder.get(claim.holder, 0) | bit
        self._exact |= bit if all(kind == _EXACT for kind, _, _ in match.headers) else 0
        self._conditional |= bit if match.more else 0

    def meeting(self, claim: RequestClaim, parent: ParentRef) -> int:
        """Return the members of other holders of which a request can match the headers together with those of `claim`.

        They share a listener with `parent`. Regular expressions count as matching every value.
        """
        found = self.everybody & ~self._of_holder.get(claim.holder, 0)
        for kind, name, value in claim.match.headers:
            if kind == _EXACT:
                found &= ~self._of_name.get(name, 0) | self._of_value.get((name, value), 0)
        if parent.section_name is not None:
            found &= self._of_section.get(parent.section_name, 0) | self._of_section.get(None, 0)
        if parent.port is not None:
            found &= self._of_port.get(parent.port, 0) | self._of_port.get(None, 0)
        return found

    def with_names(self, names: tuple[str, ...]) -> int:
        """Return the members that require exactly the headers with these names."""
        return self._of_names.get(names, 0)

    def with_fewer(self, count: int) -> int:
        """Return the members that require fewer than `count` headers."""
        fewer = 0
        for number, members in self._of_count.items():
            fewer |= members if number < count else 0
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


def lowest(members: int) -> int:
    """Return the smallest index in a set of members, which is not empty."""
    return (members & -members).bit_length() - 1


def header_names(claim: RequestClaim) -> tuple[str, ...]:
    """Return the names of the headers that a claim requires."""
    return tuple(name for _, name, _ in claim.match.headers)


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
