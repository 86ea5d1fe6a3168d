"""The endpoint picker: its configuration, its arguments and its ports."""

import hashlib
from dataclasses import dataclass
from functools import cache

import yaml

from models.service import EndpointPicker
from planning.names import Names
from planning.releases import Release

POOL_GROUP = "inference.networking.k8s.io"
HEALTH_PORT = 9003
METRICS_PORT = 9090
CONFIG_MOUNT = "/config"
CONFIG_KEY = "config.yaml"
_SCORERS = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
"""Weights of the approximate prefix cache preset, as upstream's charts have them."""


@dataclass(frozen=True, slots=True)
class Picker:
    """What the picker's objects agree about."""

    image: str
    arguments: tuple[str, ...]
    config: str
    """The EndpointPickerConfig as YAML."""
    port: int
    app_protocol: str
    objectives_group: str
    readiness_service: str
    liveness_service: str
    metrics_auth: bool
    requests: dict[str, str]
    limits: dict[str, str]

    def checksum(self) -> str:
        """Return the SHA-256 of the configuration: the picker reads it once, so a change has to roll its pods."""
        return hashlib.sha256(self.config.encode()).hexdigest()


def plan(spec: EndpointPicker, names: Names, release: Release) -> Picker:
    """Decide the picker of one service."""
    facts = release.picker
    return Picker(
        image=spec.image or release.images.picker.ref,
        arguments=_arguments(spec, names, release),
        config=_config(facts.config_api_version),
        port=spec.port,
        app_protocol=facts.service_app_protocol,
        objectives_group=facts.objectives_group,
        readiness_service=facts.probes.readiness,
        liveness_service=facts.probes.liveness,
        metrics_auth=spec.metrics_auth,
        requests=spec.resources.requests,
        limits=spec.resources.limits,
    )


def _arguments(spec: EndpointPicker, names: Names, release: Release) -> tuple[str, ...]:
    """Every flag is one token: as two, a boolean's value is silently dropped."""
    return (
        f"--pool-name={names.base}",
        f"--pool-namespace={names.namespace}",
        f"--pool-group={POOL_GROUP}",
        f"--config-file={CONFIG_MOUNT}/{CONFIG_KEY}",
        f"--grpc-port={spec.port}",
        f"--grpc-health-port={HEALTH_PORT}",
        f"--metrics-port={METRICS_PORT}",
        f"--metrics-endpoint-auth={str(spec.metrics_auth).lower()}",
        f"--v={spec.log_level}",
        *release.picker.flags,
    )


@cache
def _config(api_version: str) -> str:
    plugins = [*_SCORERS, "max-score-picker"]
    profile = [{"pluginRef": name, "weight": weight} for name, weight in _SCORERS.items()]
    config = {
        "apiVersion": api_version,
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": name} for name in plugins],
        "schedulingProfiles": [{"name": "default", "plugins": [*profile, {"pluginRef": "max-score-picker"}]}],
    }
    return yaml.safe_dump(config, sort_keys=False)
