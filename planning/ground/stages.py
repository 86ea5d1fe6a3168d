"""Stages of a request: a row for each stage that pods of its own can process."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestStage:
    """A stage of a request.

    The names of a stage are fixed: labels and names of objects contain them.
    """

    name: str
    """Value of llm-d's label of the pods, and name of the role of these pods."""
    key: str
    """Key of a service with the settings of these pods; empty for the stage whose settings are the service's own."""
    is_destination: bool
    """Whether the picker sends requests of clients to these pods. If other stages have pods of their own, a routing
    sidecar in these pods asks those first."""
    exchanges_kv_cache: bool
    """Whether the pods send their KV cache to pods of other stages, or get it from them."""


DECODE = RequestStage("decode", "", is_destination=True, exchanges_kv_cache=True)
PREFILL = RequestStage("prefill", "prefill", is_destination=False, exchanges_kv_cache=True)
ENCODE = RequestStage("encode", "encode", is_destination=False, exchanges_kv_cache=False)
STAGES: Mapping[str, RequestStage] = {stage.name: stage for stage in (DECODE, PREFILL, ENCODE)}
"""All stages by name, the destination first."""


def of_role(role: str) -> str:
    """Return the name of the stage of a role. The name of a role begins with it: `<stage>` or `<stage>-<set>`."""
    return role.partition("-")[0]
