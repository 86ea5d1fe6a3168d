"""Values as the endpoint picker's Go code reads them: numbers, durations, quantities, selectors and metrics.

Each reader takes a value of a parsed configuration, and returns it in a form that can be compared. A reader raises
`ValueError` for a value that Go refuses.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar, cast

_INT64 = 2**63
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_QUANTITY = re.compile(r"([-+]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:([eE][-+]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = {
    unit: Fraction(10) ** power for unit, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
}
_BINARY = {f"{unit}i": Fraction(1024) ** power for power, unit in enumerate("KMGTPE", 1)}
_BYTES = re.compile(r"([0-9.,]+)\s*([a-z]*)")
_BYTE_UNITS = {
    "": 1,
    "b": 1,
    **{f"{unit}{tail}": 1000**power for power, unit in enumerate("kmgtpe", 1) for tail in ("", "b")},
    **{f"{unit}i{tail}": 1024**power for power, unit in enumerate("kmgtpe", 1) for tail in ("", "b")},
}
_LABEL_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_DOMAIN_LENGTH = 253
_REQUIREMENT = re.compile(
    r"(?P<absent>!)\s*(?P<gone>[^\s=!<>,()]+)"
    r"|(?P<key>[^\s=!<>,()]+)(?:\s*(?P<operator>==|=|!=|<|>)\s*(?P<value>[^\s=!<>,()]*)"
    r"|\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?"
)
_SEPARATOR = re.compile(r"\s*(,\s*|$)")
_PAIR = re.compile(r"\s*([^=,]+)=([^=,]*)\s*")
_METRIC = re.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{([^}]*)\})?\s*")
_METRIC_LABEL = re.compile(r'\s*[a-zA-Z_][a-zA-Z0-9_]*\s*=\s*("[^"]*"|[^",}\s]+)\s*')
_REDIS = re.compile(
    r"unix://(?:[^\s@/]*@)?/[^\s?]*(?:\?\S*)?"
    r"|rediss?://(?:[^\s@/]*@)?(?:\[[0-9a-fA-F:.]*\]|[^\s:/?#@\[\]%^{}|\\<>\"`]*)(?::[0-9]*)?(?:/[0-9]*)?(?:\?\S*)?"
)
_WHOLE = re.compile(r"[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0|[1-9][0-9_]*)")
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


class JsonFraction(float):
    """A JSON number with a fraction or an exponent. Go never reads it as an integer, even if its value is whole."""


def boolean(value: object) -> bool:
    """Return a JSON boolean."""
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004, all readers raise ValueError
    return value


def parsed_boolean(text: str) -> bool:
    """Return the boolean that a text means (`strconv.ParseBool`)."""
    if text not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[text]


def number(value: object) -> float:
    """Return a JSON number that Go reads as a 64-bit float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return value


def integer(value: object) -> int:
    """Return a JSON number that Go reads as a 64-bit integer.

    A YAML float with a whole value, such as 2.0, is accepted, because the picker converts YAML to JSON, where the value
    is the integer 2.
    """
    if (
        isinstance(value, JsonFraction)
        or number(value) != int(number(value))
        or not -_INT64 <= int(number(value)) < _INT64
    ):
        raise ValueError
    return int(number(value))


def parsed_integer(text: str) -> int:
    """Return the integer that a text means (`strconv.ParseInt` with base 0)."""
    if _WHOLE.fullmatch(text) is None:
        raise ValueError
    digits = text.lstrip("+-")
    if digits[:1] == "0" and digits[1:2].isdecimal():
        digits = f"0o{digits[1:]}"
    return _with_sign(text, int(digits, 0))


_Number = TypeVar("_Number", int, Fraction)


def _with_sign(text: str, number: _Number) -> _Number:
    """Return a number with the sign at the start of a text."""
    if text.startswith("-"):
        return -number
    return number


def text(value: object) -> str:
    """Return a JSON string."""
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004, all readers raise ValueError
    return value


def duration(value: object) -> Fraction:
    """Return a duration in seconds (`time.ParseDuration`)."""
    written = text(value)
    if _DURATION.fullmatch(written) is None:
        raise ValueError
    parts = _DURATION_PART.findall(written)
    total = sum(Fraction(digits.rstrip(".") or "0") * _NANOSECONDS[unit] for digits, unit in parts)
    if total >= _INT64:
        raise ValueError
    return _with_sign(written, Fraction(total) / 10**9)


def period(value: object) -> Fraction | None:
    """Return a duration in seconds; None for an empty text, which stands for the picker's default."""
    if text(value) == "":
        return None
    return duration(value)


def quantity(value: object) -> Fraction:
    """Return a Kubernetes quantity as a number. The value may be a text or a number."""
    written = str(value)
    if not isinstance(value, str):
        written = repr(number(value))
    match = _QUANTITY.fullmatch(written.strip())
    if match is None:
        raise ValueError
    sign, digits, exponent, unit = match.groups()
    factor = {**_DECIMAL, **_BINARY}.get(unit, Fraction(1))
    if exponent:
        factor = Fraction(10) ** int(exponent[1:])
    return _with_sign(sign, Fraction(digits.rstrip(".")) * factor)


