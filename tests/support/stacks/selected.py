"""Valid stacks that select profiles, and between them reach every field of a profile and of a selection."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.fragments import CLAIMS, ENV, LAYERED, MIXTURE, POD
from tests.support.stacks.profiles import profile
from tests.support.stacks.varied_caches import VOLUMES
from tests.support.stacks.varied_pods import EAGER, EXTENDED, SPREAD
from tests.support.stacks.varied_weights import TOKEN

MODEL = "Qwen/Qwen3-32B"
"""A model that is shipped as well."""
ADAPTERS = {
    "sql": {"source": "hf://org/sql", "secrets": TOKEN},
    "legal": {"source": "kit://registry.example/legal:v1", "secrets": ["legal"]},
    "chat": {"source": "s3://bucket/chat", "endpoint": "http://minio:9000"},
}


def _selecting(*roles: str, on: tuple[str, int] = ("nvidia-h100-80gb", 2), **service: Any) -> dict[str, Any]:
    """Return a stack that selects the first of two profiles, whose keys of a service are given.

    `roles` may name a prefill and a canary. `on` are class and number of the first profile's devices.
    """
    facts = {"model": MODEL, "metric": "latency", "precision": "fp8"}
    other = profile("nvidia-l40s", 1, model=MODEL, metric="throughput", precision="fp16", type="general")
    both = {"first": profile(*on, **facts, service=service), "edited": other}
    stack = tree(qwen={}) | {"catalogue": {"profiles": both}}
    beside = {"prefill": {}, "canary": {"weight": 0, "prefill": {}, "engine": {"maxNumSeqs": 5}}}
    more = {role: beside[role] for role in roles}
    return stack | {"services": {"qwen": {"model": {"name": MODEL}, "selection": {"minimumType": "general"}, **more}}}


SELECTED = {
    "selecting": _selecting(engine={"env": ENV}, pod=POD | {"claims": CLAIMS}),
    "selecting-apart": _selecting("prefill"),
    "selecting-twice": _selecting("canary", "prefill"),
    "selecting-copies": _selecting(
        engine={"image": "registry.example/vllm-openai:v0.23.0"}, parallelism={"data": 2, "expert": True}
    ),
    "selecting-experts": _selecting(
        model={"source": "s3://bucket/m", "architecture": MIXTURE}, parallelism={"data": 2, "expert": True}
    ),
    "selecting-layers": _selecting(
        on=("nvidia-l40s", 1),
        model={"source": "s3://bucket/m", "size": "20Gi", "maxModelLen": 8192, "architecture": LAYERED},
    ),
    "selecting-plain-kit": _selecting(
        model={"source": "kit://registry.example/m:v1", "filter": ["model", "code"]},
        engine={"image": "registry.example/engine:v1"},
    ),
    "selecting-signed": _selecting(
        model={
            "source": "kit://registry.example/m:v1",
            "verify": {"type": "keyless", "identity": "me", "issuer": "https://issuer.example.com"},
        }
    ),
    "selecting-s3": _selecting(model={"source": "s3://bucket/m", "region": "eu", "secrets": ["one"]}),
    "selecting-pods": _selecting(pod=EXTENDED),
    "selecting-spread": _selecting(**SPREAD, on=("nvidia-h100-80gb", 8)),
    "selecting-eager": _selecting() | {"defaults": EAGER},
    "selecting-mounted": _selecting(
        model={"source": "oci://registry.example/m:v1", "folder": "models/m"},
    ),
    "selecting-draft": _selecting(
        model={
            "source": "hf://Qwen/Qwen3-32B",
            "speculative": {
                "method": "eagle3",
                "tokens": 3,
                "draft": {
                    "source": "hf://org/draft",
                    "secrets": TOKEN,
                    "size": "1Gi",
                    "architecture": {"layers": 1, "kvHeads": 8, "headDim": 128},
                },
            },
        }
    ),
    "selecting-stored-draft": _selecting(
        model={
            "source": "hf://Qwen/Qwen3-32B",
            "speculative": {
                "method": "eagle3",
                "tokens": 3,
                "draft": {"source": "s3://bucket/draft", "region": "eu", "secrets": ["one"]},
            },
        }
    ),
    "selecting-tiers": _selecting(
        engine={"compileCache": {"volume": "files"}},
        kvCache={"tiers": [{"type": "cpu", "size": "8Gi"}, {"type": "file-system", "volume": "files"}]},
        pod={"volumes": VOLUMES},
    ),
    "selecting-lmcache": _selecting(
        kvCache={"tiers": [{"type": "lmcache", "size": "8Gi", "volume": "files", "volumeSize": "9Gi"}]},
        pod={"volumes": VOLUMES},
    ),
    "selecting-store": _selecting(
        kvCache={"tiers": [{"type": "mooncake-store", "volume": "store", "file": "store.json"}]},
        pod={"volumes": VOLUMES},
    ),
    "selecting-hub": _selecting(model={"source": "hf://org/m", "secrets": TOKEN}),
    "selecting-kit": _selecting(
        model={
            "source": "kit://registry.example/m:v1",
            "verify": {"type": "key", "secret": "one"},
            "lora": {"adapters": ADAPTERS},
        }
    ),
}
