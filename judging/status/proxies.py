"""The proxies beside endpoint pickers, and the Service through which clients within the cluster reach them."""

from collections.abc import Sequence
from typing import Any

from judging.status.evidence import Evidence
from judging.status.history import change_time
from judging.status.records import Finding, ObjectRef, finding
from judging.status.topology import PickerView, ServiceView, VariantView, is_selected, name_of, pool_selector
from models.trees import EMPTY, at, mapping, sequence, texts
from planning.ground import labels, names
from planning.ground.snapshot import Manifest
from planning.picker.proxy import CONTAINER


def is_entry(view: ServiceView, variant: VariantView, reading: Evidence) -> bool:
    """Tell whether clients reach a variant through its proxy: the service has no route, and the variant has a proxy."""
    is_routed = bool(view.routes) or view.place in reading.routes
    return not is_routed and (variant.proxy is not None or any(map(has_proxy, variant.pickers)))


def has_proxy(picker: PickerView) -> bool:
    """Tell whether the pods of a picker have a proxy."""
    return bool(_container(picker))


def asked_pools(variant: VariantView) -> Sequence[Manifest]:
    """Return the pools of the pickers to which the Service of the proxies leads; all pools if it leads to none."""
    generation = _selector(variant.proxy).get(labels.GENERATION)
    led_to = [pool for pool in variant.pools if pool_selector(pool).get(labels.GENERATION) == generation]
    return led_to or variant.pools


def host(variant: VariantView) -> str:
    """Return the address of the Service of the proxies within the cluster; empty if there is no such Service."""
    if variant.proxy is None:
        return ""
    namespace, name = name_of(variant.proxy)
    return names.address(name, namespace)


def service_fault(variant: VariantView, picker: PickerView, *, is_awaited: bool) -> Finding | None:
    """Return why clients do not reach the proxy of a picker; None if they do.

    `is_awaited`: a run may still make the Service, which it makes at the end.
    """
    namespace, _ = name_of(picker.deployment)
    at_object = ObjectRef("Service", namespace, names.proxy_service(variant.base))
    if variant.proxy is None:
        if is_awaited:
            return finding("proxy-awaited", at_object)
        return finding("proxy-unreached", at_object, text="it does not exist")
    template = mapping(at(picker.deployment, "spec", "template"))
    text = ""
    if not is_selected(_selector(variant.proxy), template):
        text = "it selects no pod of the picker"
    elif not _leads_to_port(variant.proxy, picker):
        text = "none of its ports is one of the proxy"
    if not text:
        return None
    return finding("proxy-unreached", at_object, change_time(variant.proxy), text=text)


def _selector(service: Manifest | None) -> dict[str, str]:
    return dict(texts(at(service or EMPTY, "spec", "selector")))


def _leads_to_port(service: Manifest, picker: PickerView) -> bool:
    ports = list(map(mapping, sequence(_container(picker).get("ports"))))
    service_ports = map(mapping, sequence(at(service, "spec", "ports")))
    targets = {port.get("targetPort", port.get("port")) for port in service_ports}
    return any({port.get("name"), port.get("containerPort")} & targets for port in ports)


def _container(picker: PickerView) -> dict[str, Any]:
    """Return the proxy's container in the pods of a picker; an empty object if there is none."""
    containers = map(mapping, sequence(at(picker.deployment, "spec", "template", "spec", "containers")))
    return dict(next((container for container in containers if container.get("name") == CONTAINER), EMPTY))
