"""Dashboards as Grafana reads them, and their ConfigMaps."""

import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from manifests import assembly, dashboards
from manifests.objects import Manifest, Rendered
from planning.ground import parts
from planning.observing.board_records import COLUMNS, Board
from planning.releases import offered_channels
from tests.support.stacks import plan
from tests.support.stacks.dashboards import drawn, image
from tests.support.stacks.watched import watched

LARGEST = 2**20
"""Maximum size of a ConfigMap in bytes (Kubernetes, Concepts, ConfigMaps)."""
H100 = "nvidia-h100-80gb"
FULL = {
    "accelerator": H100,
    "prefill": {"replicas": 2},
    "canary": {"weight": 10, "replicas": 1, "engine": image("0.19.1")},
    "endpointPicker": {"flowControl": {}, "replicas": 2},
    "kvCache": {"cpuOffload": "8Gi"},
}


def boards() -> list[Board]:
    """Return dashboards of several shapes: of all channels, with and without features."""
    trees = [drawn(qwen={"release": channel}) for channel in offered_channels()]
    trees += [drawn(qwen=FULL, bert={"engine": image("0.11.2")})]
    planned = [whole for tree in trees if (whole := plan(tree).boards) is not None]
    return [board for whole in planned for board in (*whole.services.values(), whole.overview)]


def losses(before: object, after: object, path: str = "") -> Iterator[str]:
    """Yield the places of a tree whose values another tree lacks or has otherwise."""
    match before, after:
        case Mapping(), Mapping():
            for key, value in before.items():
                if key not in after:
                    yield f"{path}/{key}"
                else:
                    yield from losses(value, after[key], f"{path}/{key}")
        case list(), list():
            if len(before) != len(after):
                yield path
            for index, (value, other) in enumerate(zip(before, after, strict=False)):
                yield from losses(value, other, f"{path}/{index}")
        case _:
            if before != after:
                yield path


def through_grafana(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a dashboard as Grafana's own types read it and write it again."""
    plugins.register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(json.loads(json.dumps(tree)))))


def test_grafana_loses_nothing_of_a_dashboard():
    for board in boards():
        tree = dashboards.dashboard(board)
        assert list(losses(tree, through_grafana(tree))) == []


@pytest.mark.parametrize("key", ["panelz", "styl"])
def test_the_round_trip_notices_what_grafana_does_not_know(key: str):
    tree = dict(dashboards.dashboard(boards()[0]))
    tree[key] = "dark"
    panel = tree["panels"][1]
    tree["panels"][1] = {**panel, "targets": [{**panel["targets"][0], "legend": "x"}]}
    assert list(losses(tree, through_grafana(tree))) == ["/panels/1/targets/0/legend", f"/{key}"]


def test_panels_lie_side_by_side_and_never_on_each_other():
    for board in boards():
        places = [panel["gridPos"] for panel in dashboards.dashboard(board)["panels"]]
        assert all(place["x"] + place["w"] <= COLUMNS for place in places)
        for first, second in combinations(places, 2):
            beside = first["x"] + first["w"] <= second["x"] or second["x"] + second["w"] <= first["x"]
            below = first["y"] + first["h"] <= second["y"] or second["y"] + second["h"] <= first["y"]
            assert beside or below, (board.title, first, second)


