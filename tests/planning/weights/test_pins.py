"""Sources whose content may change under one name."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from planning import outputs
from tests.support.stacks import NAME, lines, plan, tree
from tests.support.stacks.shapes import DIGEST

COMMIT = "0f" * 20


def warned(stack):
    """Return the warnings about sources."""
    return [line for line in lines(plan(stack).warnings, "warning") if "source: " in line]


def serving(source, **service):
    """Return a stack with a model of a source."""
    return tree(qwen={"model": {"name": "org/m", "source": source}, **service})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "hf://org/m",
            "names no revision, so the files may change under it (hf://org/m); add the commit: hf://org/m@<commit>",
        ),
        (
            "hf://org/m@main",
            "is a branch, so the files may change under it (main); write the commit: hf://org/m@<commit>",
        ),
        (
            "kit://registry.example:5000/m:v1",
            (
                "is a tag, so the files may change under it (v1); "
                "write the digest: kit://registry.example:5000/m@sha256:<digest>"
            ),
        ),
    ],
)
def test_a_name_whose_content_may_change_is_a_warning(source, expected):
    """See defects C12."""
    assert warned(serving(source)) == [f"services.qwen.model.source: {expected}"]
    warnings = outputs.of_stack(plan(serving(source)), None)["services"]["qwen"]["warnings"]
    assert f"model.source: {expected}" in warnings


@pytest.mark.parametrize(
    "source",
    [
        *(f"hf://org/m@{COMMIT}", "hf://org/m@v1.2", f"kit://registry.example/m@{DIGEST}"),
        *("s3://bucket/m", "pvc://weights/m", "image://registry.example/server:v1"),
    ],
)
def test_a_name_that_keeps_its_content_is_no_warning(source):
    assert warned(serving(source)) == []


def test_adapters_canaries_and_caches_are_told_once_where_they_are_written():
    stack = serving(
        f"hf://org/m@{COMMIT}",
        canary={"weight": 10, "model": {"source": "hf://org/n"}},
    )
    adapters = {"sql": {"source": "hf://org/sql"}}
    stack["services"]["qwen"]["model"]["lora"] = {"adapters": adapters}
    stack["services"]["other"] = {"model": {"name": "org/c"}, "storage": {"type": "shared", "cache": "c"}} | {
        "accelerator": "nvidia"
    }
    stack["caches"] = {"c": {"source": "hf://org/c", "size": "1Gi"}}
    assert [line.partition(": ")[0] for line in warned(stack)] == [
        "caches.c.source",
        "services.qwen.model.lora.adapters.sql.source",
        "services.qwen.canary.model.source",
    ]


@pytest.mark.parametrize("tag", ["latest", "main"])
def test_a_modelkit_of_a_moving_tag_is_refused_like_an_image(tag):
    """See defects C12."""
    stack = serving(f"kit://registry.example:5000/m:{tag}")
    adapters = {"sql": {"source": f"kit://registry.example/sql:{tag}"}}
    stack["services"]["qwen"]["model"]["lora"] = {"adapters": adapters}
    stack["caches"] = {"c": {"source": f"kit://registry.example/c:{tag}", "size": "1Gi"}}
    with pytest.raises(ConfigError) as error:
        planning.plan(load(stack), NAME)
    assert str(error.value).splitlines() == [
        f"{at}: names a tag that moves to newer ModelKits ({tag}); write a version or a digest"
        for at in (
            "caches.c.source",
            "services.qwen.model.source",
            "services.qwen.model.lora.adapters.sql.source",
        )
    ]
