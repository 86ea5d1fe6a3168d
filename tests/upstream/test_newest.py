"""The report has every pin of the tables, and says which of them registries are ahead of."""

import re
from pathlib import Path

import pytest
import yaml

from upstream import newest, registries
from upstream.newest import NamedVersion
from upstream.registries import ReleaseList

TABLE = yaml.safe_load(Path("upstream/registries.yaml").read_text())
BUNDLES = [bundle["name"] for bundle in yaml.safe_load(Path("planning/bundles.yaml").read_text())["bundles"]]
CHANNELS = [path.stem for path in Path("planning/releases").glob("*.yaml")]


def test_every_bundle_has_a_registry_or_is_known_to_have_none():
    assert sorted(BUNDLES) == sorted([*TABLE["bundles"], *TABLE["unlisted"]])


def test_every_channel_every_bundle_and_pulumi_are_pinned():
    pins = {pin.thing: pin for pin in newest.read()}
    channels = [f"{part} of {name}" for name in CHANNELS for part in ("engine", "picker")]
    bundles = [f"CRDs of {name}" for name in BUNDLES]
    assert sorted(pins) == sorted([*channels, *bundles, "pulumi", "pulumi-kubernetes"])
    unlisted = {thing for thing, pin in pins.items() if pin.listing is None}
    assert unlisted == {f"CRDs of {name}" for name in TABLE["unlisted"]}
    assert f"pulumi=={pins['pulumi'].version} " in Path("requirements.txt").read_text()


def test_the_engine_of_an_image_is_the_version_of_vllm_in_it():
    pins = {pin.thing: pin for pin in newest.read()}
    assert pins["engine of llm-d-0.6"] == NamedVersion("engine of llm-d-0.6", "0.15.1", ReleaseList("pypi", "vllm"))
    assert pins["engine of gie-1.3"].version == "0.15.1"
    assert pins["picker of llm-d-0.9"].version == "v0.10.0"


@pytest.mark.parametrize(
    ("ours", "answer", "expected", "state"),
    [
        ("v1.9.0", "v1.10.0", "v1.10.0", "behind"),
        ("v1.10.0", "v1.10.0", "v1.10.0", "current"),
        ("v1.10.1", "v1.10.0", "v1.10.0", "current"),
        ("v1.10.0", None, "unknown", "unknown"),
    ],
)
def test_a_pin_is_behind_if_its_registry_has_a_newer_release(monkeypatch, ours, answer, expected, state):
    monkeypatch.setattr(
        newest, "read", lambda: iter([NamedVersion("a thing", ours, ReleaseList("go", "example.org/a"))])
    )
    monkeypatch.setattr(registries, "newest", lambda _: answer)
    heading, row = newest.report()
    assert heading.split() == ["thing", "ours", "newest", "state", "where"]
    assert re.split(" {2,}", row) == ["a thing", ours, expected, state, "Go module example.org/a"]


def test_a_pin_without_a_registry_is_unknown_and_a_registry_is_asked_once(monkeypatch):
    asked = []
    module = ReleaseList("go", "example.org/a")
    pins = [NamedVersion("a", "v1.0.0", module), NamedVersion("b", "v1.1.0", module), NamedVersion("c", "1", None)]
    monkeypatch.setattr(newest, "read", lambda: iter(pins))
    monkeypatch.setattr(registries, "newest", lambda listing: asked.append(listing) or "v1.1.0")
    rows = [re.split(" {2,}", line) for line in newest.report()]
    assert asked == [module]
    assert [row[3] for row in rows[1:]] == ["behind", "current", "unknown"]
    assert rows[3] == ["c", "1", "unknown", "unknown", "no registry"]
