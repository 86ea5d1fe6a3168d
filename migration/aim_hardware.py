"""Hardware of aim-engine's objects as accelerator, parallelism and resources."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from migration import aim_layers, pods
from migration.aim_layers import LayeredPlace
from migration.converted import Converted
from models.accelerators import ExtendedResource
from planning.hardware import accelerators

_VENDOR = "amd"
RESOURCE = "amd.com/gpu"
"""Resource of devices where an object names none."""
_CPU = "cpu"
_WORD = re.compile(r"(MI|RX|A|H|L|T|V|W)?[A-Z]*[0-9]+[A-Z0-9]*")
_UNKNOWN = "no file says on which devices the engine runs; {name} is taken; write accelerator and parallelism.tensor"
_NO_NUMBER = "the number of devices is found out from the image; write parallelism.tensor"
_NO_DEVICES = "pods without devices have requests and limits of this program where the files state none"
_PRODUCT = "no accelerator class has this product; write accelerator, with a class of accelerators if it is a new one"
_MEMORY = "it stands for all products with so much memory; write the product's class as accelerator"
_RESOURCE = "the class of accelerators gets this resource, for all services of the stack"
_NONE_TAKEN = "pods without devices are placed on any node, and there on nodes with such devices"
_NUMBER = re.compile(r"[0-9]{1,4}")
_KEY = "services.*.parallelism.tensor"
_LAYERED = "the service or the template has another amount, which counts"


def product(name: str) -> str:
    """Return the product of a device's name, as aim-engine compares them: `AMD Instinct MI300X` is `MI300X`."""
    words = [word for word in re.split(r"[-\s/:]", name.strip().upper().replace("_", "-")) if word]
    words = [word for word in words if word not in {"AMD", "INSTINCT"}] or words
    return next((word for word in words if _WORD.fullmatch(word)), "".join(words[:1]))


def read(converted: Converted, layers: Sequence[LayeredPlace], amounts: Sequence[LayeredPlace]) -> dict[str, int]:
    """Read hardware from its layers, of which later ones win. Returns the devices of a pod by their resource.

    `amounts` are the requests and limits of the template and of the service, whose number of devices wins.
    """
    devices = [layer / "gpu" for layer in layers]
    for place in (*layers, *devices, *(layer / _CPU for layer in layers)):
        place.document.take_presence(place.path)
    resource = aim_layers.text([device / "resourceName" for device in devices]) or RESOURCE
    stated = _stated_number(amounts, resource)
    if stated is None and not any(place.is_there for place in devices):
        return _without_devices(converted, layers)
    number = _number(converted, devices, stated)
    if number == 0:
        _drop_devices(devices)
        return _without_devices(converted, layers)
    converted.set(number, "parallelism", "tensor")
    _product(converted, devices, _class_of_resource(resource))
    _resource(converted, devices, resource)
    return {resource: number or 1}


def _stated_number(amounts: Sequence[LayeredPlace], resource: str) -> int | None:
    """Return the number of devices in requests and limits; None if none states it."""
    number = None
    for group in ("requests", "limits"):
        place = aim_layers.last([amount / group / resource for amount in amounts])
        if place is not None and _NUMBER.fullmatch(str(place.value)) and number in {None, int(str(place.value))}:
            number = int(str(place.value))
            place.document.note(place.path, "carried", _KEY)
    return number


def _number(converted: Converted, devices: Sequence[LayeredPlace], stated: int | None) -> int | None:
    """Return the number of devices; None, with a note, if no file has it."""
    key = converted.key_of("accelerator")
    place = aim_layers.last([device / "requests" for device in devices])
    if stated is not None:
        if place is not None and place.value != stated:
            place.drop(_LAYERED)
        elif place is not None:
            place.document.number(place.path)
        return stated
    number = None
    if place is not None:
        number = place.document.number(place.path)
    if number is None:
        converted.documents[0].remark("ask", _NO_NUMBER, key)
    elif number == 0 and place is not None:
        place.document.note(place.path, "differs", _NONE_TAKEN, key)
    return number