def test_panels_and_queries_have_names_of_their_own():
    for board in boards():
        panels = dashboards.dashboard(board)["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        for panel in panels:
            references = [target["refId"] for target in panel.get("targets", ())]
            assert len(set(references)) == len(references)


def test_many_queries_of_a_panel_have_letters_like_columns_of_a_table():
    services = {f"s{number:02}": {} for number in range(30)}
    whole = plan(drawn(**services)).boards
    assert whole is not None
    panel = dashboards.dashboard(whole.overview)["panels"][1]
    assert [target["refId"] for target in panel["targets"]][24:30] == ["Y", "Z", "AA", "AB", "AC", "AD"]


def thresholds(field: Mapping[str, Any]) -> list[tuple[float | None, str]]:
    """Return the values of the steps of a panel with their colors."""
    return [(step["value"], step["color"]) for step in field["thresholds"]["steps"]]


def test_rates_are_taken_over_four_scrapes_of_the_service_of_the_query():
    rare = {"metrics": {"interval": "60s"}}
    whole = plan(
        drawn(qwen=rare, bert={"canary": {"weight": 10, **rare}}, often={"metrics": {"interval": "5s"}})
    ).boards
    assert whole is not None
    panels = dashboards.dashboard(whole.overview)["panels"]
    intervals = {target["legendFormat"]: target["interval"] for panel in panels for target in panel.get("targets", ())}
    assert {name: intervals[name] for name in ("bert", "bert primary", "often", "qwen primary")} == {
        "bert": "60s",
        "bert primary": "60s",
        "often": "5s",
        "qwen primary": "60s",
    }


def test_a_broken_budget_is_red_and_shows_how_far_it_is_below_zero():
    whole = plan(drawn(qwen={})).boards
    assert whole is not None
    panels = dashboards.dashboard(whole.services["qwen"])["panels"]
    fields = {panel["title"]: panel["fieldConfig"]["defaults"] for panel in panels if panel["type"] != "row"}
    for title in ("Budget left: Availability", "Budget left: TTFT", "Budget left: TPOT"):
        assert thresholds(fields[title]) == [(None, "red"), (0, "green")], title
        assert fields[title]["color"] == {"mode": "thresholds"}
        assert "min" not in fields[title]
    use = fields["Use of the KV cache"]
    assert thresholds(use) == [(None, "green"), (0.95, "red")]
    assert use["min"] == 0


def rendered(tree: Mapping[str, Any]) -> list[Rendered]:
    """Return all objects of a stack."""
    return list(assembly.objects(assembly.render(plan(tree))))


def config_maps(tree: Mapping[str, Any]) -> dict[str, Manifest]:
    """Return the ConfigMaps of dashboards of a stack, by name of their part and owner."""
    kinds = (parts.DASHBOARD, parts.OVERVIEW)
    return {item.id.owner: item.manifest for item in rendered(tree) if item.id.part in kinds}


def test_a_config_map_has_what_the_sidecar_of_grafana_looks_for():
    spec = {"namespace": "monitoring", "labels": {"grafana": "yes"}, "annotations": {"grafana_folder": "Inference"}}
    maps = config_maps(drawn(spec, qwen={}))
    assert sorted(maps) == ["/overview", "qwen"]
    for manifest in maps.values():
        metadata = manifest["metadata"]
        assert metadata["namespace"] == "monitoring"
        assert metadata["labels"]["grafana"] == "yes"
        assert metadata["labels"]["app.kubernetes.io/part-of"] == "inference-stacks"
        assert metadata["annotations"]["grafana_folder"] == "Inference"
        (name, text), *others = manifest["data"].items()
        assert not others
        assert name == f"{metadata['name']}.json"
        assert json.loads(text)["uid"].startswith(metadata["name"].rpartition("-")[2])


def test_config_maps_are_small_and_the_same_in_every_run():
    services = {f"s{number:02}": FULL for number in range(20)}
    maps = config_maps(drawn(**services))
    assert max(len(json.dumps(manifest).encode()) for manifest in maps.values()) < LARGEST
    assert maps == config_maps(drawn(**services))


def test_a_stack_of_many_services_has_several_overviews():
    rich = {"canary": {"weight": 10, "replicas": 1}, "prefill": {"replicas": 2, "engine": image("0.19.1")}}
    tree = drawn(**{f"service-{number:02}": rich for number in range(51)})
    overviews = [item for item in rendered(tree) if item.id.part is parts.OVERVIEW]
    assert [item.suffix for item in overviews] == ["overview", "overview-2"]
    first, second = (json.loads(next(iter(item.manifest["data"].values()))) for item in overviews)
    assert (first["title"], second["title"]) == (
        "Inference services · inference-stacks/dev",
        "Inference services 2 · inference-stacks/dev",
    )
    assert first["uid"] != second["uid"]
    assert "service-50" in json.dumps(second)
    assert "service-50" not in json.dumps(first)
    assert len(json.dumps(overviews[0].manifest).encode()) < LARGEST


def others(tree: Mapping[str, Any]) -> list[Rendered]:
    """Return the objects of a stack that are no dashboards."""
    return [item for item in rendered(tree) if item.id.part not in (parts.DASHBOARD, parts.OVERVIEW)]


def test_the_key_adds_dashboards_and_changes_no_other_object():
    without = watched(qwen={})
    assert not config_maps(without)
    assert others(drawn(qwen={})) == others(without)


def test_nothing_waits_for_a_dashboard():
    assert not [
        item.id
        for item in rendered(drawn(qwen={}))
        for earlier in item.after
        if earlier.part in (parts.DASHBOARD, parts.OVERVIEW)
    ]


def test_a_dashboard_follows_its_namespace():
    tree = drawn({"namespace": "search"}, qwen={}, bert={"namespace": "search"})
    tree["namespaceOptions"] = {"create": True}
    before = {item.id.owner: item.after for item in rendered(tree) if item.id.part is parts.DASHBOARD}
    assert {key: {earlier.owner for earlier in after} for key, after in before.items()} == {
        "bert": {"search"},
        "qwen": {"models", "search"},
    }
    created = [item.manifest["metadata"]["name"] for item in rendered(tree) if item.id.part is parts.NAMESPACE]
    assert created == ["models", "search"]


def test_the_namespace_of_all_dashboards_is_not_created():
    tree = drawn({"namespace": "monitoring"}, qwen={}) | {"namespaceOptions": {"create": True}}
    created = [item.manifest["metadata"]["name"] for item in rendered(tree) if item.id.part is parts.NAMESPACE]
    assert created == ["models"]


def test_annotations_have_the_expected_hours_and_cost():
    hpa = {"type": "hpa", "minReplicas": 1, "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}
    tree = drawn(qwen={"accelerator": H100, "autoscaling": hpa}, cpu={"accelerator": "cpu"}, bert={})
    tree["prices"] = {"perDeviceHour": {H100: 4.1}, "currency": "EUR"}
    annotations = {key: manifest["metadata"].get("annotations", {}) for key, manifest in config_maps(tree).items()}
    assert annotations["qwen"]["inference-stacks.io/device-hours"] == f"730 to 2190 {H100}"
    assert annotations["qwen"]["inference-stacks.io/monthly-cost"] == "2993.0 to 8979.0 EUR"
    assert annotations["bert"] == {"inference-stacks.io/device-hours": "730 nvidia"}
    assert not {key for key in annotations["cpu"] if key.startswith("inference-stacks.io/")}


def test_another_price_changes_dashboards_alone():
    cheap = drawn(qwen={"accelerator": H100}) | {"prices": {"perDeviceHour": {H100: 4.1}}}
    dear = drawn(qwen={"accelerator": H100}) | {"prices": {"perDeviceHour": {H100: 5.1}}}
    assert config_maps(cheap) != config_maps(dear)
    assert others(cheap) == others(dear)
