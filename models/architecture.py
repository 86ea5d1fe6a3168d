"""Spec of a model's architecture: the numbers that its memory on devices follows from."""

from typing import Annotated

from pydantic import Field

from models.base import Spec
from models.vocabulary import Count, CountOrNone, Items, Share, Text, Within

Parameters = Annotated[int, Within(1, 2**50, "write the number of parameters, such as 8190735360")]


class CacheLayers(Spec):
    """Layers of a model that cache alike."""

    layers: Annotated[Count, Field(examples=[12])]
    """Number of these layers."""
    kv_heads: Count | None = Field(default=None, examples=[8])
    """Key and value heads; absent: the model's."""
    head_dim: Count | None = Field(default=None, examples=[128])
    """Numbers of one head; absent: the model's."""
    latent: Count | None = Field(default=None, examples=[576])
    """Numbers of one entry that stands for keys and values of all heads, as in MLA (kv_lora_rank plus
    qk_rope_head_dim). Every device holds it whole. Absent: there are heads."""
    bytes: Count | None = Field(default=None, examples=[132])
    """Bytes of one entry whose precision is fixed, such as that of an index. Every device holds it whole."""
    window: Count | None = Field(default=None, examples=[1024])
    """Number of the latest tokens that a sequence caches; absent: all of them."""
    ratio: Count = 1
    """Number of tokens for which there is one entry."""
    state: Count | None = Field(default=None, examples=[2097152])
    """Bytes of a state that a sequence has in one of these layers, however long it is, as in Mamba. Then nothing
    grows with its tokens."""


class Architecture(Spec):
    """Numbers of a model, as its `config.json` has them."""

    family: Text | None = Field(default=None, examples=["qwen3"])
    """The model_type of config.json. Absent: the numbers here are all that matters."""
    layers: Count | None = Field(default=None, examples=[36])
    """Number of layers (num_hidden_layers)."""
    hidden_size: Count | None = Field(default=None, examples=[4096])
    """Width of the model (hidden_size)."""
    intermediate_size: Count | None = Field(default=None, examples=[12288])
    """Width of the feed-forward network, or of one expert (intermediate_size, moe_intermediate_size)."""
    heads: Count | None = Field(default=None, examples=[32])
    """Attention heads (num_attention_heads)."""
    kv_heads: Count | None = Field(default=None, examples=[8])
    """Key and value heads (num_key_value_heads); absent: as many as heads."""
    head_dim: Count | None = Field(default=None, examples=[128])
    """Numbers of one head (head_dim); absent: hiddenSize divided by heads."""
    dtype: Text | None = Field(default=None, examples=["bfloat16"])
    """Type of the numbers (dtype or torch_dtype); absent: bfloat16."""
    vocab_size: Count | None = Field(default=None, examples=[151936])
    """Number of tokens that the model knows (vocab_size)."""
    context_length: Count | None = Field(default=None, examples=[40960])
    """Longest context (max_position_embeddings), which counts if model.maxModelLen is absent."""
    parameters: Parameters | None = Field(default=None, examples=[8190735360])
    """Number of parameters, from which the bytes of the weights follow if nothing says them."""
    experts: CountOrNone | None = Field(default=None, examples=[128])
    """Number of routed experts of a layer; absent or 0: none."""
    experts_per_token: Count | None = Field(default=None, examples=[8])
    """Number of experts that a token goes to (num_experts_per_tok)."""
    expert_share: Share | None = Field(default=None, examples=[0.95])
    """Share of the parameters in routed experts, which all copies of a replica divide among them."""
    cache: Items[CacheLayers] = Field(default=(), examples=[[{"layers": 12}, {"layers": 24, "window": 1024}]])
    """Layers that cache differently, in groups. Absent: every layer caches keys and values of all tokens."""
