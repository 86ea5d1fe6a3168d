"""Cases of rules as data: series that a test writes, and what an alert or a recorded series is at times.

Series have the names of this program, such as `engine:waiting{pod="a"}`, and get those of a version or channel.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal

import yaml
from pydantic import Field

from models.base import Spec
from planning.observing import metrics
from planning.observing.metrics import SeriesScope
from tests.support.prometheus.promtool import Suite

State = Literal["firing", "pending", "silent"]
Kind = Literal["fires", "silent", "bound"]
FOREIGN: Sequence[Mapping[str, str]] = (
    *({"namespace": "elsewhere"}, {"service": "other"}, {"variant": "other"}),
    *({"namespace": "elsewhere-too"}, {"service": "other-too"}, {"variant": "other-too"}),
)
"""Changes of a scope after which series belong to something else. Two of each, so that sums of theirs differ."""
UNDER_TEST = "under_test_"
"""Beginning of the names of rules in the files for promtool: the first is the rule, the others are its mutants."""


class Expected(Spec):
    """The state of an alert at a time."""

    at: str
    """Time since the first sample, as a duration of Prometheus."""
    state: State
    labels: dict[str, str] = Field(default={})
    """Labels that the expression adds to those of the rule."""


class AlertCase(Spec):
    """Series, and the states of an alert after them."""

    kind: Kind
    """fires: it fires. silent: it does not, although a simpler alert would. bound: it changes its state at a bound."""
    says: str
    """The case in a sentence."""
    series: dict[str, str] = Field(default={})
    """Samples in promtool's notation, by series; in addition to those of all cases."""
    states: list[Expected]


class AlertCases(Spec):
    """Cases of one alert."""

    alert: str
    """Id of the alert."""
    stack: str
    """Name of the stack whose alert it is."""
    labels: dict[str, str] = Field(default={})
    """Labels of the rule among those of its id."""
    step: str = "1m"
    """Time between two samples, and between two evaluations."""
    series: dict[str, str] = Field(default={})
    """Samples of all cases; a case can have others for a series."""
    cases: list[AlertCase]


class RecordCase(Spec):
    """Series with a sample in each step, and the value of a recorded series."""

    says: str
    series: dict[str, str]
    at: int
    """Number of steps after which the value counts."""
    value: float | None
    """Number of requests in a step; None if there is no series."""


class RecordCases(Spec):
    """Cases of a recorded series, which hold for each of its windows. A step is a fifth of the window."""

    record: str
    """Name of the series without the window."""
    stack: str
    """Name of the stack that records it."""
    cases: list[RecordCase]


@dataclass(frozen=True, slots=True)
class Run:
    """A case with names on the wire, ready for promtool."""

    says: str
    series: Mapping[str, str]
    step: str
    states: Sequence[Expected]


@cache
def alert_cases(folder: Path) -> dict[str, AlertCases]:
    """Return the cases of alerts by the names of their files in a folder."""
    return {path.stem: AlertCases.model_validate(_read(path)) for path in sorted(folder.glob("*.yaml"))}


@cache
def record_cases(folder: Path) -> dict[str, RecordCases]:
    """Return the cases of recorded series by the names of their files in a folder."""
    return {path.stem: RecordCases.model_validate(_read(path)) for path in sorted(folder.glob("*.yaml"))}


def runs(cases: AlertCases, scope: SeriesScope, names: Mapping[str, str]) -> Iterator[Run]:
    """Yield the cases of an alert with the names of a scope, and with names of objects for placeholders.

    Meanwhile, whoever else is scraped has the opposite case: if the alert ends as firing, others end as silent.
    """
    for case in cases.cases:
        series = written({**cases.series, **case.series}, scope, names)
        opposite = next(other for other in cases.cases if _fires(other) != _fires(case))
        theirs = _foreign({**cases.series, **opposite.series}, scope, names)
        states = [
            state.model_copy(
                update={"labels": {key: Template(text).substitute(names) for key, text in state.labels.items()}}
            )
            for state in case.states
        ]
        yield Run(case.says, {**theirs, **series}, cases.step, states)


