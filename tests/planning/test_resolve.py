"""Every context of a stack is made once, and rules and plans read the same ones."""

import collections
import json

import pytest

import planning
from models.load import load
from planning.hardware import accelerators
from planning.picker import config
from planning.routes import httproute
from planning.variant import canary, context, engine_environment, generation, kv_cache
from tests.support.stacks import NAME, tree

MODEL = {"name": "org/m", "source": "s3://bucket/m"}
STACK = tree(
    qwen={"prefill": {}, "route": {"matches": [{"path": "/a"}, {"path": "/b"}]}, "canary": {"weight": 7}},
    bert={"model": MODEL, "route": {"mirror": {"service": "qwen"}}},
)
ROLES = ["bert decode", "qwen decode", "qwen prefill", "qwen.canary decode", "qwen.canary prefill"]


@pytest.fixture
def constructed(monkeypatch):
    """Count every construction of a context, by its class and what it is about."""
    counts = collections.Counter()

    def counted(kind, about):
        original = kind.__init__

        def construct(self, *args, **keys):
            original(self, *args, **keys)
            counts[f"{kind.__name__} {about(self)}"] += 1

        monkeypatch.setattr(kind, "__init__", construct)

    counted(context.VariantContext, lambda variant: variant.owner)
    counted(context.RoleContext, lambda role: f"{role.variant.owner} {role.name}")
    return counts


def test_no_context_of_a_service_its_canary_or_its_prefill_is_made_twice(constructed):
    planning.plan(load(json.loads(json.dumps(STACK))), NAME)
    variants = [f"VariantContext {owner}" for owner in ("bert", "qwen", "qwen.canary")]
    assert constructed == dict.fromkeys([*variants, *(f"RoleContext {role}" for role in ROLES)], 1)


@pytest.mark.parametrize(
    ("module", "function", "times"),
    [
        (accelerators, "classes", 1),
        (canary, "share", 3),
        (config, "build", 3),
        (engine_environment, "plan", 5),
        (generation, "name_of", 3),
        (httproute, "resolve_match", 3),
        (httproute, "rules", 2),
        (kv_cache, "plan", 3),
    ],
)
def test_what_contexts_hold_is_decided_once_for_each(monkeypatch, module, function, times):
    original, calls = getattr(module, function), []

    def counted(*args, **keys):
        calls.append(args)
        return original(*args, **keys)

    monkeypatch.setattr(module, function, counted)
    planning.plan(load(json.loads(json.dumps(STACK))), NAME)
    assert len(calls) == times
