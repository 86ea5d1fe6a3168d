"""Routes of aim-engine's services: Gateway, path, time limit, annotations."""

import re
from collections.abc import Sequence
from typing import Any

from migration import aim_layers
from migration.accounts import Original
from migration.aim_layers import LayeredPlace
from migration.converted import Converted
from migration.names import rfc_1123
from models.paths import Path

_ROUTING = Path("spec", "routing")
_PROVIDER = "gateway.provider: no file says which program implements the Gateway; with none, no policy is made"
_NO_GATEWAY = "a route needs a Gateway, and no file names it; write gateway"
_OFF = "the service has no route"
_OTHER = "the service has a value of its own, which counts"
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_BRACKETS = re.compile(r"""\$?\.?metadata\.(labels|annotations)\[(?:'([^']*)'|"([^"]*)")\]""")
_FIELDS = re.compile(r"[$@]?((?:\.[A-Za-z_][A-Za-z0-9_]*)+)")
_DURATION = re.compile(r"([0-9]{1,5}(h|m|s|ms)){1,4}")
_NO_VALUE = (
    "the file has no value for {expression}, so that aim-engine takes the default path, which clients have to know"
)
_DEFAULT_PATH = (
    "the default path ends with the uid of the object, which the file lacks; write route.matches; {path} is taken"
)
_NO_DURATION = "it is no duration of the Gateway API"
_ANNOTATIONS = "aim-engine leaves them out, and the route has them here"
_TEXTS = ("name", "namespace", "sectionName", "group", "kind")
_ROUTES = "services.*.route.matches"


def read(converted: Converted, configs: Sequence[Original]) -> None:
    """Read the route of a service. Later configs win, and the service wins over all of them."""
    service = LayeredPlace(converted.documents[0], _ROUTING)
    layers = [LayeredPlace(config, _ROUTING) for config in configs]
    for place in (*layers, service):
        place.document.take_presence(place.path)
    if not _is_enabled(service, layers):
        for place in (*layers, service):
            for name in ("gatewayRef", "pathTemplate", "requestTimeout", "annotations"):
                (place / name).drop(_OFF)
        return
    gateway = _gateway(_deciding(service, layers, "gatewayRef"))
    if gateway is None:
        service.document.remark("ask", _NO_GATEWAY)
    else:
        service.document.remark("ask", _PROVIDER, Path("gateway"))
        converted.set_in_stack({**gateway, "provider": "none"}, "gateway")
    converted.set([{"path": _path(converted, _deciding(service, layers, "pathTemplate"))}], "route", "matches")
    _limits(converted, service, layers)


def _is_enabled(service: LayeredPlace, layers: Sequence[LayeredPlace]) -> bool:
    place = aim_layers.last(_deciding(service, layers, "enabled"))
    return place is not None and place.document.switch(place.path) is True


def _deciding(service: LayeredPlace, layers: Sequence[LayeredPlace], name: str) -> list[LayeredPlace]:
    """Return the places that decide about a field: the service alone if it has a value, else the configs."""
    if not (service / name).is_there:
        return [layer / name for layer in layers]
    for layer in layers:
        (layer / name).drop(_OTHER)
    return [service / name]


def _gateway(places: Sequence[LayeredPlace]) -> dict[str, Any] | None:
    """Return the Gateway, field by field from the places, of which later ones win."""
    texts = {name: aim_layers.text([place / name for place in places]) for name in _TEXTS}
    gateway: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    port = aim_layers.number([place / "port" for place in places])
    if port is not None:
        gateway["port"] = port
    if "name" not in gateway:
        return None
    return gateway


def _limits(converted: Converted, service: LayeredPlace, layers: Sequence[LayeredPlace]) -> None:
    """Read the time limit and the annotations."""
    place = aim_layers.last(_deciding(service, layers, "requestTimeout"))
    if place is not None:
        limit = place.document.text(place.path)
        if limit is not None and _DURATION.fullmatch(limit):
            converted.set(limit, "route", "timeouts", "request")
        else:
            place.document.note(place.path, "cannot", _NO_DURATION)
    annotations = dict[str, str]()
    for layer in (*layers, service):
        annotations |= layer.document.entries((layer / "annotations").path)
    if (service / "annotations").is_there:
        path = (service / "annotations").path
        service.document.note(path, "differs", _ANNOTATIONS, converted.key_of("route"))
    converted.set(annotations or None, "route", "annotations")


def _path(converted: Converted, places: Sequence[LayeredPlace]) -> str:
    """Return the path of a route; another one, with a note, if the template of the path has no value."""
    document = converted.documents[0]
    template = aim_layers.last(places)
    if template is None:
        return _default_path(converted)
    text = template.document.text(template.path)
    if not text:
        return _default_path(converted)
    values = {match[0]: _value(document, match[1].strip()) for match in _PLACEHOLDER.finditer(text)}
    for expression, value in values.items():
        if value is None:
            template.document.note(template.path, "cannot", _NO_VALUE.format(expression=expression))
            return _default_path(converted)
        text = text.replace(expression, value)
    return _normal(text)


def _value(document: Original, expression: str) -> str | None:
    """Return the value of an expression on a service, in the form of a segment of a path; None without a value."""
    brackets = _BRACKETS.fullmatch(expression)
    if brackets is not None:
        path = Path("metadata", brackets[1], brackets[2] or brackets[3] or "")
    else:
        fields = _FIELDS.fullmatch(expression)
        if fields is None:
            return None
        path = Path(*fields[1].split(".")[1:])
    value = document.peek(path)
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, str | int):
        return None
    if path[:-1] in {("metadata", "labels"), ("metadata", "annotations")}:
        document.note(path, "carried", _ROUTES)
    if path[:2] == ("metadata", "annotations"):
        # Slashes in annotations separate segments of the path.
        return str(value)
    return rfc_1123(str(value))


def _normal(path: str) -> str:
    """Return a path whose segments are DNS labels."""
    segments = [rfc_1123(segment.strip()) for segment in path.split("/")]
    return "/" + "/".join(segment for segment in segments if segment)


def _default_path(converted: Converted) -> str:
    """Return the path of a service without a template, which is asked for if the file has no uid."""
    document = converted.documents[0]
    uid = document.peek(Path("metadata", "uid"))
    if isinstance(uid, str) and uid:
        document.note(Path("metadata", "uid"), "carried", _ROUTES)
        return _normal(f"/{document.namespace}/{uid}")
    path = _normal(f"/{document.namespace}/{document.name}")
    document.remark("ask", _DEFAULT_PATH.format(path=path), converted.key_of("route"))
    return path
