"""Spec of a model's architecture: the numbers from which the model's memory on devices follows."""

from typing import Annotated

from pydantic import Field

from models.base import Spec
from models.vocabulary import Count, CountOrNone, Items, Share, Text, Within

Parameters = Annotated[int, Within(1, 2**50, "write the number of parameters, such as 8190735360")]


class CacheLayers(Spec):
    """Layers of a model that cache in the same way."""

    layers: Annotated[Count, Field(examples=[12])]
    """Number of these layers."""
    kv_heads: Count | None = Field(default=None, examples=[8])
    """Number of key and value heads; absent: kvHeads of the model."""
    head_dim: Count | None = Field(default=None, examples=[128])
    """Dimension of a head; absent: headDim of the model."""
    latent: Count | None = Field(default=None, examples=[576])
    """Dimension of the one entry that stands for the keys and values of all heads, as in MLA (kv_lora_rank plus
    qk_rope_head_dim). Every device holds the whole entry. Absent: every head has an entry."""
    bytes: Count | None = Field(default=None, examples=[132])
    """Bytes of one entry whose precision is fixed, such as an entry of an index. Every device holds the whole entry."""
    window: Count | None = Field(default=None, examples=[1024])
    """Number of latest tokens of a sequence that stay in the cache; absent: all tokens."""
    ratio: Count = 1
    """Number of tokens that share one entry."""
    state: Count | None = Field(default=None, examples=[2097152])
    """Bytes of the state that a sequence has in each of these layers, as in Mamba. The state does not grow with the
    sequence, and the layers cache nothing else."""


class Architecture(Spec):
    """Numbers of a model, as its `config.json` has them."""

    family: Text | None = Field(default=None, examples=["qwen3"])
    """The model_type of config.json. Absent: only the numbers in this section describe the model."""
    layers: Count | None = Field(default=None, examples=[36])
    """Number of layers (num_hidden_layers)."""
    hidden_size: Count | None = Field(default=None, examples=[4096])
    """Width of the model (hidden_size)."""
    intermediate_size: Count | None = Field(default=None, examples=[12288])
    """Width of the feed-forward network, or of one expert (intermediate_size, moe_intermediate_size)."""
    heads: Count | None = Field(default=None, examples=[32])
    """Attention heads (num_attention_heads)."""
    kv_heads: Count | None = Field(default=None, examples=[8])
    """Key and value heads (num_key_value_heads); absent: the value of heads."""
    head_dim: Count | None = Field(default=None, examples=[128])
    """Dimension of a head (head_dim); absent: hiddenSize divided by heads."""
    dtype: Text | None = Field(default=None, examples=["bfloat16"])
    """Number format of the parameters (dtype or torch_dtype); absent: bfloat16."""
    vocab_size: Count | None = Field(default=None, examples=[151936])
    """Number of tokens that the model knows (vocab_size)."""
    context_length: Count | None = Field(default=None, examples=[40960])
    """Maximum context length in tokens (max_position_embeddings). It applies if model.maxModelLen is absent."""
    parameters: Parameters | None = Field(default=None, examples=[8190735360])
    """Number of parameters. The bytes of the weights follow from this number if their size is unknown."""
    experts: CountOrNone | None = Field(default=None, examples=[128])
    """Number of routed experts of a layer; absent or 0: none."""
    experts_per_token: Count | None = Field(default=None, examples=[8])
    """Number of experts that process a token (num_experts_per_tok)."""
    expert_share: Share | None = Field(default=None, examples=[0.95])
    """Number of parameters of all routed experts, divided by the number of all parameters. The copies of the model in
    a replica divide the experts among themselves."""
    cache: Items[CacheLayers] = Field(default=(), examples=[[{"layers": 12}, {"layers": 24, "window": 1024}]])
    """Groups of layers; each group caches in another way. Absent: every layer caches keys and values of all tokens."""
