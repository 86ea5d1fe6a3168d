"""Labels, annotations and node selectors have one order, however they were written."""

import json

from tests.support.stacks import rendered, tree

KEYS = ["zone", "app", "team"]
CANARY = {"weight": 10, "engine": {"maxNumSeqs": 64}}
CACHE = {"caches": {"m": {"source": "s3://bucket/m", "size": "1Gi"}}}


def text(keys):
    """Return everything that a stack renders, with the keys of every mapping in the order of the manifests."""
    values = dict.fromkeys(keys, "one")
    pod = {"labels": values, "annotations": values, "nodeSelector": values}
    service = {"labels": values, "annotations": values, "pod": pod, "endpointPicker": {"pod": pod}, "canary": CANARY}
    stack = tree(qwen={**service, "route": {"annotations": values}}) | CACHE | {"labels": values}
    stack["observability"] = {"metrics": {"type": "prometheus-operator", "labels": values}}
    stack["namespaceOptions"] = {"create": True}
    return json.dumps(rendered(stack), indent=1)


def test_equal_labels_render_equal_text():
    """See defects C16."""
    assert text(KEYS) == text(sorted(KEYS)) == text(sorted(KEYS, reverse=True))
