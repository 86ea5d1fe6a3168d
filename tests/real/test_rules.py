"""Rules as they are rendered, judged by promtool: each has cases, and none of its parts could be another."""

import json
import time
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path

import promql_parser
import pytest

from planning.observing import alerts, burn_rates
from planning.releases import channels
from tests.support.prometheus.cases import (
    alert_cases,
    alert_suite,
    old_bounds,
    record_cases,
    record_suite,
    runs,
    written,
)
from tests.support.prometheus.contests import Contest, survivors
from tests.support.prometheus.mutants import Mutant, mutants
from tests.support.prometheus.promtool import failures, fill, problem
from tests.support.prometheus.rules import Release, scope, stack
from tests.support.prometheus.server import prometheus

pytestmark = pytest.mark.real

FOLDER = Path("tests/real/rules")
STACKS = FOLDER / "stacks.yaml"
ALERTS = alert_cases(FOLDER / "alerts")
RECORDS = record_cases(FOLDER / "records")
NEWEST = Release("llm-d-0.10", "0.33.0")
RELEASES = [Release(channel, engine) for channel in channels() for engine in ("0.11.2", "0.21.0", "0.33.0")]
STEPS = 5
"""Steps of a case of a recorded series in a window."""


def alert_runs(release):
    """Yield each alert that a release has with its cases: name, rule, run."""
    for name, cases in ALERTS.items():
        rendered = stack(STACKS, cases.stack, release)
        rule = rendered.alert(cases)
        if rule is not None:
            variant = rule["labels"].get("variant")
            for run in runs(cases, scope(release, variant), rendered.names):
                yield name, rule, run


def record_runs(release):
    """Yield each recorded series that a release has with its cases: name, rule, case, scope and seconds of a step."""
    for name, cases in RECORDS.items():
        for window, rule in stack(STACKS, cases.stack, release).records(cases.record).items():
            seconds = int(promql_parser.parse_duration(window).total_seconds()) // STEPS
            for case in cases.cases:
                yield f"{name} {window}", rule, case, scope(release, "primary"), seconds


def contests(release):
    """Return the contests of all rules of a release, by name."""
    cases = defaultdict(list)
    rule_of = {}
    for name, rule, run in alert_runs(release):
        rule_of[name] = rule
        cases[name].append(partial(alert_suite, run=run))
    for name, rule, case, within, seconds in record_runs(release):
        rule_of[name] = rule
        cases[name].append(partial(record_suite, case=case, scope=within, seconds=seconds))
    return {name: Contest(rule, mutants(rule), cases[name]) for name, rule in rule_of.items()}


def suites(release):
    """Yield the suites of a release. A suite has the name of what it tests, so that equal ones have one name."""
    for name, rule, run in alert_runs(release):
        yield alert_suite(f"{name}: {run.says}", [rule], run)
    for name, rule, case, within, seconds in record_runs(release):
        suite = record_suite(f"{name}: {case.says}", [rule], case, within, seconds)
        yield suite
        yield replace(suite, name=f"{suite.name} (Prometheus 2)", tests=[old_bounds(test) for test in suite.tests])


def different(suites):
    """Return suites without those whose rules and tests another one has, each with a name of its own."""
    contents = {json.dumps([suite.groups, suite.tests, suite.step]): suite for suite in suites}
    return [replace(suite, name=f"{suite.name} #{number}") for number, suite in enumerate(contents.values())]


def test_promtool_accepts_every_rule_of_every_release(tools, tmp_path):
    names = {cases.stack for cases in [*ALERTS.values(), *RECORDS.values()]}
    groups = [stack(STACKS, name, release).groups for release in RELEASES for name in sorted(names)]
    assert problem(tools["promtool"].path, groups, tmp_path / "rules") is None


def test_promtool_refuses_a_rule_twice_and_a_rule_that_is_no_query(tools, tmp_path):
    rule = {"alert": "A", "expr": "up == 0"}
    promtool = tools["promtool"].path
    assert "1 duplicate rule(s) found" in problem(promtool, [[{"name": "a", "rules": [rule, rule]}]], tmp_path / "a")
    wrong = [{"name": "a", "rules": [{"alert": "A", "expr": "up =="}]}]
    assert "could not parse expression" in problem(promtool, [wrong], tmp_path / "b")


