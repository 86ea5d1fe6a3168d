"""Inputs of a component as the engine sends them, turned into plain values.

All decisions are made before the first object is registered, so a value of the configuration has to be known, and no
secret: it would be in the state, in plain text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from google.protobuf import struct_pb2
from pulumi.runtime import rpc

from components.platform import with_whole_numbers
from models.paths import Path
from models.problems import Problem

_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of a mapping that is no mapping. Its value says what the mapping is (sdk/go/common/resource/sig/sig.go)."""
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105, a signature
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_OTHERS = {
    "c44067f5952c0a294b673a41bacd8c17": "an asset",
    "0def7320c3a5731c473e5ecbe6d01bc7": "an archive",
    "5cf8f73096256a8f31e491e813e4eb8e": "a resource",
}
"""Nouns of values that no configuration has, by their signature."""
_UNKNOWN = frozenset(
    {
        rpc.UNKNOWN,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""Texts that stand for unknown values of each type (sdk/go/common/resource/plugin/rpc.go)."""
_LATE_REMEDY = "write the value itself, because a stack is planned before any of its objects is made"
_SECRET_REMEDY = "put a credential into an existing Secret and name the Secret here; pass a kubeconfig as kubeconfig"  # noqa: S105
_MISSING = object()
"""Stands for a value with a problem."""


@dataclass(slots=True)
class ValueReader:
    """Reader of inputs that collects the problems of all of them."""

    problems: list[Problem] = field(default_factory=list[Problem])
    secrets: set[Path] = field(default_factory=set[Path])
    """Paths of secret values where secrets may stand."""

    def mapping(self, values: Mapping[str, struct_pb2.Value], at: Path, *, secrets: bool = False) -> dict[str, object]:
        """Return plain values by key, without those that have a problem.

        `secrets` says whether values may be secrets. `at` is the path of the mapping. Keys are sorted, as the engine
        sorts those of a stack file: a message of the engine has no order of keys.
        """
        return cast("dict[str, object]", with_whole_numbers(self._mapping(values, at, secrets=secrets)))

    def _mapping(self, values: Mapping[str, struct_pb2.Value], at: Path, *, secrets: bool) -> dict[str, object]:
        read = {key: self._value(values[key], at / key, secrets=secrets) for key in sorted(values)}
        return {key: value for key, value in read.items() if value is not _MISSING}

    def _value(self, value: struct_pb2.Value, at: Path, *, secrets: bool) -> object:
        """Return a plain value, or `_MISSING` after a problem. A list without one of its values has a problem."""
        plain: object = None
        match value.WhichOneof("kind"):
            case "struct_value" if _SIGNATURE in value.struct_value.fields:
                plain = self._inner_value(value.struct_value.fields, at, secrets=secrets)
            case "struct_value":
                plain = self._mapping(value.struct_value.fields, at, secrets=secrets)
            case "list_value":
                listed = enumerate(value.list_value.values)
                items = [self._value(item, at / index, secrets=secrets) for index, item in listed]
                plain = _MISSING if any(item is _MISSING for item in items) else items
            case "string_value" if value.string_value in _UNKNOWN:
                plain = self._late(at)
            case "string_value":
                plain = value.string_value
            case "number_value":
                plain = value.number_value
            case "bool_value":
                plain = value.bool_value
            case _:
                pass
        return plain

    def _inner_value(self, fields: Mapping[str, struct_pb2.Value], at: Path, *, secrets: bool) -> object:
        """Return the plain value of a secret or of an Output."""
        signature = fields[_SIGNATURE].string_value
        if signature in _OTHERS:
            return self._refuse(at, f"is {_OTHERS[signature]}", "write a plain value")
        if signature not in {_SECRET, _OUTPUT}:
            return self._refuse(at, "is a value of an unknown type", "write a plain value")
        is_secret = signature == _SECRET or ("secret" in fields and fields["secret"].bool_value)
        if is_secret and not secrets:
            return self._refuse(at, "is a secret", _SECRET_REMEDY)
        if is_secret:
            self.secrets.add(at)
        if "value" not in fields:
            return self._late(at)
        return self._value(fields["value"], at, secrets=secrets)

    def _late(self, at: Path) -> object:
        return self._refuse(at, "is not known yet, because it is an output of what this run makes", _LATE_REMEDY)

    def _refuse(self, at: Path, what: str, remedy: str) -> object:
        self.problems.append(Problem(at, what, remedy, kind="unread"))
        return _MISSING
