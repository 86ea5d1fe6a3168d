"""LoRA adapters of random numbers, in the format of PEFT: a configuration, and tensors as safetensors."""

import json
import random
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCALE = 2.0
"""Size of the numbers. It is large enough that an adapter changes what the model answers."""


def make_adapter(directory: Path, fields: Mapping[str, Any], *, seed: int, rank: int = 8) -> Path:
    """Write an adapter for the attention of a model with these fields of its configuration; return its directory.

    Adapters with different seeds have different numbers.
    """
    directory.mkdir(parents=True)
    settings = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "org/model",
        "r": rank,
        "lora_alpha": 2 * rank,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": ["q_proj", "v_proj"],
    }
    (directory / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    hidden = fields["hidden_size"]
    outputs = {
        "q_proj": fields["num_attention_heads"] * fields["head_dim"],
        "v_proj": fields["num_key_value_heads"] * fields["head_dim"],
    }
    shapes = dict[str, tuple[int, int]]()
    for layer in range(fields["num_hidden_layers"]):
        for module, size in outputs.items():
            name = f"base_model.model.model.layers.{layer}.self_attn.{module}"
            shapes[f"{name}.lora_A.weight"] = (rank, hidden)
            shapes[f"{name}.lora_B.weight"] = (size, rank)
    (directory / "adapter_model.safetensors").write_bytes(_safetensors(shapes, random.Random(seed)))
    return directory


def _safetensors(shapes: Mapping[str, tuple[int, int]], numbers: random.Random) -> bytes:
    """Return tensors of random numbers: the length of the header, the header, and the numbers."""
    header = dict[str, Any]()
    data = b""
    for name, (rows, columns) in shapes.items():
        values = [numbers.uniform(-SCALE, SCALE) for _ in range(rows * columns)]
        start = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data
