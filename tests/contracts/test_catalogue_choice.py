"""The shipped profiles as they are selected: one of them, or none with a reason for each; never two alike."""

import itertools
from pathlib import Path

import pytest
import yaml

from cli import stackfile
from models.config_keys import ROOT
from planning.selection.catalogue import ProfileTable
from planning.selection.records import Reason
from tests.support import catalogue, selected
from tests.support.commands import rendering
from tests.support.stacks import shipped

MODELS = selected.shipped().models
METRICS = (None, "latency", "throughput")
TYPES = (None, "general", "preview", "unoptimized")
GENERAL = {"minimumType": "unoptimized"}
UNFIT = {Reason.ABSENT, Reason.NODES}


def classes_of(model):
    return {each.class_name for each in selected.shipped().candidates(model)}


def wishes(model):
    """Yield what a service may wish of the profiles of a model."""
    precisions = {each.profile.precision or "auto" for each in selected.shipped().candidates(model)} | {"auto"}
    for metric, precision, least in itertools.product(METRICS, sorted(precisions), TYPES):
        given = {"metric": metric, "precision": precision, "minimumType": least}
        yield {key: value for key, value in given.items() if value is not None}


def faults(table):
    """Yield how a table differs from one with exactly one selected profile, or with a reason why none is."""
    if table.tied:
        yield f"{[each.id for each in table.tied]} are alike for {table.question}"
    rows = [row.candidate.id for row in table.rows]
    if sorted(rows) != sorted(each.id for each in selected.shipped().candidates(table.question.model)):
        yield f"the table has {rows}"
    best = [row.candidate.id for row in table.rows if row.reason is Reason.BEST]
    if best != ([] if table.chosen is None else [table.chosen.id]):
        yield f"best are {best}"
    if not best and any(row.rank is not None for row in table.rows):
        yield "profiles are compared, and none is selected"


@pytest.mark.parametrize("name", selected.classes())
def test_shipped_profiles_never_tie_on_a_cluster_of_one_class(name):
    """A node has all, a few or one of the devices of a server."""
    fleets = [selected.fleet(name, devices=number) for number in (8, 4, 1)]
    for model in MODELS:
        asked = [GENERAL, *wishes(model)] if name in classes_of(model) else [GENERAL]
        tables = [selected.table(model, nodes, **each) for nodes in fleets for each in asked]
        assert [fault for table in tables for fault in faults(table)] == [], model


@pytest.mark.parametrize("model", MODELS)
def test_shipped_profiles_never_tie_on_a_cluster_of_all_classes(model):
    nodes = selected.fleet(*selected.classes())
    tables = [selected.table(model, nodes, **given) for given in wishes(model)]
    assert [fault for table in tables for fault in faults(table)] == []
    assert selected.table(model, nodes, **GENERAL).chosen is not None


@pytest.mark.parametrize("key", catalogue.profiles())
def test_a_second_profile_that_differs_in_devices_alone_would_tie(key):
    """Negative control."""
    profile = catalogue.profiles()[key]
    other = selected.declared(key, "other", deviceCount=profile["deviceCount"] * 2)
    both = ProfileTable([selected.declared(key), other], selected.classes())
    nodes = selected.fleet(profile["service"]["accelerator"], devices=16)
    assert {each.id for each in selected.table(profile["model"], nodes, both, **GENERAL).tied} == {key, "other"}


@pytest.mark.parametrize("key", catalogue.profiles())
def test_every_shipped_profile_is_selected_where_its_class_and_wishes_are_its_own(key):
    """A profile that nobody can get is not shipped."""
    profile = catalogue.profiles()[key]
    fields = {name: profile[name] for name in ("metric", "precision", "deviceCount") if name in profile}
    nodes = selected.fleet(profile["service"]["accelerator"])
    found = selected.table(profile["model"], nodes, minimumType=profile["type"], **fields)
    assert found.chosen is not None
    assert found.chosen.id == key
    assert found.chosen.service == catalogue.service(key)


@pytest.mark.parametrize("model", MODELS)
def test_profiles_are_out_where_no_node_has_their_devices(model):
    found = selected.table(model, selected.fleet("google-tpu-v5p"), **GENERAL)
    assert {row.reason for row in found.rows} == {Reason.ABSENT}
    alone = selected.table(model, selected.fleet("nvidia-h100-80gb", "amd-mi300x", devices=0), **GENERAL)
    assert {row.reason for row in alone.rows} <= UNFIT


def test_an_example_that_names_its_model_has_the_objects_of_the_profile_written_out(tmp_path):
    file = Path("examples/profile.yaml")
    (service,), (whole,) = stackfile.read(file)["services"].values(), shipped(file)["services"].values()
    assert {*service} == {"model", "selection"}
    assert {*service["model"]} == {"name"}
    assert {*whole} == {"model", "accelerator", "parallelism"}
    explicit = tmp_path / "profile.yaml"
    explicit.write_text(yaml.safe_dump({"config": {ROOT: shipped(file)}}))
    assert rendering(explicit) == rendering(file)