def test_every_alert_has_its_states_and_every_record_its_values_in_every_release(tools, tmp_path):
    everything = different(suite for release in RELEASES for suite in suites(release))
    results = failures(tools["promtool"].path, everything, tmp_path / "suites")
    assert {name: texts for name, texts in results.items() if texts} == {}


def test_promtool_notices_a_state_and_a_value_that_are_not_so(tools, tmp_path):
    name, rule, run = next(alert_runs(NEWEST))
    wrong = replace(run, states=[state.model_copy(update={"state": "pending"}) for state in run.states])
    record_name, record, case, within, seconds = next(record_runs(NEWEST))
    other = case.model_copy(update={"value": case.value + 0.01})
    both = [alert_suite(name, [rule], wrong), record_suite(record_name, [record], other, within, seconds)]
    results = failures(tools["promtool"].path, both, tmp_path / "suites")
    assert all(results[suite.name] for suite in both)


def test_no_mutant_of_an_alert_or_of_a_record_of_five_minutes_is_like_it(tools, tmp_path):
    some = {name: contest for name, contest in contests(NEWEST).items() if " " not in name or name.endswith(" 5m")}
    assert survivors(tools["promtool"].path, some, tmp_path) == []


@pytest.mark.prove
def test_no_mutant_of_a_record_of_any_window_is_like_it(tools, tmp_path):
    records = {name: contest for name, contest in contests(NEWEST).items() if " " in name}
    assert survivors(tools["promtool"].path, records, tmp_path) == []


def test_a_mutant_that_no_case_notices_is_told(tools, tmp_path):
    (name, contest), *_ = contests(NEWEST).items()
    same = Mutant(contest.rule, "nothing")
    contest = replace(contest, mutants=[same, *contest.mutants])
    assert survivors(tools["promtool"].path, {name: contest}, tmp_path) == [f"{name}: nothing"]


@pytest.mark.parametrize(("failures_in_100", "pages"), [(1, True), (0.5, False)])
def test_a_server_that_knows_six_hours_pages_for_their_failures(failures_in_100, pages, tools, tmp_path):
    """An hour would page above 1.44 %, and six hours page above 0.6 %."""
    now = int(time.time())
    times = range(now - 6 * 3600, now, 60)
    series = {"2xx": 100 - failures_in_100, "5xx": failures_in_100}
    lines = ["# TYPE http_requests counter"]
    for status, count in series.items():
        key = f'server:requests{{pod="a", role="decode", method="POST", handler="/v1/completions", status="{status}"}}'
        (name,) = written({key: ""}, scope(NEWEST, "primary"), {})
        lines += [f"{name} {1000 + number * count} {second}" for number, second in enumerate(times)]
    fill(tools["promtool"].path, "\n".join([*lines, "# EOF\n"]), tmp_path / "storage")
    groups = [{**group, "interval": "1s"} for group in stack(STACKS, "chat", NEWEST).groups]
    with prometheus(tools["prometheus"].path, tmp_path / "run", [], groups, storage=tmp_path / "storage") as server:
        server.eventually("inference_stacks:failures:rate6h > 0 and inference_stacks:failures:rate30m > 0")
        server.eventually('ALERTS{alertname="InferenceAvailabilityBurnsSlowly"}')
        assert ("InferenceAvailabilityBurnsFast" in server.firing()) is pages


def test_every_row_of_the_tables_has_cases():
    rows = Counter(row.id for row in alerts.rows())
    assert Counter(cases.alert for cases in ALERTS.values()) == rows
    records = Counter(row.name for row in burn_rates.table().records)
    assert Counter(cases.record for cases in RECORDS.values()) == records
    assert {name for name, _, _ in alert_runs(NEWEST)} == ALERTS.keys()
    windows = burn_rates.table().windows
    assert {name for name, *_ in record_runs(NEWEST)} == {f"{name} {window}" for name in RECORDS for window in windows}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_cases_of_each_kind(name):
    kinds = defaultdict(list)
    for case in ALERTS[name].cases:
        kinds[case.kind].append({state.state for state in case.states})
    assert kinds.keys() == {"fires", "silent", "bound"}
    assert all("firing" in states for states in kinds["fires"])
    assert all("firing" not in states for states in kinds["silent"])
