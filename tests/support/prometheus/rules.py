"""Rules as the program renders them, by stack, release channel and version of the engine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import planning
from manifests import assembly
from manifests.objects import Manifest
from models.load import load
from planning.observing.metrics import SeriesScope
from planning.releases import channel
from tests.support.prometheus.cases import AlertCases
from tests.support.prometheus.promtool import Tree
from tests.support.stacks import GATEWAY, NAME, rendered

SERVICE = "chat"
NAMESPACE = "models"
IMAGE = "docker.io/vllm/vllm-openai:v"


@dataclass(frozen=True, slots=True)
class Release:
    """A release channel and a version of vLLM."""

    channel: str
    engine: str


def scope(release: Release, variant: str | None) -> SeriesScope:
    """Return the scope of the series of the service, or of a variant of it."""
    catalogue = channel(release.channel).picker.metrics.catalogue
    return SeriesScope(NAMESPACE, SERVICE, variant, release.engine, catalogue)


@dataclass(frozen=True, slots=True)
class RenderedStack:
    """The rules of the service of a stack."""

    groups: list[Tree]
    """Groups as the PrometheusRule has them."""
    names: Mapping[str, str]
    """Names of objects of the primary, by the placeholders that cases have for them: decode, prefill, epp, claim."""

    @property
    def rules(self) -> list[Tree]:
        """Return the rules of all groups."""
        return [rule for group in self.groups for rule in group["rules"]]

    def alert(self, cases: AlertCases) -> Tree | None:
        """Return the rule that cases are about: of the primary, if it is a variant's. None if there is none."""
        labels = {"state": cases.alert, **cases.labels}.items()
        rules = [rule for rule in self.rules if labels <= rule.get("labels", {}).items()]
        primary = [rule for rule in rules if rule["labels"].get("variant") in (None, "primary")]
        assert len(primary) <= 1, f"{cases.alert} has {len(primary)} rules"
        return next(iter(primary), None)

    def records(self, name: str) -> dict[str, Tree]:
        """Return the rules that record a series for the primary, by window."""
        prefix = f"inference_stacks:{name}:rate"
        (primary,) = [group for group in self.groups if group["name"].endswith("-primary")]
        named = [rule for rule in primary["rules"] if rule.get("record", "").startswith(prefix)]
        return {rule["record"].removeprefix(prefix): rule for rule in named}


@cache
def stack(file: Path, name: str, release: Release) -> RenderedStack:
    """Return a stack of a file, which has services by the names of stacks."""
    services = yaml.safe_load(file.read_text(encoding="utf-8"))
    service = _known({key: value for key, value in services[name].items() if value is not None}, release)
    service["engine"] = {**service["engine"], "image": f"{IMAGE}{release.engine}"}
    observability = {
        "metrics": {"type": "prometheus-operator"},
        "rules": {},
        "prometheus": {"serverAddress": "http://prometheus.monitoring:9090"},
    }
    tree = {
        "namespace": NAMESPACE,
        "release": release.channel,
        "gateway": dict(GATEWAY),
        "observability": observability,
        "services": {SERVICE: service},
    }
    has_picker = service["endpointPicker"].get("enabled", True)
    objects = rendered(tree) if has_picker else _without_copies(tree)
    (rules,) = [manifest for manifest in objects if manifest["kind"] == "PrometheusRule"]
    return RenderedStack(rules["spec"]["groups"], dict(_names(objects)))


def _without_copies(tree: Tree) -> list[Manifest]:
    """Render a stack that has no use for a picker's image, which a retired channel would need."""
    return [item.manifest for item in assembly.objects(assembly.render(planning.plan(load(dict(tree)), NAME)))]


def _known(service: dict[str, Any], release: Release) -> dict[str, Any]:
    """Return a service without the words that a channel does not know, and without what its picker does not measure."""
    facts = channel(release.channel)
    known = dict(service)
    if facts.images.sidecar is None:
        known.pop("prefill", None)
        if "flowControl" in service["endpointPicker"]:
            known["endpointPicker"] = {**service["endpointPicker"], "flowControl": {}}
    slo: Mapping[str, Any] = service.get("slo", {})
    if slo.get("source") == "picker":
        catalogue = facts.picker.metrics.catalogue
        unmeasured = {name for name, metric in catalogue.items() if metric.gate == "latencyPredictor"}
        known["slo"] = {name: value for name, value in slo.items() if name not in unmeasured}
    return known


def _names(objects: list[Manifest]) -> Iterator[tuple[str, str]]:
    for manifest in objects:
        name = str(manifest["metadata"]["name"])
        match manifest["kind"]:
            case "PersistentVolumeClaim":
                yield "claim", name
            case "Deployment" if "-canary-" not in name:
                yield name.rpartition("-")[2], name
            case _:
                pass
