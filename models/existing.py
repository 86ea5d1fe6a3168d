"""Specs of what a service leads to but somebody else runs: its serving pods, or its pool."""

from typing import Annotated

from pydantic import Field

from models.base import Spec
from models.vocabulary import DnsSubdomain, Entries, Items, LabelKey, LabelValue, Port

_LARGEST_POOL = 8
"""Maximum number of target ports of an InferencePool (gateway-api-inference-extension v1.3.0,
api/v1/inferencepool_types.go, InferencePoolSpec)."""


class ExistingPods(Spec):
    """Serving pods that somebody else runs, in the namespace of the service."""

    match_labels: Annotated[dict[LabelKey, LabelValue], Field(min_length=1, examples=[{"app": "vllm-qwen3"}])]
    """Labels of the pods. Pods that have all of them get the requests."""
    ports: Annotated[Items[Port], Entries(1, _LARGEST_POOL, f"write 1 to {_LARGEST_POOL} ports, such as [8000]")] = (
        8000,
    )
    """Ports of each pod. Behind each of them, an engine answers requests and serves its metrics."""


class ExistingPool(Spec):
    """An InferencePool that somebody else made, in the namespace of the service."""

    name: Annotated[DnsSubdomain, Field(examples=["vllm-qwen3"])]
    """Name of the InferencePool. Its owner makes its endpoint picker and its pods, too."""
