"""The base class of every spec."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Spec(BaseModel):
    """A section of the configuration: strict and frozen, with camelCase keys in YAML.

    An unknown key is an error. Error texts of pydantic never show the value from the user, which may be a credential.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        # A validator is built when it is first used. Most specs are validated only inside a stack, by the stack's
        # validator, so their own validators are never built.
        defer_build=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        strict=True,
        validate_by_alias=True,
        validate_by_name=False,
    )

    @classmethod
    def default(cls, **values: Any) -> Self:  # noqa: ANN401, values of the fields that have no default
        """Return the spec of an absent section, without validation, so that no validator is built at import."""
        return cls.model_construct(**values)

    @property
    def explicit_fields(self) -> frozenset[str]:
        """Names of the fields that a user wrote, in any layer of the configuration."""
        return frozenset(self.model_fields_set)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the spec itself, which is safe to share because it is frozen.

        Pydantic copies the default of a field into each spec in which the field is absent. This method avoids the copy.
        """
        return self
