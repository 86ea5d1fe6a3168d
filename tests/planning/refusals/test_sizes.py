"""Annotations and objects that are too large to be stored are refused where the user wrote them."""

import pytest
import yaml

from models.config_keys import ROOT
from models.problems import ConfigError
from tests.support.commands import rendering
from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import told

FITTING = 256 * 1024 - 4096
NEARLY = {"a": "x" * (FITTING - 1)}
PLACES = {
    "annotations": {"annotations": {"a": "x" * FITTING}},
    "pod.annotations": {"annotations": NEARLY, "pod": {"annotations": {"b": ""}}},
    "route.annotations": {"annotations": NEARLY, "route": {"annotations": {"b": ""}}},
    "endpointPicker.pod.annotations": {"endpointPicker": {"pod": {"annotations": {"a": "ä" * (FITTING // 2)}}}},
}


@pytest.mark.parametrize("place", PLACES)
def test_annotations_that_are_too_long_together_are_refused_once(place):
    """See defects H11."""
    (message,) = told(tree(qwen=PLACES[place]))
    assert message.startswith(f"services.qwen.{place}: makes {FITTING + 1} bytes of annotations")


def test_annotations_that_fit_are_rendered():
    assert rendered(tree(qwen={"annotations": NEARLY}))


@pytest.mark.parametrize(
    ("service", "kind"), [("qwen", "Deployment qwen-decode"), ("canary", "Deployment qwen-canary-decode")]
)
def test_an_object_that_etcd_cannot_store_is_refused_at_its_service(service, kind, tmp_path):
    """See defects H11."""
    large = {"engine": {"env": {f"A{at}": "x" * 2000 for at in range(1000)}}}
    stack = tree(qwen=large if service == "qwen" else {"canary": {"weight": 10, **large}})
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text(yaml.dump({"config": {ROOT: stack}}, Dumper=yaml.CSafeDumper), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        rendering(path)
    at = "services.qwen" if service == "qwen" else "services.qwen.canary"
    assert [line.partition(" of ")[0] for line in str(error.value).splitlines()] == [f"{at}: makes {kind}"]
