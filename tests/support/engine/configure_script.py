"""Program that makes the configuration of engines without starting them. The Python of an engine's environment runs it.

Command lines of `vllm serve`, without the program, come as JSON from stdin. An answer to each goes as JSON to stdout:
an empty text, or the error with which an engine would end.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

import inspect
import json
import sys
from collections.abc import Iterator
from typing import Any

from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.cli.serve import ServeSubcommand
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.v1.kv_offload.factory import OffloadingSpecFactory
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory


def configure(command_line: list[str]) -> None:
    """Make the configuration of an engine, and look up its connectors; raises the error of the engine."""
    parser = FlexibleArgumentParser()
    serve = ServeSubcommand()
    serve.subparser_init(parser.add_subparsers())
    arguments = parser.parse_args(["serve", *command_line])
    arguments.model = arguments.model_tag
    serve.validate(arguments)
    transfer = AsyncEngineArgs.from_cli_args(arguments).create_engine_config().kv_transfer_config
    if transfer is None:
        return
    for name, extra in _connectors(transfer.kv_connector, transfer.kv_connector_extra_config):
        KVConnectorFactory.get_connector_class_by_name(name)
        if name == "OffloadingConnector":
            _look_up_tiers(extra)


def _connectors(name: str, extra: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the connectors of an engine by name, with their settings."""
    if name != "MultiConnector":
        yield name, extra
        return
    for child in extra["connectors"]:
        yield child["kv_connector"], child.get("kv_connector_extra_config", {})


def _look_up_tiers(extra: dict[str, Any]) -> None:
    """Bind the keys of each tier to the parameters of its class. Only a device could make the tiers themselves."""
    if int(extra["cpu_bytes_to_use"]) <= 0:
        raise ValueError("cpu_bytes_to_use")
    OffloadingSpecFactory.get_spec_cls(extra)
    for tier in extra.get("secondary_tiers", ()):
        keys = {name: value for name, value in tier.items() if name != "type"}
        signature = inspect.signature(SecondaryTierFactory.get_tier_class(tier))
        bound = signature.bind(offloading_spec=None, primary_kv_view=None, tier_type=tier["type"], **keys)
        if "kwargs" in bound.arguments:
            raise TypeError(f"unknown keys of a tier: {', '.join(bound.arguments['kwargs'])}")


def answer(command_line: list[str]) -> str:
    """Return an empty text, or the error of an engine."""
    try:
        configure(command_line)
    except SystemExit:
        return "the parser refuses the arguments"
    except Exception as error:  # noqa: BLE001 - whatever vLLM raises is its refusal
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    print(json.dumps([answer(command_line) for command_line in json.load(sys.stdin)]))