def written(series: Mapping[str, str], scope: SeriesScope, names: Mapping[str, str]) -> dict[str, str]:
    """Return samples by series with the names of a scope. Series that the scope does not have are left out.

    A series that a query of its metric leaves out by a label has its own value of that label.
    """
    named = ((metrics.resolve(name, scope, names), samples) for name, samples in series.items())
    return {_with_last_labels(name): samples for name, samples in named if name is not None}


def _with_last_labels(series: str) -> str:
    """Return the name of a series with the last value of each label."""
    name, _, rest = series.partition("{")
    labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    return _labels(name, labels)


def _foreign(series: Mapping[str, str], scope: SeriesScope, names: Mapping[str, str]) -> dict[str, str]:
    """Return samples by series of other namespaces, services and variants."""
    changes = [change for change in FOREIGN if scope.variant is not None or "variant" not in change]
    return {name: text for change in changes for name, text in written(series, replace(scope, **change), names).items()}


def _fires(case: AlertCase) -> bool:
    return case.states[-1].state == "firing"


def old_bounds(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test on series as Prometheus 2 stores them: it leaves bounds of buckets as targets write them."""
    series = [{**item, "series": re.sub(r'le="(\d+)\.0"', r'le="\1"', item["series"])} for item in test["input_series"]]
    return {**test, "input_series": series}


def alert_suite(name: str, rules: Sequence[Mapping[str, Any]], run: Run) -> Suite:
    """Return a suite in which rules under other names must all come to the states of a case.

    The labels of the first rule are those that all must have.
    """
    named = [{**rule, "alert": f"{UNDER_TEST}{number}"} for number, rule in enumerate(rules)]
    times = dict.fromkeys(state.at for state in run.states)
    checks = [
        {
            "expr": f'ALERTS{{alertname="{rule["alert"]}"}}',
            "eval_time": time,
            "exp_samples": [
                {"labels": _labels("ALERTS", {**rules[0].get("labels", {}), **labels}), "value": 1}
                for labels in _active(rule["alert"], [state for state in run.states if state.at == time])
            ],
        }
        for rule in named
        for time in times
    ]
    test = {"interval": run.step, "input_series": _input(run.series), "promql_expr_test": checks, "name": run.says}
    return Suite(name, [{"name": "group", "rules": named}], [test], run.step)


def record_suite(
    name: str, rules: Sequence[Mapping[str, Any]], case: RecordCase, scope: SeriesScope, seconds: int
) -> Suite:
    """Return a suite in which recording rules under other names must all have the value of a case.

    `seconds` is the length of a step.
    """
    named = [{**rule, "record": f"{UNDER_TEST}{number}"} for number, rule in enumerate(rules)]
    labels = _labels("", scope.matchers)
    samples = [] if case.value is None else [{"labels": labels, "value": case.value}]
    checks = [
        {
            "expr": f"round({rule['record']} * {seconds}, 0.001)",
            "eval_time": f"{case.at * seconds}s",
            "exp_samples": samples,
        }
        for rule in named
    ]
    step = f"{seconds}s"
    series = {**_foreign(case.series, scope, {}), **written(case.series, scope, {})}
    test = {"interval": step, "input_series": _input(series), "promql_expr_test": checks}
    return Suite(name, [{"name": "group", "rules": named}], [{**test, "name": case.says}], step)


def numbers(failures: Sequence[str]) -> set[int]:
    """Return the numbers of the rules of a suite that promtool's failures are about."""
    return {int(number) for failure in failures for number in re.findall(rf"\b{UNDER_TEST}(\d+)\b", failure)}


def broken(failures: Sequence[str]) -> set[int]:
    """Return the numbers of the rules that could not be evaluated; promtool then ends the test."""
    lines = (re.search(rf"rule: {UNDER_TEST}(\d+), time: .*, err: ", failure) for failure in failures)
    return {int(line[1]) for line in lines if line is not None}


def _active(alert: str, states: Sequence[Expected]) -> Iterator[dict[str, str]]:
    for state in states:
        if state.state != "silent":
            yield {**state.labels, "alertname": alert, "alertstate": state.state}


def _labels(name: str, labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{label}="{value}"' for label, value in sorted(labels.items()))
    return f"{name}{{{pairs}}}"


def _input(series: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": samples} for name, samples in series.items()]


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
