"""The endpoint picker: its configuration, its arguments and its ports."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from models.service import Variant
from models.stack import Tracing
from planning import tracing
from planning.environment import Variable, ordered
from planning.names import Names
from planning.releases import PickerFacts, Release

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
    env: tuple[Variable, ...]
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


def plan(service: Variant, names: Names, release: Release, traces: Tracing | None) -> Picker:
    """Decide the picker of one service."""
    facts, spec = release.picker, service.endpoint_picker
    identity = {
        "NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
    }
    return Picker(
        image=spec.image or release.images.picker.ref,
        arguments=_arguments(service, names, release, traces),
        env=ordered({**identity, **tracing.environment(traces, names.picker)}, {}),
        config=_config(facts, apart=service.prefill is not None),
        port=spec.port,
        app_protocol=facts.service_app_protocol,
        objectives_group=facts.objectives_group,
        readiness_service=facts.probes.readiness,
        liveness_service=facts.probes.liveness,
        metrics_auth=spec.metrics_auth,
        requests=spec.resources.requests,
        limits=spec.resources.limits,
    )


def _arguments(service: Variant, names: Names, release: Release, traces: Tracing | None) -> tuple[str, ...]:
    """Every flag is one token: as two, a boolean's value is silently dropped."""
    spec = service.endpoint_picker
    return (
        f"--pool-name={names.pool}",
        f"--pool-namespace={names.namespace}",
        f"--pool-group={POOL_GROUP}",
        f"--config-file={CONFIG_MOUNT}/{CONFIG_KEY}",
        f"--grpc-port={spec.port}",
        f"--grpc-health-port={HEALTH_PORT}",
        f"--metrics-port={METRICS_PORT}",
        f"--metrics-endpoint-auth={_boolean(spec.metrics_auth)}",
        f"--tracing={_boolean(traces is not None)}",
        f"--v={spec.log_level}",
        *release.picker.flags,
    )


def _boolean(value: bool) -> str:  # noqa: FBT001, it is what is written
    return str(value).lower()


def _config(facts: PickerFacts, *, apart: bool) -> str:
    """Return the configuration: prefill and decode have a profile each where they are apart."""
    config = facts.disaggregated if apart and facts.disaggregated is not None else _together()
    about = {"apiVersion": facts.config_api_version, "kind": "EndpointPickerConfig"}
    return _yaml(json.dumps({**about, **config}))


@cache
def _yaml(text: str) -> str:
    """Write JSON as YAML; the services of a stack share few configurations, and writing one takes milliseconds."""
    return yaml.safe_dump(json.loads(text), sort_keys=False)


def _together() -> dict[str, Any]:
    plugins = [*_SCORERS, "max-score-picker"]
    profile = [{"pluginRef": name, "weight": weight} for name, weight in _SCORERS.items()]
    return {
        "plugins": [{"type": name} for name in plugins],
        "schedulingProfiles": [{"name": "default", "plugins": [*profile, {"pluginRef": "max-score-picker"}]}],
    }
