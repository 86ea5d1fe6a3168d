"""Specs of serving profiles, and of the catalogue that holds them.

A profile has facts for its selection, and keys for the services that select it. These keys win over `defaults`, but not
over the keys that a service has itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from models.base import Spec
from models.containers import Resources
from models.kv_cache import KvCache
from models.paths import Path
from models.role import Engine, Parallelism, Pod
from models.selection import Metric, Precision, ProfileId, ProfileType
from models.service import Model
from models.source import ModelSource
from models.vocabulary import CountOrNone, Items, Text, refuse


def _drop_name(schema: dict[str, Any]) -> None:
    """Remove the property `name` from the JSON schema, because the profile's key `model` names the model."""
    schema["properties"].pop("name")


class ProfileModel(Model):
    """Source of the weights, and how they are served."""

    model_config = ConfigDict(json_schema_extra=_drop_name)

    source: ModelSource | None = Field(default=None, examples=["hf://Qwen/Qwen3-8B"])  # pyright: ignore[reportIncompatibleVariableOverride] - a profile may leave it to the service
    """Source of the weights. Absent: the service has to name a source."""

    @model_validator(mode="after")
    def _has_no_name(self) -> "ProfileModel":
        if self.name is not None:
            raise refuse("has a name, but the key model of the profile names the model", "remove it", echoed=False)
        return self


class ProfileService(Spec):
    """Keys of a service that a profile decides. Values of the service itself win."""

    accelerator: Annotated[Text, Field(examples=["nvidia-l40s"])]
    """Accelerator class: a vendor such as nvidia, a product such as nvidia-h100-80gb, or cpu for no devices."""
    model: ProfileModel = ProfileModel.default()
    """Source of the weights, and how they are served."""
    engine: Engine = Engine.default()
    """The inference server."""
    kv_cache: KvCache = KvCache.default()
    """The KV cache. These keys have no effect in a profile that is selected for prefill alone."""
    parallelism: Parallelism = Parallelism.default()
    """Layout of one replica over its devices. If tensor is absent, it is deviceCount / (pipeline * data)."""
    resources: Resources = Resources.default()
    """Requests and limits of the engine container."""
    pod: Pod = Pod.default()
    """Settings of the serving pods."""


class Profile(Spec):
    """One proven way to serve a model: facts for the selection of the profile, and keys for a service."""

    model: Annotated[Text, Field(examples=["Qwen/Qwen3-8B"])]
    """Model that the profile serves: the `model.name` of services."""
    type: Annotated[ProfileType, Field(examples=["optimized"])]
    """Maturity of the profile."""
    device_count: Annotated[CountOrNone, Field(examples=[1])]
    """Number of devices of one replica; 0: none."""
    metric: Metric | None = Field(default=None, examples=["latency"])
    """Metric for which the profile was tuned; absent: none in particular."""
    precision: Precision | None = Field(default=None, examples=["fp8"])
    """Number format of the weights; absent, or auto: the format of the model."""
    is_default: bool = Field(default=False, alias="default")
    """Prefer this profile to equally good profiles of the same model."""
    source: Annotated[Text, Field(examples=["https://github.com/acme/recipes/blob/0f1e2d3/qwen3.md"])]
    """Origin of the numbers of the profile."""
    service: Annotated[ProfileService, Field(examples=[{"accelerator": "nvidia-l40s"}])]
    """Keys that the profile gives to a service."""

    @model_validator(mode="after")
    def _has_its_devices(self) -> "Profile":
        layout = self.service.parallelism
        count = self.device_count
        copies = layout.pipeline * layout.data
        if layout.tensor is None and count % copies:
            raise refuse(f"needs a multiple of {copies} devices (deviceCount {count})", _COUNT, echoed=False)
        if layout.tensor is not None and layout.tensor * copies != count:
            total = layout.tensor * copies
            raise refuse(f"has {total} devices by parallelism, but another deviceCount ({count})", _COUNT, echoed=False)
        return self


_COUNT = "write the devices of one replica under deviceCount: tensor times pipeline times data"


@dataclass(frozen=True, slots=True)
class ChosenProfile:
    """The profile that was selected for a service."""

    id: str
    reasons: tuple[str, ...]
    source: str
    """Origin of the profile's numbers."""
    is_locked: bool
    """Whether the profile comes from the lock."""

    @property
    def text(self) -> str:
        """Return the profile and the reasons for its selection, on one line."""
        return f"{self.id} ({', '.join(self.reasons)})"


NO_PROFILES: Mapping[Path, ChosenProfile] = MappingProxyType({})


class Catalogue(Spec):
    """Serving profiles that services select from.

    If several profiles have the same id, a profile in the stack file wins over one in a file of the catalogue, and that
    one wins over a shipped profile.
    """

    shipped: bool = True
    """Whether shipped profiles may be selected."""
    files: Items[Text] = Field(default=(), examples=[["catalogue/private.yaml"]])
    """Files that have profiles under the key `profiles`. Paths are relative to the folder of Pulumi.yaml."""
    profiles: dict[ProfileId, Profile] = Field(
        default={},
        examples=[
            {
                "qwen3-8b-l40s": {
                    "model": "Qwen/Qwen3-8B",
                    "type": "optimized",
                    "deviceCount": 1,
                    "source": "https://github.com/acme/recipes/blob/0f1e2d3/qwen3.md",
                    "service": {"model": {"source": "hf://Qwen/Qwen3-8B"}, "accelerator": "nvidia-l40s"},
                }
            }
        ],
    )
    """Profiles by id. A profile here replaces a profile with the same id in a file, and a profile in a file replaces a
    shipped profile."""


class CatalogueFile(Spec):
    """A file with profiles."""

    profiles: dict[ProfileId, Profile]
    """Profiles by id."""
