"""Specs of speculative decoding."""

from typing import Annotated, Literal

from pydantic import Field

from models.architecture import Architecture
from models.base import Spec
from models.source import ModelSource
from models.vocabulary import Count, Within
from models.weight_parts import WeightPart

_MOST_TOKENS = 128
"""Most tokens that vLLM checks in one step (vllm 0.26.0 to 0.32.0, v1/sample/rejection_sampler.py, MAX_SPEC_LEN)."""


class DraftArchitecture(Spec):
    """Numbers of a draft whose layers cache keys and values of all tokens."""

    layers: Annotated[Count, Field(examples=[1])]
    """Number of layers."""
    kv_heads: Annotated[Count, Field(examples=[8])]
    """Number of heads for keys and values."""
    head_dim: Annotated[Count, Field(examples=[128])]
    """Width of a head."""


class DraftModel(WeightPart):
    """The weights that guess tokens."""

    source: Annotated[ModelSource, Field(examples=["hf://RedHatAI/Qwen3-32B-speculator.eagle3"])]
    """Source of the weights."""
    architecture: DraftArchitecture | None = Field(default=None, examples=[{"layers": 1, "kvHeads": 8, "headDim": 128}])
    """Numbers of the draft, from which checks.fit computes the memory of its cache. Absent: the numbers in the lock, or
    else those that the shipped table has for the name in an hf:// source."""

    @property
    def numbers(self) -> Architecture | None:
        """Return the numbers that the user wrote; None if there are none."""
        if self.architecture is None:
            return None
        numbers = self.architecture
        return Architecture.default(layers=numbers.layers, kv_heads=numbers.kv_heads, head_dim=numbers.head_dim)


class Speculative(Spec):
    """Speculative decoding."""

    method: Annotated[
        Literal["ngram", "eagle", "eagle3", "mtp", "draft-model"],
        Field(examples=["eagle3"]),
    ]
    """How tokens are guessed. ngram: by searching the prompt for the latest tokens; mtp: by layers for several tokens
    that the model itself has; eagle, eagle3: by a small head for this model (draft); draft-model: by a small model of
    the same vocabulary (draft)."""
    tokens: Annotated[
        int, Within(1, _MOST_TOKENS, "write the number of tokens that are guessed in a step"), Field(examples=[3])
    ]
    """Number of tokens that are guessed in a step (`num_speculative_tokens`)."""
    draft: DraftModel | None = Field(default=None, examples=[{"source": "hf://RedHatAI/Qwen3-32B-speculator.eagle3"}])
    """The weights that guess tokens. Every pod fetches them to the disk of its node. Required for eagle, eagle3 and
    draft-model; absent for mtp: the layers are in the weights of the model."""
