"""Specs of environment variables: text, or a reference to a Secret, a ConfigMap, the pod or a container."""

from typing import Annotated, cast

from pydantic import Field, PlainValidator, TypeAdapter, model_validator
from pydantic_core import PydanticKnownError

from models.base import Spec
from models.vocabulary import LONGEST_ARGUMENT, QUALIFIED_NAME, Divisor, DnsLabel, DnsSubdomain, Shape, refuse

EnvName = Annotated[
    str,
    Shape(
        "is not the name of an environment variable",
        r"[A-Za-z_][A-Za-z0-9_]*",
        "use letters, digits and '_', not starting with a digit, such as OMP_NUM_THREADS",
    ),
]
DataKey = Annotated[
    str,
    Shape("is no key of a Secret or ConfigMap", r"[-._A-Za-z0-9]+", "use letters, digits, '-', '_' and '.'"),
]
_FIELDS = (
    rf"metadata\.(name|namespace|uid|(labels|annotations)\['{QUALIFIED_NAME}'\])"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?)"
)
_LONGEST_NAME = 253
EnvText = Annotated[
    str,
    Shape(
        "has a NUL character",
        r"[^\x00]*",
        "remove it: no variable of a process may contain NUL",
        LONGEST_ARGUMENT - _LONGEST_NAME - len("="),
    ),
]
"""Text of a variable. A process gets it as one text with the name of the variable."""
FieldPath = Annotated[
    str,
    Shape(
        "is no field of the pod that a variable can hold", _FIELDS, "write a field such as status.podIP", longest=400
    ),
]
ContainerResource = Annotated[
    str,
    Shape(
        "is no resource of a container",
        r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-[0-9A-Za-z]+)",
        "write a request or limit such as limits.memory",
    ),
]


class KeyRef(Spec):
    """One key of an existing Secret or ConfigMap."""

    name: Annotated[DnsSubdomain, Field(examples=["hf-token"])]
    """Name of the Secret or ConfigMap, in the service's namespace."""
    key: Annotated[DataKey, Field(examples=["HF_TOKEN"])]
    """Key in the Secret or ConfigMap."""
    optional: bool = False
    """Start the container without the variable if the Secret or ConfigMap is absent, or lacks the key."""


class FieldRef(Spec):
    """One field of the pod."""

    field_path: Annotated[FieldPath, Field(examples=["status.podIP"])]
    """The field, such as status.podIP or metadata.labels['team']."""


class ResourceFieldRef(Spec):
    """One request or limit of a container."""

    resource: Annotated[ContainerResource, Field(examples=["limits.memory"])]
    """The request or limit, such as limits.memory."""
    container_name: DnsLabel | None = Field(default=None, examples=["vllm"])
    """Name of the container; absent: the container that has the variable."""
    divisor: Divisor | None = Field(default=None, examples=["1Mi"])
    """Unit of the value. For cpu: 1m or 1; for all others: 1 or a multiple such as 1Mi. Absent: cores or bytes."""

    @model_validator(mode="after")
    def _has_unit_of_resource(self) -> "ResourceFieldRef":
        is_cpu = self.resource.endswith(".cpu")
        if self.divisor not in {None, "1"} and is_cpu != (self.divisor == "1m"):
            remedy = "write 1 or a multiple such as 1Mi"
            if is_cpu:
                remedy = "write 1 or 1m"
            raise refuse(f"has a divisor that {self.resource} cannot have ({self.divisor})", remedy, echoed=False)
        return self


class EnvSource(Spec):
    """Reference to a variable's value. Exactly one of its keys is set."""

    secret_key_ref: KeyRef | None = Field(default=None, examples=[{"name": "hf-token", "key": "HF_TOKEN"}])
    """A key of an existing Secret."""
    config_map_key_ref: KeyRef | None = Field(default=None, examples=[{"name": "settings", "key": "LOG_LEVEL"}])
    """A key of an existing ConfigMap."""
    field_ref: FieldRef | None = Field(default=None, examples=[{"fieldPath": "status.podIP"}])
    """A field of the pod."""
    resource_field_ref: ResourceFieldRef | None = Field(default=None, examples=[{"resource": "limits.memory"}])
    """A request or limit of a container."""

    @model_validator(mode="after")
    def _has_one_source(self) -> "EnvSource":
        fields = type(self).model_fields
        aliases = {name: field.alias or name for name, field in fields.items()}
        sources = [alias for name, alias in aliases.items() if getattr(self, name) is not None]
        if not sources:
            raise refuse("names no source", f"write one of {', '.join(aliases.values())}", echoed=False)
        if len(sources) > 1:
            raise refuse(f"names several sources ({', '.join(sources)})", "keep one of them", echoed=False)
        return self


_TEXT = TypeAdapter(EnvText)


def _text_or_source(value: object) -> str | EnvSource:
    """Validate a variable's value by the value's YAML type.

    Because the YAML type decides, a mistake gives one error. If pydantic validated a union of types, a mistake would
    give one error for each type.
    """
    if isinstance(value, dict):
        return EnvSource.model_validate(cast("dict[str, object]", value))
    if isinstance(value, str):
        return _TEXT.validate_python(value)
    if isinstance(value, EnvSource):
        return value
    raise PydanticKnownError("string_type")


EnvValue = Annotated[str | EnvSource, PlainValidator(_text_or_source, json_schema_input_type=str | EnvSource)]
"""Value of an environment variable: text, or a reference to its source."""
