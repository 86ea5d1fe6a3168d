"""Value types of the configuration: strings and numbers, each with a rule, and with a message for values that break it.

Units are written in the value, such as `10s` or `16Gi`, not in the name of a key. Durations follow the grammar of the
Gateway API, quantities follow the grammar of Kubernetes.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


def refuse(what: str, remedy: str, *, echoed: bool = True) -> PydanticCustomError:
    """Make a validation error, which `models.load` turns into a `Problem`.

    If `echoed` is true, the message shows the refused value after `what`.
    """
    return PydanticCustomError("problem", "{what}; {remedy}", {"what": what, "remedy": remedy, "echoed": echoed})


@dataclass(frozen=True, slots=True)
class Shape:
    """A string that matches `pattern` from beginning to end, and has at most `longest` characters."""

    what: str
    pattern: str
    remedy: str
    longest: int = 253

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        matches = re.compile(self.pattern).fullmatch

        def check(value: str) -> str:
            if matches(value) is None:
                raise refuse(self.what, self.remedy)
            if len(value) > self.longest:
                raise refuse(f"is {len(value)} characters long", f"write at most {self.longest}", echoed=False)
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^(?:{self.pattern})$", "maxLength": self.longest}


@dataclass(frozen=True, slots=True)
class Within:
    """A whole number from `minimum` to `maximum`."""

    minimum: int
    maximum: int
    remedy: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: int) -> int:
            if not self.minimum <= value <= self.maximum:
                raise refuse(f"is not a whole number from {self.minimum} to {self.maximum}", self.remedy)
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of `minimum` to `maximum` entries.

    The entries are checked first. Their number is checked only if every entry is valid.
    """

    minimum: int
    maximum: int | None
    remedy: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: tuple[object, ...]) -> tuple[object, ...]:
            if len(value) < self.minimum or (self.maximum is not None and len(value) > self.maximum):
                raise refuse(f"has {len(value)} entries", self.remedy, echoed=False)
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        bounds = {"minItems": self.minimum or None, "maxItems": self.maximum}
        return handler(schema) | {key: bound for key, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, slots=True)
class Between:
    """A number above `low` and at most `high`, with or without a fraction."""

    low: float
    high: float
    remedy: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: object) -> float:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise refuse("is not a number", self.remedy)
            if not self.low < value <= self.high:
                raise refuse(f"is not above {self.low:g} and at most {self.high:g}", self.remedy)
            return value

        return core_schema.no_info_before_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"exclusiveMinimum": self.low, "maximum": self.high}


