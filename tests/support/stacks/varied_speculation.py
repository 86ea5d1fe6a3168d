"""Valid stacks whose engines guess several tokens of an answer."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.varied_weights import TOKEN

_NUMBERS = {"layers": 1, "kvHeads": 8, "headDim": 128}
_H100 = {"accelerator": "nvidia-h100-80gb"}


def _guessing(draft: dict[str, Any], **further: Any) -> dict[str, Any]:
    """Return a public model, whose memory is known, with a draft."""
    speculative = {"method": "eagle3", "tokens": 3, "draft": {"architecture": _NUMBERS, "size": "1Gi", **draft}}
    return tree(qwen={**_H100, "model": {"source": "hf://Qwen/Qwen3-8B", "speculative": speculative}, **further})


SPECULATION = {
    "guessing": _guessing({"source": "hf://org/draft", "secrets": TOKEN}, prefill={}),
    "guessing-stored": _guessing({"source": "s3://bucket/draft", "region": "eu", "secrets": ["one"]}),
}
"""Stacks by name."""
