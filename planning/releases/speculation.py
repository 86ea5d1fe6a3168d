"""Methods of speculative decoding of vLLM."""

from typing import Literal

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced


class Method(Sourced):
    """One method by which tokens are guessed."""

    name: str
    """Value of `method` in `--speculative-config`."""
    since: str
    """First version of vLLM with the method."""
    draft: Literal["required", "possible", "unused"]
    """Whether the method guesses by weights of their own."""
    layers: int = 0
    """Layers of the model itself that guess tokens. They cache as the other layers do."""
    equal_vocabulary: bool = False
    """Whether the draft must have the vocabulary of the model."""


class _Table(Spec):
    methods: dict[str, Method]
    """Methods by their names in `model.speculative.method`."""


def method(name: str) -> Method:
    """Return the method of a name in `model.speculative.method`."""
    return tables.read(_Table, "releases/engines/speculation.yaml").methods[name]