def _number_as_text(value: object) -> object:
    """Turn a number into text.

    `cpu: 4` is a valid quantity in Kubernetes. A duration that is written as the number `10` is rejected with the
    message of `Duration`, not as "not a string".
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _at_least_a_second(interval: str) -> str:
    """Reject an interval below a second. KEDA takes intervals in whole seconds, and 0 would mean no pause."""
    if milliseconds(interval) < _SECOND:
        raise refuse("is below a second", "write 1s or more")
    return interval


def check_claim_size(quantity: str) -> str:
    """Reject the size 0, which the API server refuses for a claim."""
    if not amount(quantity):
        raise refuse("is too small for a claim", "write the bytes that are needed, such as 16Gi")
    return quantity


def check_unit(quantity: str) -> str:
    """Reject a number of bytes that lacks its unit, is a fraction of a byte, or is too large."""
    if lacks_unit(quantity):
        raise refuse(
            f"is {amount(quantity).normalize():f} bytes", "write the number with its unit, such as 16Gi", echoed=False
        )
    if amount(quantity) > LARGEST_BYTES:
        raise refuse(f"is above {_LARGEST_TEXT}", "write the bytes that are needed, such as 16Gi")
    return quantity


def _check_hostname(host: str) -> str:
    """Reject an IP address, which the Gateway API refuses, and labels that DNS cannot have.

    Sources: kubernetes-sigs/gateway-api v1.5.1, apis/v1/shared_types.go, `Hostname` ("IPs are not allowed");
    RFC 1035, 2.3.4 (labels of at most 63 octets).
    """
    try:
        ipaddress.ip_address(host.removeprefix("*."))
    except ValueError:
        _check_labels(host)
        return host
    raise refuse("is an IP address", "write a name such as llm.example.com, or remove it to serve every host")


def check_authority(address: str) -> str:
    """Reject an address (`host`, `host:port`, or either with a path) whose port or host cannot exist."""
    host, _, port = address.partition("/")[0].partition(":")
    if port and not 1 <= int(port) <= LARGEST_PORT:
        raise refuse(f"has a port that is not from 1 to {LARGEST_PORT}", "write a port that exists, such as 8000")
    _check_labels(host)
    return address


def _check_set_name(name: str) -> str:
    """Reject a name with which a workload would be called like a StatefulSet of another workload.

    For a replica of several pods, the controller of LeaderWorkerSets creates a StatefulSet `<workload>-<index>`
    (lws v0.9.0, pkg/controllers/pod_controller.go).
    """
    if name.rpartition("-")[2].isdecimal():
        what = "would name a workload like the StatefulSet of another workload's replica"
        raise refuse(what, "write a letter right before the number, such as long0")
    return name


def _check_url(url: str) -> str:
    check_authority(url.partition("://")[2])
    return url


def _check_labels(host: str) -> None:
    longest = max(map(len, host.split(".")))
    if longest > _LONGEST_LABEL:
        what = f"has a part of {longest} characters between dots"
        raise refuse(what, f"write parts of at most {_LONGEST_LABEL} characters")


def _check_text(text: str) -> str:
    """Reject text with a character that ends lines or controls terminals, and text with blanks around it."""
    if any(unicodedata.category(char) in _CONTROLS for char in text):
        raise refuse("has a line break or another control character", "write the text in a single line")
    if text.strip() and text != text.strip():
        raise refuse("begins or ends with a blank", "remove the blank")
    return text


def _check_model_name(name: str) -> str:
    """Reject a name that nobody can type: clients must send the name of a model byte for byte."""
    hidden = next((char for char in name if unicodedata.category(char) in _INVISIBLE), None)
    if hidden is not None:
        what = f"has an invisible character (U+{ord(hidden):04X})"
        raise refuse(what, "remove it: clients would have to send the character, too", echoed=False)
    if not unicodedata.is_normalized("NFC", name):
        remedy = "write each letter with its accent as one character: clients would have to send the same characters"
        raise refuse("is not in Unicode's composed form NFC", remedy)
    return name


Item = TypeVar("Item")
Items = Annotated[tuple[Item, ...], Field(strict=False)]
"""A list in YAML, read as a tuple."""

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_RULE = "use lower-case letters, digits and '-', starting and ending with a letter or digit"
_DURATION = r"([0-9]{1,5}(h|m|s|ms)){1,4}"
_QUANTITY = r"[0-9]+(\.[0-9]{1,9})?(m|k|Ki|[MGTPE]i?)?"
_LABEL_VALUE = r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?"
QUALIFIED_NAME = rf"(?!.{{254}}.*/)({_LABEL}(\.{_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
"""Pattern of a label's key: an optional prefix of at most 253 characters, and a name of at most 63."""
_STACK_PART = r"[A-Za-z0-9_.-]{1,100}"
"""Pattern of the name of an organization, a project or a stack in Pulumi."""
STACK_PATH = rf"({_STACK_PART}/)?{_STACK_PART}/{_STACK_PART}"
"""Pattern of the name of a stack: project/stack or organization/project/stack."""
FULL_STACK_PATH = rf"{_STACK_PART}/{_STACK_PART}/{_STACK_PART}"
"""Pattern of organization/project/stack."""
_FOLDER = r"(?!\.{1,2}(/|$))[A-Za-z0-9._-]+"
_LONGEST_LABEL = 63
LARGEST_PORT = 65535
_CONTROLS = frozenset({"Cc", "Zl", "Zp"})
"""Unicode categories of control characters, and of separators of lines and paragraphs."""
_INVISIBLE = frozenset({"Cf", "Cs"})
"""Unicode categories of characters without a shape: of zero width, marks of the direction of text, and surrogates."""
LONGEST_ARGUMENT = 2**17 - 1
"""Longest argument that a process can get on Linux, in bytes (execve(2), MAX_ARG_STRLEN)."""
LARGEST = 2**31 - 1
"""Largest count that Kubernetes accepts."""
IMAGE = (
    r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]*(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})"
)
"""Pattern of a container image reference. A tag or digest is required, because the default tag is `latest`."""

