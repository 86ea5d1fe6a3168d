"""Node affinity terms are alternatives, so that each carries the labels of the accelerator class."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import SPANNING, model_servers

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONES = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in ("a", "b")]
TERMS = [*ZONES, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]
AFFINITY = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": TERMS}}}


@pytest.mark.parametrize(
    "service",
    [{"accelerator": "nvidia-l40s"}, {"accelerator": "nvidia-l40s", "prefill": {}}, SPANNING],
    ids=["one-role", "prefill", "several-nodes"],
)
def test_each_node_affinity_term_keeps_its_expressions_and_gets_the_label_of_the_class(service):
    templates = model_servers(rendered(tree(qwen={**service, "pod": {"affinity": AFFINITY}})))
    for template in templates:
        terms = template["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        assert len(terms) == len(TERMS)
        for term, written in zip(terms, TERMS, strict=True):
            *expressions, product = term["matchExpressions"]
            assert (expressions, term.get("matchFields")) == (
                written.get("matchExpressions", []),
                written.get("matchFields"),
            )
            assert (product["key"], product["operator"]) == ("nvidia.com/gpu.product", "In")
            assert product["values"]
