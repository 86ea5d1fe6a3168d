"""Specs of the Secret with the credentials for a source of weights."""

from typing import Annotated, cast

from pydantic import Field, PlainValidator, TypeAdapter
from pydantic_core import PydanticKnownError

from models.base import Spec
from models.env import DataKey
from models.vocabulary import DnsSubdomain, Entries, Items

_MERGED = "merge them into one: a Secret of type kubernetes.io/dockerconfigjson holds several registries, under auths"
_NAME = TypeAdapter(DnsSubdomain)


class TokenSecret(Spec):
    """An existing Secret that has the token of a Hugging Face hub under a key of its own."""

    name: Annotated[DnsSubdomain, Field(examples=["hf"])]
    """Name of the Secret."""
    key: Annotated[DataKey, Field(examples=["token"])]
    """Key of the token in the Secret. Only for a source hf://."""


def _name_or_key(value: object) -> str | TokenSecret:
    """Validate a Secret by the YAML type of the value, so that a mistake gives one error."""
    if isinstance(value, dict):
        return TokenSecret.model_validate(cast("dict[str, object]", value))
    if isinstance(value, str):
        return _NAME.validate_python(value)
    if isinstance(value, TokenSecret):
        return value
    raise PydanticKnownError("string_type")


_SourceSecret = Annotated[
    DnsSubdomain | TokenSecret, PlainValidator(_name_or_key, json_schema_input_type=DnsSubdomain | TokenSecret)
]
SourceSecrets = Annotated[Items[_SourceSecret], Entries(0, 1, _MERGED)]
"""The Secret with the credentials for a source, as a list of at most one entry."""
FillSecrets = Annotated[
    Items[_SourceSecret], Entries(0, 1, "write only the Secret with the credentials for the source")
]
"""The Secret with the credentials for the source of a Job, as a list of at most one entry."""


def secret_name(secret: str | TokenSecret) -> str:
    """Return the name of a Secret."""
    return secret if isinstance(secret, str) else secret.name