def _without_devices(converted: Converted, layers: Sequence[LayeredPlace]) -> dict[str, int]:
    name = _CPU
    if not any((layer / _CPU).is_there or (layer / "gpu").is_there for layer in layers):
        name = _VENDOR
        converted.documents[0].remark("ask", _UNKNOWN.format(name=name), converted.key_of("accelerator"))
    else:
        converted.documents[0].remark("differs", _NO_DEVICES, converted.key_of("accelerator"))
    converted.set(name, "accelerator")
    return {}


def _drop_devices(devices: Sequence[LayeredPlace]) -> None:
    for device in devices:
        for name in ("model", "minVram", "resourceName"):
            (device / name).drop("pods have no devices")


def _product(converted: Converted, devices: Sequence[LayeredPlace], vendor: str) -> None:
    """Set the class of the product, or else that of the vendor."""
    place = aim_layers.last([device / "model" for device in devices])
    name = None
    if place is not None:
        name = place.document.text(place.path)
    memories = [device / "minVram" for device in devices if (device / "minVram").is_there]
    key = converted.key_of("accelerator")
    converted.set(vendor, "accelerator")
    if name and place is not None:
        for memory in memories:
            memory.drop("the product decides it")
        known = _classes_of_products().get(product(name))
        if known is None:
            place.document.note(place.path, "ask", _PRODUCT, key)
        else:
            converted.set(known, "accelerator")
    else:
        for memory in memories:
            memory.document.note(memory.path, "ask", _MEMORY, key)


def _resource(converted: Converted, devices: Sequence[LayeredPlace], resource: str) -> None:
    """Let the class of the service have a resource, if it has another one."""
    name = str(converted.service["accelerator"])
    allocation = accelerators.classes({})[name].allocation
    if isinstance(allocation, ExtendedResource) and allocation.resource_name == resource:
        return
    stated = {"type": "extended-resource", "resourceName": resource}
    converted.set_in_stack(stated, "accelerators", name, "allocation")
    for device in devices:
        if (device / "resourceName").value == resource:
            document = device.document
            document.note((device / "resourceName").path, "differs", _RESOURCE, converted.key_of("accelerator"))


@cache
def _classes_of_products() -> Mapping[str, str]:
    """Return the names of classes by product, of AMD and of others whose product is one word."""
    names = dict[str, str]()
    for name, cls in accelerators.classes({}).items():
        if cls.product is not None and cls.vendor == _VENDOR:
            names[product(cls.product)] = name
    return names


def _class_of_resource(resource: str) -> str:
    """Return the class of all products whose resource has a name, or else whose resources have its domain."""
    domain = resource.partition("/")[0]
    known = accelerators.classes({})
    names = dict[str, str]()
    for classes in accelerators.vendor_classes().values():
        for name in classes:
            allocation = known[name].allocation
            if isinstance(allocation, ExtendedResource):
                names[allocation.resource_name] = name
                names.setdefault(allocation.resource_name.partition("/")[0], name)
    return names.get(resource) or names.get(domain) or _VENDOR


def resources(
    converted: Converted, hardware: Sequence[LayeredPlace], layers: Sequence[LayeredPlace], devices: Mapping[str, int]
) -> None:
    """Read requests and limits: those of hardware without devices, and above them those of template and service."""
    merged = dict[str, dict[str, str]]()
    places = dict[tuple[str, str], LayeredPlace]()
    for group in ("requests", "limits"):
        place = aim_layers.last([layer / "cpu" / group for layer in hardware])
        if place is not None:
            amount = pods.quantity(place.document, place.path)
            places[group, "cpu"] = place
            if amount is not None:
                merged.setdefault(group, {})["cpu"] = amount
    for layer in layers:
        layer.document.take_presence(layer.path)
        amounts = pods.resources(layer.document, layer.path, devices)
        for group, inner in amounts.items():
            for name, amount in inner.items():
                if (group, name) in places:
                    places[group, name].drop(_LAYERED)
                places[group, name] = layer / group / name
                merged.setdefault(group, {})[name] = amount
    converted.set(_as_any(merged) or None, "resources")


def _as_any(amounts: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {group: dict(inner) for group, inner in amounts.items()}
