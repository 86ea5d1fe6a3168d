"""Simulated runs of canaries with known shares of bad requests, judged by the code that `gate` calls.

`python -m tests.support.gate_runs` writes the table of all cells, which `tests/judging/gates/test_runs.py` compares.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.special import betaln, logsumexp

from judging.gates import promise, statistics, verdict
from judging.gates.records import GateOutcome, GateTerms, Tally, Terms
from planning.ground.request_counts import Block
from tests.support.measurements import measurement, terms

TABLE = Path("tests/judging/gates/runs.yaml")
RUNS = 2000
QUICK_RUNS = 200
ALPHA = 0.05
CORRELATIONS = (0.0, 1 / 51)
"""Correlations of requests of one minute: independent, and in bursts, in which the share of a minute is drawn anew."""
RATES = {0.001: 0.01, 0.01: 0.01, 0.05: 0.02, 0.1: 0.02}
"""Margins by the primary's share of bad requests."""
TRAFFIC = ((0.01, 500), (0.01, 5000), (0.1, 5), (0.1, 60), (0.1, 500), (0.5, 5), (0.5, 500), (0.5, 5000))
"""Shares of the canary, and requests of the service in a minute."""
_CHUNK = 2_000_000
"""Blocks that are drawn at once."""
_SHORTEST = 60
_DEVIATIONS = 5
"""Standard deviations by which requests may come later than they should."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Circumstances of runs."""

    rate: float
    share: float
    per_minute: int
    correlation: float

    @property
    def name(self) -> str:
        bursts = "bursts" if self.correlation else "independent"
        return f"{self.rate:.1%} bad, {self.share:.0%} of {self.per_minute} a minute, {bursts}"

    @property
    def gate(self) -> GateTerms:
        return GateTerms("errors", RATES[self.rate], self.rate)

    @property
    def minutes(self) -> int:
        """Return the minutes that a preview says, but at least an hour."""
        requests = promise.requests(self.gate, ALPHA, self.share)
        assert requests
        return max(_SHORTEST, math.ceil(max(requests, terms().min_requests) / self.canary))

    @property
    def canary(self) -> float:
        return self.per_minute * self.share

    @property
    def primary(self) -> float:
        return self.per_minute - self.canary

    @property
    def drawn(self) -> int:
        """Return the minutes that are drawn: the time goes on until the canary has had the requests of the terms."""
        return self.minutes + math.ceil(_DEVIATIONS * math.sqrt(terms().min_requests) / self.canary)

    def terms(self) -> Terms:
        return terms(self.gate, bake=self.minutes, warmup=0, weight=round(self.share * 100))

    def power(self) -> float:
        """Return the promised probability of a pass; for bursts, that of as many requests as tell as much."""
        tallies = [
            Tally(number * self.minutes, 0, 1 + number * self.correlation) for number in (self.primary, self.canary)
        ]
        return promise.power(self.gate, ALPHA, *tallies)


CELLS = [Cell(rate, *traffic, correlation) for correlation in CORRELATIONS for rate in RATES for traffic in TRAFFIC]
SHOWN = [
    cell
    for cell in CELLS
    if cell.rate != 0.05 and (cell.share, cell.per_minute) in {(0.01, 500), (0.1, 60), (0.5, 5000)}
]
"""Cells that documents show."""
QUICK = [cell for cell in CELLS if cell.rate == 0.01 and (cell.share, cell.per_minute) in {(0.1, 500), (0.5, 500)}]
"""Cells that are simulated in some seconds."""


def row(cell: Cell, runs: int = RUNS) -> dict[str, float | int | str]:
    """Return how many of some runs had which verdict."""
    equal = _verdicts(cell, cell.rate, 1, runs)
    at_margin = _verdicts(cell, cell.rate + cell.gate.margin, 2, runs)
    return {
        "cell": cell.name,
        "minutes": cell.minutes,
        "passes": equal[GateOutcome.PASSES],
        "promised": round(cell.power() * runs),
        "wrongFails": equal[GateOutcome.FAILS],
        "wrongPasses": at_margin[GateOutcome.PASSES],
        "failsAtMargin": at_margin[GateOutcome.FAILS],
    }


