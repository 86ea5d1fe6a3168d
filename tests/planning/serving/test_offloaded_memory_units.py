"""Memory that the KV cache takes from the host: vLLM counts it in GiB, Kubernetes in the unit that is written."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import engine, flag, model_servers


@pytest.mark.parametrize(
    ("offload", "gib", "limit"),
    [("16Gi", "16", "64Gi"), ("16384Mi", "16", "64Gi"), ("16G", "14.9012", "63Gi"), ("1Ti", "1024", "1072Gi")],
)
def test_offloaded_memory_reaches_the_engine_in_gib_and_the_limit_in_whole_gi(offload, gib, limit):
    (template,) = model_servers(rendered(tree(qwen={"kvCache": {"cpuOffload": offload}})))
    assert flag(engine(template), "--kv-offloading-size") == gib
    assert engine(template)["resources"]["limits"]["memory"] == limit
