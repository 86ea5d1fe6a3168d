"""Connectors that transfer the outputs of encoders between engines."""

from typing import Any

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced


class SideChannel(Sourced):
    """Port on which a sender tells where its outputs are."""

    variable: str
    """Environment variable that sets the port."""
    number: int
    """The port that engines use if the variable is not set."""


class EncoderConnector(Sourced):
    """A connector of vLLM."""

    since: str
    """First version of vLLM that has the connector."""
    config: dict[str, Any]
    """Value of `--ec-transfer-config`, without the role of the engine and without the size of the memory."""
    bytes_key: str
    """Key of `ec_connector_extra_config` with the bytes of host memory. vLLM keeps them in /dev/shm."""
    port: SideChannel


class _Table(Spec):
    connectors: dict[str, EncoderConnector]
    """Connectors by the router's names."""


def connector(name: str) -> EncoderConnector:
    """Return the connector that the router calls `name`."""
    return tables.read(_Table, "releases/engines/encoder-caches.yaml").connectors[name]
