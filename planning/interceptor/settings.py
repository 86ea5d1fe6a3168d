"""Settings of the interceptor: the file that the interceptor's process reads once, at its start.

The process silently ignores keys that it does not know. The record `SettingsFile` has only keys that the process knows.
"""

from typing import Literal

from pydantic import Field

from models.base import Spec
from models.interceptor import HostPort, Interceptor, InterceptorDeployment, NestedPath, StreamName
from models.vocabulary import DnsLabel, Port
from planning.ground import yaml_text
from planning.interceptor.facts import facts


class Registry(Spec):
    """Settings of the interceptor's search for Services by labels."""

    strategy: Literal["cached"] = "cached"
    k8s_namespace: DnsLabel = Field(alias="k8sNamespace")


class Emission(Spec):
    """Settings for the metering events that the interceptor sends."""

    valkey_addr: HostPort | None = None
    stream_name: StreamName
    wal_path: NestedPath


class SettingsFile(Spec):
    """All settings of the file."""

    listen_port: Port
    idle_timeout: str
    """Time for which the interceptor keeps an idle connection; longer than every gateway does, as engines do."""
    registry: Registry | None = None
    """None if the interceptor's image does not read `registry`, or if there is no namespace to search."""
    emit: Emission


def text(spec: Interceptor, deploy: InterceptorDeployment, models_namespace: str | None, idle_seconds: int) -> str:
    """Return the settings as YAML.

    `models_namespace` is the namespace in which the interceptor searches for Services; None if it does not search.
    `idle_seconds` is the time for which the interceptor keeps an idle connection.
    """
    emit = deploy.emit
    groups = facts().line(spec.mode).settings
    registry = None
    if "registry" in groups and models_namespace is not None:
        registry = Registry.model_construct(strategy="cached", k8s_namespace=models_namespace)
    settings = SettingsFile.model_construct(
        listen_port=spec.port,
        idle_timeout=f"{idle_seconds}s",
        registry=registry,
        emit=Emission.model_construct(
            valkey_addr=emit.valkey_addr, stream_name=emit.stream_name, wal_path=emit.wal_path
        ),
    )
    return yaml_text.with_blocks(settings.model_dump(by_alias=True, exclude_none=True))
