"""Program that writes a small model of random numbers. The Python of an engine's environment runs it.

The command line is `tiny_model.py DIRECTORY ARCHITECTURE CONFIG`. ARCHITECTURE is a class of transformers. CONFIG is
JSON: `model_type` of transformers, and the fields of its configuration that differ from transformers' defaults.
DIRECTORY gets the configuration, a tokenizer of bytes, a chat template and the weights.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, PreTrainedTokenizerFast

END = "<|endoftext|>"
SPECIAL = (
    END,
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
)
"""Special tokens, with those that vLLM's parsers of tool calls and reasoning look for."""
VOCABULARY = 512
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SENTENCE = "The quick brown fox jumps over the lazy dog."


def write(directory: Path, architecture: str, fields: dict[str, object]) -> None:
    """Write a model of random numbers with a tokenizer of bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    _tokenizer().save_pretrained(directory)
    config = AutoConfig.for_model(**fields)
    torch.manual_seed(0)
    model = getattr(transformers, architecture)(config).to(torch.bfloat16)
    model.save_pretrained(directory)


def _tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=list(SPECIAL), initial_alphabet=alphabet)
    tokenizer.train_from_iterator([SENTENCE], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)
    fast.chat_template = CHAT_TEMPLATE
    return fast


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