def _verdicts(cell: Cell, canary_rate: float, seed: int, runs: int) -> dict[GateOutcome, int]:
    """Return the number of runs by outcome: failures at any minute, passes at the end."""
    random = np.random.default_rng([seed, CELLS.index(cell)])
    counts = dict.fromkeys(GateOutcome, 0)
    demands = cell.terms()
    minutes = cell.drawn
    for size in _sizes(runs, minutes):
        primary = _draw(random, cell.primary, cell.rate, cell.correlation, (size, minutes))
        canary = _draw(random, cell.canary, canary_rate, cell.correlation, (size, minutes))
        suspect = _suspects(primary, canary, cell.gate.margin)
        for number in range(size):
            of_both = [_blocks(requests[number], bad[number]) for requests, bad in (primary, canary)]
            counts[_outcome(demands, of_both, np.flatnonzero(suspect[number]) + 1)] += 1
    return counts


def _outcome(demands: Terms, of_both: Sequence[list[Block]], asked: Sequence[int]) -> GateOutcome:
    """Return the outcome of a run.

    Gates are asked after the time, and before in all minutes after which independent requests would say worse. After
    other minutes the answer is not worse, as tests of the statistics hold. Within a minute it is that of the minute
    before, because only complete minutes are counted.
    """
    for minutes in (*asked, len(of_both[0])):
        ready = ([1] * minutes, [1] * minutes)
        judged = verdict.judge(demands, measurement(*(blocks[:minutes] for blocks in of_both), ready=ready, warmup=0))
        if judged.gates[0].outcome is GateOutcome.FAILS:
            return GateOutcome.FAILS
    return judged.gates[0].outcome


def _sizes(runs: int, minutes: int) -> Iterator[int]:
    """Yield how many runs are drawn at once."""
    size = max(1, min(runs, _CHUNK // minutes))
    yield from [size] * (runs // size)
    if runs % size:
        yield runs % size


def _draw(random, mean, rate, correlation, shape):
    """Return requests and bad requests of each minute. In bursts, each minute has a share of its own."""
    requests = random.poisson(mean, shape)
    shares = rate
    if correlation:
        strength = 1 / correlation - 1
        shares = random.beta(rate * strength, (1 - rate) * strength, shape)
    return requests, random.binomial(requests, shares)


def _suspects(primary, canary, margin):
    """Return after which minutes independent requests could say worse, as the quick test of `is_worse` does."""
    of_primary, bad_of_primary, of_canary, bad_of_canary = (
        np.cumsum(counts, axis=1, dtype=float) for counts in (*primary, *canary)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = bad_of_primary / of_primary + margin
        above = bad_of_canary / of_canary > limit
        good = of_canary - bad_of_canary
        mixture = logsumexp(
            [betaln(bad_of_canary + a, good + b) - betaln(a, b) for a, b in statistics._PRIORS], axis=0
        ) - math.log(len(statistics._PRIORS))
        likelihood = bad_of_canary * np.log(limit) + good * np.log1p(-limit)
        return above & (likelihood <= mixture + math.log(ALPHA / 2))


def _blocks(requests, bad) -> list[Block]:
    return [Block(*block) for block in zip(requests.tolist(), bad.tolist(), strict=True)]


def table(cells: Sequence[Cell], runs: int) -> Iterator[dict[str, float | int | str]]:
    """Yield the rows of some cells, and print each of them."""
    for cell in cells:
        counts = row(cell, runs)
        print(counts, file=sys.stderr, flush=True)
        yield counts


def page(rows: Sequence[dict[str, float | int | str]]) -> str:
    """Return the table of some rows for a document, in percentages."""
    titles = ("Circumstances", "Minutes", "Equal passes (promised)", "Passes at the margin", "Equal fails")
    lines = [
        f"| {' | '.join(titles)} |",
        "|---|---|---|---|---|",
    ]
    for counts in rows:
        passes, promised, wrong, fails = (
            f"{counts[key] / RUNS:.1%}" for key in ("passes", "promised", "wrongPasses", "wrongFails")
        )
        lines.append(f"| {counts['cell']} | {counts['minutes']} | {passes} ({promised}) | {wrong} | {fails} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Write the table of all cells."""
    head = "# Numbers of runs with each verdict, by `python -m tests.support.gate_runs`.\n"
    tree = {"quick": [*table(QUICK, QUICK_RUNS)], "all": [*table(CELLS, RUNS)]}
    TABLE.write_text(head + yaml.safe_dump(tree, sort_keys=False, width=200), encoding="utf-8")


if __name__ == "__main__":
    main()