DnsLabel = Annotated[str, Shape("is not a DNS label", _LABEL, f"{_LABEL_RULE}, such as models", 63)]
SetName = Annotated[
    str, Shape("is not a DNS label", _LABEL, f"{_LABEL_RULE}, such as long", 40), AfterValidator(_check_set_name)
]
"""Name of a set of pods. It is short because a label has the stage of the pods and this name as its value."""
Dns1035Label = Annotated[
    str, Shape("is not a DNS-1035 label", r"[a-z]([-a-z0-9]*[a-z0-9])?", f"start with a letter; {_LABEL_RULE}", 63)
]
DnsSubdomain = Annotated[
    str, Shape("is not a DNS name", rf"{_LABEL}(\.{_LABEL})*", f"{_LABEL_RULE}, in parts joined by '.'")
]
Hostname = Annotated[
    str,
    Shape(
        "is not a hostname", rf"(\*\.)?{_LABEL}(\.{_LABEL})*", "write a name such as llm.example.com, or *.example.com"
    ),
    AfterValidator(_check_hostname),
]
Duration = Annotated[
    str,
    BeforeValidator(_number_as_text),
    Shape("is not a duration", _DURATION, "write a number with h, m, s or ms, such as 10s", longest=24),
]
Interval = Annotated[Duration, AfterValidator(_at_least_a_second)]
Quantity = Annotated[
    str,
    BeforeValidator(_number_as_text),
    Shape("is not a Kubernetes quantity", _QUANTITY, "write a number with an optional unit, such as 500m or 16Gi", 32),
]
Divisor = Annotated[
    str,
    BeforeValidator(_number_as_text),
    Shape("is no unit of a resource", "1([mkMGTPE]|[KMGTPE]i)?", "write one such as 1Mi, or 1m for cpu"),
]
Bytes = Annotated[Quantity, AfterValidator(check_unit)]
"""Number of bytes. A small number without a unit is refused, because `16` is seldom meant as 16 bytes."""
ClaimSize = Annotated[Bytes, AfterValidator(check_claim_size)]
ImageRef = Annotated[
    str,
    Shape(
        "is not an image reference",
        IMAGE,
        "write registry/repository with a tag or digest, such as ghcr.io/org/name:v1",
        512,
    ),
    AfterValidator(check_authority),
]
LabelKey = Annotated[
    str,
    Shape("is not a label key", QUALIFIED_NAME, "write name or prefix/name", 317),
]
LabelValue = Annotated[
    str, Shape("is not a label value", rf"({_LABEL_VALUE})?", "use letters, digits, '-', '_' and '.'", 63)
]
StackPath = Annotated[
    str,
    Shape(
        "is not the name of a stack",
        STACK_PATH,
        "write project/stack, or organization/project/stack",
        302,
    ),
]
FullStackPath = Annotated[
    str,
    Shape(
        "is not the full name of a stack",
        FULL_STACK_PATH,
        "write organization/project/stack, such as organization/platform/prod",
        302,
    ),
]
ResourceId = Annotated[
    str, Shape("is not a label value", _LABEL_VALUE, "use letters, digits, '-', '_' and '.', such as chat-7f3a", 63)
]
MountPath = Annotated[
    str, Shape("is not the path of a folder", r"(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+", "write one such as /models", 255)
]
SubPath = Annotated[
    str,
    Shape("is not a path in the claim", rf"{_FOLDER}(/{_FOLDER})*", "write folders without a leading '/'", 255),
]
AbsolutePath = Annotated[
    str, Shape("is not an absolute path", r"/[A-Za-z0-9._~/-]*", "start with '/', such as /health", 1024)
]
Url = Annotated[
    str,
    Shape(
        "is not a URL", r"https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/-]*)?", "write http(s)://host:port/path", 512
    ),
    AfterValidator(_check_url),
]
HeaderName = Annotated[
    str,
    Shape("is not a header name", r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "use letters, digits and '-', such as x-canary", 256),
]
HeaderValue = Annotated[
    str, Shape("is not a header value", r"[!-~]([ -~]*[!-~])?", "write printable ASCII without outer blanks", 4096)
]
Text = Annotated[str, AfterValidator(_check_text), Shape("is empty", r"\S(.*\S)?", "write some text")]
ModelName = Annotated[Text, AfterValidator(_check_model_name)]
Argument = Annotated[
    str,
    Shape("has a NUL character", r"[^\x00]*", "remove it: no argument of a process may contain NUL", LONGEST_ARGUMENT),
]
Port = Annotated[int, Within(1, LARGEST_PORT, "write a port number, such as 8000")]
Count = Annotated[int, Within(1, LARGEST, "write 1 or more")]
Share = Annotated[float, Between(0, 1, "write a share such as 0.9")]
CountOrNone = Annotated[int, Within(0, LARGEST, "write 0 or more")]


