"""Reasons for which an endpoint picker chose a pod, read from the picker's log and configuration."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

WEIGHT = re.compile(r"pluginRef: *(\S+)\n\s*weight: *([\d.]+)")
SCORED = "Calculated score"


@dataclass(frozen=True)
class CandidateScores:
    """Scores of all candidates for one request."""

    scores: Mapping[str, Mapping[str, float]]
    """Scores by the name of a pod and the name of a scorer."""
    weights: Mapping[str, float]
    """Weights by the name of a scorer. A scorer without an entry has weight 1."""

    @staticmethod
    def of(log: Path, config: str, identity: str) -> CandidateScores:
        """Read the scores of a request. `config` is the picker's configuration, `identity` is the id of the request."""
        scores = dict[str, dict[str, float]]()
        for line in _records(log):
            if line.get("x-request-id") == identity and line.get("msg") == SCORED:
                scorer = _name(line["plugin"])
                scores.setdefault(_pod(line["endpoint"]), {})[scorer] = float(line["score"])
        return CandidateScores(scores, {name: float(weight) for name, weight in WEIGHT.findall(config)})

    def total(self, pod: str) -> float:
        """Return the weighted sum of a pod's scores."""
        return sum(score * self.weights.get(scorer, 1.0) for scorer, score in self.scores[pod].items())

    def lines(self) -> list[str]:
        """Return a line for each candidate, the best first."""
        return [
            f"{pod}  {self.total(pod):.2f} = "
            + " + ".join(
                f"{self.weights.get(scorer, 1.0):g} × {score:.2f} {scorer}"
                for scorer, score in sorted(self.scores[pod].items())
            )
            for pod in sorted(self.scores, key=self.total, reverse=True)
        ]


def _records(log: Path) -> Iterable[dict[str, Any]]:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return (json.loads(line) for line in lines if line.startswith("{") and line.endswith("}"))


def _name(plugin: str | Mapping[str, str]) -> str:
    """Return the name of a plugin. The log has plugins as `name/type` or as objects."""
    if isinstance(plugin, str):
        return plugin.partition("/")[0]
    return plugin.get("Name", plugin.get("name", ""))


def _pod(endpoint: str | Mapping[str, str]) -> str:
    """Return the name of a pod, without the suffix that a picker adds for the number of the port."""
    if not isinstance(endpoint, str):
        endpoint = endpoint["name"]
    return re.sub(r"-rank-\d+$", "", endpoint.rpartition("/")[2])
