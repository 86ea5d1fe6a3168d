"""What is known of the target cluster. Readers in `facts/` make it; a failed read is `Unknown`, never "empty"."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that could not be read, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Served:
    """The kinds that the API server serves, as `apiVersion/Kind`."""

    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Facts of one cluster at one time."""

    apis: Served | Unknown

    def digest(self, needed: Iterable[str]) -> str | None:
        """Return a SHA-256 over the facts that this stack needs, or nothing where none are known.

        Kinds that the stack does not need stay out, so that somebody else's CRD does not change the digest.
        """
        if isinstance(self.apis, Unknown):
            return None
        known = {kind: kind in self.apis.kinds for kind in sorted(set(needed))}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Pools:
    """The InferencePools that are there."""

    selectors: Mapping[tuple[str, str], Mapping[str, str]]
    """The labels that each selects pods by; by namespace and name."""


NOTHING_READ = ClusterFacts(apis=Unknown("cluster.facts is none"))
