"""Rules ask for series and labels that exist for the version of the engine and for the channel of the picker."""

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from models.problems import ConfigError
from planning.ground import yaml_text
from planning.ground.metric_facts import MetricFacts
from planning.observing import alerts, burn_rates, metrics
from planning.releases import channel, engine_series, offered_channels, picker_series
from tests.support.prometheus import selectors
from tests.support.prometheus.known_series import OF_ENGINES, known, unknown
from tests.support.stacks import SHIPPED, plan, shipped
from tests.support.stacks.watched import groups, watched

VERSIONS = ("0.20.2", "0.26.0", "0.33.0")
GOLDENS = Path("tests/contracts/goldens/rules")
NEWEST = VERSIONS[-1]
CHANNEL = "llm-d-0.10"
ENDS = ("", "_bucket", "_count", "_sum")
RENAMES = 20


def full(version: str, release: str) -> dict[str, Any]:
    """Return a stack whose service has every alert that a channel and a version can have."""
    keda = {"type": "keda", "minReplicas": 1, "maxReplicas": 3, "metrics": [{"type": "cpu", "targetPercent": 80}]}
    flow_control = {} if release.startswith("gie-1.3") else {"defaultRequestTTL": "5m"}
    service = {
        "release": release,
        "engine": {"image": f"vllm/vllm-openai:v{version}", "maxNumSeqs": 64},
        "endpointPicker": {"flowControl": flow_control, "replicas": 2},
        "storage": {"type": "dedicated"},
        "model": {"name": "org/m", "source": "hf://org/m", "size": "10Gi"},
        "canary": {"weight": 10, "autoscaling": keda},
    }
    if channel(release).sidecar is not None:
        service["prefill"] = {}
    return watched(qwen=service)


@cache
def expressions(release: str) -> tuple[str, ...]:
    """Return the expressions of the committed rules of a channel."""
    text = (GOLDENS / f"{release}.yaml").read_text(encoding="utf-8")
    return tuple(rule["expr"] for rules in yaml_text.load(text).values() for rule in rules)


def mistakes(release: str) -> list[str]:
    """Return the series and labels of the committed rules of a channel that the tables do not know."""
    series = known(NEWEST, release)
    return [name for expression in expressions(release) for name in unknown(expression, series)]


def is_reviewed(rule: Mapping[str, Any]) -> bool:
    """Tell whether a rule is committed: of a recorded series only that of the shortest window."""
    return "alert" in rule or rule["record"].endswith(burn_rates.table().windows[0])


@pytest.mark.parametrize("release", offered_channels())
def test_rules_of_each_channel_are_the_committed_ones(release, golden):
    of_groups = {name: [*filter(is_reviewed, rules)] for name, rules in groups(full(NEWEST, release)).items()}
    golden(GOLDENS / f"{release}.yaml", yaml_text.with_blocks(of_groups))


@pytest.mark.parametrize("release", offered_channels())
def test_committed_rules_ask_for_series_and_labels_in_the_tables(release):
    assert mistakes(release) == []


def observed(stack: dict[str, Any], version: str, release: str) -> dict[str, Any]:
    """Return a shipped stack with rules, with one version of vLLM and one channel, as far as it says no other thing."""
    monitors = {"metrics": {"type": "prometheus-operator"}, "rules": {}}
    image = {"image": f"vllm/vllm-openai:v{version}"}
    services = {key: without(service, "release") for key, service in stack["services"].items()}
    for service in services.values():
        service["engine"] = {**without(service.get("engine", {}), "image"), **image}
    whole = {**stack, "observability": {**stack.get("observability", {}), **monitors}}
    defaults = {"slo": {"availability": 99}, **without(stack.get("defaults", {}), "release")}
    return {**whole, "release": release, "defaults": defaults, "services": services}


def without(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name != key}


@pytest.mark.parametrize("release", offered_channels())
@pytest.mark.parametrize("version", VERSIONS)
def test_rules_of_shipped_stacks_ask_for_series_and_labels_in_the_tables(version, release):
    series = known(version, release)
    judged = 0
    for path in SHIPPED:
        try:
            planned = plan(observed(shipped(path), version, release))
        except ConfigError:
            continue
        for service in planned.services:
            if service.observing is None or any(variant.release != release for variant in service.variants):
                continue
            for group in service.observing.groups:
                for rule in (*group.recordings, *group.alerts):
                    judged += 1
                    assert unknown(rule.expression, series) == [], (path, rule)
    assert judged > 400


RENAMED = "renamed"


def renamed(names: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return names with their values, one of them renamed."""
    return {RENAMED if key == name else key: value for key, value in names.items()}


def metric(row: MetricFacts, name: str) -> MetricFacts:
    """Return a row of a table, with another name if it has a name, and without a label of that name."""
    labels = [RENAMED if label == name else label for label in row.labels]
    return row.model_copy(update={"name": RENAMED if row.name == name else row.name, "labels": labels})


def rename(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Rename a metric or a label in all tables."""
    of_engine = engine_series.metrics
    labels = engine_series.labels
    of_picker = picker_series.metrics
    table = metrics.table()
    monkeypatch.setattr(engine_series, "metrics", lambda version: renamed(of_engine(version), name))
    monkeypatch.setattr(engine_series, "labels", lambda version, row: frozenset(labels(version, row) - {name}))
    monkeypatch.setattr(
        picker_series, "metrics", lambda release: {key: metric(row, name) for key, row in of_picker(release).items()}
    )
    kinds = {"server": table.server, "target": table.target, "cluster": table.cluster}
    rows = {kind: {key: metric(row, name) for key, row in listed.items()} for kind, listed in kinds.items()}
    monkeypatch.setattr(metrics, "table", lambda: table.model_copy(update=rows))


def names() -> list[str]:
    """Return names of metrics and labels that rules ask for and the tables have, drawn by a seed."""
    rows = [*picker_series.metrics(CHANNEL).values()]
    table = metrics.table()
    rows += [row for listed in (table.server, table.target, table.cluster) for row in listed.values()]
    selected = [selectors.of(expression) for expression in expressions(CHANNEL)]
    series = frozenset[str]().union(*(row.series for row in selected))
    labels = {label for row in selected for _, label in row.matched} - OF_ENGINES - {"le"}
    listed = {*engine_series.metrics(NEWEST), *(row.name for row in rows)}
    asked = {
        name for name in listed if any(known.removeprefix(name) in ENDS for known in series if known.startswith(name))
    }
    return random.Random(38).sample(sorted(asked | labels), RENAMES)


def test_each_of_twenty_names_that_change_in_a_table_is_noticed(monkeypatch):
    assert mistakes(CHANNEL) == []
    for name in names():
        with monkeypatch.context() as patched:
            rename(patched, name)
            assert any(name in mistake for mistake in mistakes(CHANNEL)), name


NEVER = {"fail-open", "does-not-wake"}
"""Alerts of services with a setting that the full service cannot have beside its others."""
LACKING = {
    "gie-1.3": {"picker-polls-fail", "kv-transfers-fail", "requests-wait"},
    "gie-1.5": {"picker-polls-fail", "kv-transfers-fail"},
}
"""Alerts without a metric in the picker of a channel, without prefill, or without a time limit in its queue."""


@pytest.mark.parametrize("release", offered_channels())
@pytest.mark.parametrize("version", VERSIONS)
def test_a_channel_and_a_version_lack_only_alerts_that_are_listed(version, release):
    ids = {
        rule["labels"]["state"]
        for rules in groups(full(version, release)).values()
        for rule in rules
        if "alert" in rule
    }
    assert {row.id for row in alerts.rows()} - ids - NEVER == LACKING.get(release, set())