def message_size(value: object) -> int | None:
    """Return the size of a gRPC message in bytes: a whole quantity that may end in `B`. None for an empty text."""
    written = text(value)
    if written == "":
        return None
    bare = written.strip()
    if len(bare) > 1 and bare[-1] in "bB":
        bare = bare[:-1]
    size = quantity(bare)
    if size.denominator != 1 or size >= _INT64:
        raise ValueError
    return int(size)


def byte_size(value: object) -> int:
    """Return a size in bytes, as the package go-humanize reads it."""
    match = _BYTES.fullmatch(text(value).strip().lower())
    if match is None or match[2] not in _BYTE_UNITS:
        raise ValueError
    return int(float(match[1].replace(",", "")) * _BYTE_UNITS[match[2]])


def label_key(value: object) -> str:
    """Return the key of a label: a name, or a domain, a slash and a name."""
    prefix, separator, name = text(value).rpartition("/")
    has_domain = _DOMAIN.fullmatch(prefix) is not None and len(prefix) <= _MAX_DOMAIN_LENGTH
    if _LABEL_NAME.fullmatch(name) is None or (separator and not has_domain):
        raise ValueError
    return text(value)


def label_value(value: object) -> str:
    """Return the value of a label."""
    if text(value) != "" and _LABEL_NAME.fullmatch(text(value)) is None:
        raise ValueError
    return text(value)


def labels(value: object) -> dict[str, str]:
    """Return a mapping of labels."""
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004, all readers raise ValueError
    pairs = cast("dict[object, object]", value)
    return {label_key(key): "" if inner is None else label_value(inner) for key, inner in pairs.items()}


def selector(value: object) -> str:
    """Return the text of a label selector, such as `app=vllm,env in (prod,test),!old` (`labels.Parse`)."""
    written = text(value).strip()
    at = 0
    while at < len(written):
        match = _REQUIREMENT.match(written, at)
        if match is None:
            raise ValueError
        _requirement(match)
        separator = _SEPARATOR.match(written, match.end())
        if separator is None or (separator[1] and separator.end() == len(written)):
            raise ValueError
        at = separator.end()
    return text(value)


def _requirement(match: re.Match[str]) -> None:
    """Check the key and the values of one requirement of a selector."""
    label_key(match["gone"] or match["key"])
    for value in (match["values"] or match["value"] or "").split(","):
        label_value(value.strip())
    if match["operator"] in {"<", ">"} and re.fullmatch(r"[-+]?[0-9]+", match["value"] or "") is None:
        raise ValueError
    if match["word"] and not match["values"]:
        raise ValueError


def pairs(value: object) -> str:
    """Return a text of comma-separated names with values, such as `app=vllm,env=prod`."""
    if text(value) and not all(_PAIR.fullmatch(pair) for pair in text(value).split(",")):
        raise ValueError
    return text(value)


def metric(value: object) -> str:
    """Return the text of a metric: a name, and optionally labels in braces. An empty text stands for no metric."""
    match = _METRIC.fullmatch(text(value))
    if text(value) and (match is None or any(_is_no_label(pair) for pair in _label_pairs(match[2]))):
        raise ValueError
    return text(value)


def _label_pairs(block: str | None) -> list[str]:
    if block is None or not block.strip():
        return []
    return block.split(",")


def _is_no_label(pair: str) -> bool:
    return _METRIC_LABEL.fullmatch(pair) is None


def redis_address(value: object) -> str:
    """Return the address of a Redis server: a host and a port, or a URL (`redis.ParseURL`)."""
    address = text(value)
    url = f"redis://{address}"
    if address.startswith(("redis://", "rediss://", "unix://")):
        url = address
    if _REDIS.fullmatch(url) is None:
        raise ValueError
    return address


def log_level(value: object) -> str:
    """Return a log level: a name, or a number above 0."""
    is_name = text(value).lower() in {"debug", "info", "error", "panic"}
    if not is_name and (re.fullmatch(r"[-+]?[0-9]+", text(value)) is None or int(text(value)) <= 0):
        raise ValueError
    return text(value)


def names(value: object) -> list[str]:
    """Return the comma-separated items of a text."""
    return [part.strip() for part in text(value).split(",") if part.strip()]


def bare_name(value: object) -> str:
    """Return a text that contains no slash."""
    if "/" in text(value):
        raise ValueError
    return text(value)


def integers(value: object) -> list[int]:
    """Return the integers of a list, or of a comma-separated text. An integer that a text repeats is returned once."""
    if isinstance(value, list):
        return [integer(item) for item in cast("list[object]", value)]
    return list(dict.fromkeys(int(part) for part in text(value).split(",") if _is_decimal(part)))


def _is_decimal(part: str) -> bool:
    if re.fullmatch(r"[-+]?[0-9]+", part) is None:
        raise ValueError
    return True


READERS: dict[str, Callable[[object], object]] = {
    "any": lambda value: value,
    "bare-name": bare_name,
    "boolean": boolean,
    "bytes": byte_size,
    "duration": duration,
    "integer": integer,
    "integers": integers,
    "label-key": label_key,
    "label-value": label_value,
    "labels": labels,
    "log-level": log_level,
    "message-size": message_size,
    "metric": metric,
    "names": names,
    "number": number,
    "pairs": pairs,
    "period": period,
    "quantity": quantity,
    "redis": redis_address,
    "selector": selector,
    "text": text,
}
"""Reader of each type of value, by the word that stands for the type in `planning.picker.value_shapes`."""