@dataclass(frozen=True, slots=True)
class OrWord:
    """A count, or one word in its place. Mistakes are those of the count, so that a user reads of one mistake."""

    word: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the count, behind a function that takes the word."""

        def take(value: object, validate: Callable[[object], object]) -> object:
            if value == self.word:
                return value
            return validate(value)

        serializer = core_schema.plain_serializer_function_ser_schema(_same_value)
        return core_schema.no_info_wrap_validator_function(take, handler(Count), serialization=serializer)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema: that of the count, or the word."""
        return {"anyOf": [handler(schema), {"const": self.word, "type": "string"}]}


def _same_value(value: object) -> object:
    return value


BlockSize = Annotated[Count | Literal["engine"], OrWord("engine")]

KubernetesObject = dict[str, JsonValue]
"""Fields of a Kubernetes object, with the names of the API. The rendered object is checked against the API's schema."""

_READABLE = re.compile(_QUANTITY)
_DURATION_PART = re.compile(r"([0-9]+)(ms|h|m|s)")
_SECOND = 1000
"""A second in milliseconds: the shortest `Interval`."""
_SMALLEST = 2**20
"""Smallest number of bytes that needs no unit."""
LARGEST_BYTES = 2**50
_LARGEST_TEXT = "1Pi"
"""Largest number of bytes that `Bytes` accepts. Seconds that are computed from bytes thus stay far below `LARGEST`."""
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_UNITS = {"m": Decimal("0.001"), "": Decimal(1), "k": Decimal(1000), "Ki": Decimal(1024)} | {
    f"{prefix}{suffix}": Decimal(base) ** power
    for power, prefix in enumerate("MGTPE", start=2)
    for suffix, base in (("", 1000), ("i", 1024))
}


@lru_cache(4096)
def milliseconds(duration: str) -> int:
    """Return the milliseconds of a duration. `ms` is the smallest unit that a duration can have.

    Results are cached, because the services of a stack have few different durations.
    """
    return sum(int(number) * _MILLISECONDS[unit] for number, unit in _DURATION_PART.findall(duration))


def seconds(duration: str) -> int:
    """Return a duration in whole seconds, rounded up: Kubernetes probes have no smaller unit."""
    return -(-milliseconds(duration) // 1000)


def lacks_unit(quantity: str) -> bool:
    """Return whether a number of bytes is so small that its unit must be missing. Zero needs no unit."""
    return 0 < amount(quantity) < _SMALLEST and not quantity.endswith(("k", "Ki"))


def is_quantity(text: object) -> bool:
    """Return whether `amount` can read a text, which a user may have written in another form of Kubernetes."""
    return isinstance(text, str) and _READABLE.fullmatch(text) is not None


@lru_cache(4096)
def amount(quantity: str) -> Decimal:
    """Return a Kubernetes quantity as a plain number of cores, bytes or items.

    Results are cached, because the services of a stack have few different quantities.
    """
    number = quantity.rstrip("mkKMGTPEi")
    return Decimal(number) * _UNITS[quantity[len(number) :]]
