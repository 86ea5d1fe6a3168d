"""Files that a container of vLLM finds in its mounts: model, adapters and certificates, all made here."""

import json
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local.vllm import families
from local.vllm.families import Family
from local.vllm.installation import Version
from tests.support.cluster import certificates

RANK = 8
CERTIFICATE = "--ssl-certfile="
KEY = "--ssl-keyfile="
MODULES = "--lora-modules"


def fill(arguments: Sequence[str], family: Family, version: Version) -> None:
    """Write all files that the arguments of a process name."""
    families.write_model(Path(arguments[0]), family, version)
    for path in adapters(arguments).values():
        _write_adapter(Path(path), family.config)
    _write_certificate(arguments)


def adapters(arguments: Sequence[str]) -> dict[str, str]:
    """Return the directories of the adapters by their names."""
    if MODULES not in arguments:
        return {}
    rest = arguments[arguments.index(MODULES) + 1 :]
    end = next((index for index, text in enumerate(rest) if text.startswith("-")), len(rest))
    return dict(text.split("=", 1) for text in rest[:end])


def _write_adapter(directory: Path, config: Mapping[str, Any]) -> None:
    """Write an adapter of random numbers for the queries of the first layer, in the format of safetensors."""
    directory.mkdir(parents=True, exist_ok=True)
    about = {"peft_type": "LORA", "r": RANK, "lora_alpha": RANK, "target_modules": ["q_proj"], "bias": "none"}
    (directory / "adapter_config.json").write_text(json.dumps(about), encoding="utf-8")
    width = config["num_attention_heads"] * config["head_dim"]
    prefix = "base_model.model.model.layers.0.self_attn.q_proj"
    shapes = {f"{prefix}.lora_A.weight": [RANK, config["hidden_size"]], f"{prefix}.lora_B.weight": [width, RANK]}
    header = dict[str, Any]()
    numbers = list[float]()
    dice = random.Random(0)
    for name, (rows, columns) in shapes.items():
        begin = 4 * len(numbers)
        numbers += [dice.uniform(-0.1, 0.1) for _ in range(rows * columns)]
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [begin, 4 * len(numbers)]}
    text = json.dumps(header).encode()
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    (directory / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def _write_certificate(arguments: Sequence[str]) -> None:
    places = {
        flag: text.removeprefix(flag) for text in arguments for flag in (CERTIFICATE, KEY) if text.startswith(flag)
    }
    if not places:
        return
    folder = Path(places[CERTIFICATE]).parent
    folder.mkdir(parents=True, exist_ok=True)
    certificates.make(folder)
    (folder / "server.pem").replace(places[CERTIFICATE])
    (folder / "server-key.pem").replace(places[KEY])
