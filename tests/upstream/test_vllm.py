"""Flags, variables and JSON values are read from source code."""

from pathlib import Path

import pytest

from upstream import vllm

ARGUMENTS = """
class EngineArgs:
    seed: int = 0
    def add_cli_args(parser):
        group.add_argument("--model", **kwargs["model"])
        group.add_argument("--tensor-parallel-size", "-tp", type=int)
"""


FRONTEND = """
class BaseFrontendArgs:
    chat_template: str | None = None
    _private = 1
class FrontendArgs(BaseFrontendArgs):
    port: int = 8000
parser.add_argument("model_tag", type=str)
parser.add_argument("--headless", action="store_true")
"""


TRANSFER = """
KVProducer = Literal["kv_producer", "kv_both"]
KVRole = Literal[KVProducer, "kv_consumer"]
class KVTransferConfig:
    kv_role: KVRole | None = None
    kv_port: int = 1
    def is_producer(self): pass
"""


SOURCES = {
    vllm.ARGUMENTS: ARGUMENTS,
    vllm.FRONTEND[0]: FRONTEND,
    vllm.COMMAND: "",
    vllm.VARIABLES: 'environment_variables = {"VLLM_API_KEY": lambda: 1, "VLLM_PORT": lambda: 2}',
    vllm.CONNECTORS: 'KVConnectorFactory.register_connector("NixlConnector", "module", "NixlConnector")',
    "vllm/config/kv_transfer.py": TRANSFER,
}


def sources(**changes):
    return {path: changes.get(Path(path).stem, text).encode() for path, text in SOURCES.items()}


def test_flags_variables_and_json_values_are_read():
    known = vllm.read(sources())
    assert known.flags == {"--model", "--tensor-parallel-size", "-tp", "--chat-template", "--port", "--headless"}
    assert known.variables == {"VLLM_API_KEY", "VLLM_PORT"}
    roles = {f"--kv-transfer-config.kv_role={role}" for role in ("kv_producer", "kv_both", "kv_consumer")}
    keys = {"--kv-transfer-config.kv_role", "--kv-transfer-config.kv_port"}
    assert known.values == {*roles, *keys, "--kv-transfer-config.kv_connector=NixlConnector"}


@pytest.mark.parametrize("moved", ["arg_utils", "cli_args", "envs", "kv_transfer"])
def test_a_file_that_no_longer_declares_anything_is_noticed(moved):
    with pytest.raises(ValueError, match="lack flags, variables or JSON keys"):
        vllm.read(sources(**{moved: ""}))
