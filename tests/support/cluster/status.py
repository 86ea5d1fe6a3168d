"""Statuses of services on a control plane, whose objects are applied as Pulumi's provider applies them."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.status import verdict
from judging.status.evidence import Expectation
from judging.status.records import Finding, Link, ServiceLink
from judging.status.verdict import ServiceStatus, Status
from local.cluster import ControlPlane
from local.errors import LocalError
from manifests import marking
from manifests.assembly import render
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import read
from tests.support.stacks import NAME, plan

PROVIDER = "pulumi-kubernetes"
"""Field manager of Pulumi's provider."""
SECONDS = 120.0
"""Time in which the parts of a busy control plane make any state."""
LATER = timedelta(minutes=10)
"""Time after which every grace is over."""


def delayed(stage: str, delay: str = "24h") -> dict[str, str]:
    """Return annotations of pods with which fake nodes delay one of kwok's stages, such as `pod-ready`."""
    return {f"{stage}.stage.kwok.x-k8s.io/{name}": delay for name in ("delay", "jitter-delay")}


def marked(stack: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Render a stack to its objects with their mark, in order."""
    components = marking.mark(render(plan(stack)), NAME)
    return [dict(rendered.manifest) for component in components for rendered in component.objects]


def apply(plane: ControlPlane, stack: Mapping[str, Any]) -> None:
    """Apply the objects of a stack, as Pulumi's provider does."""
    document = {"apiVersion": "v1", "kind": "List", "items": marked(stack)}
    options = ("--server-side", f"--field-manager={PROVIDER}", "--force-conflicts", "--filename=-")
    plane.kubectl("apply", *options, input=json.dumps(document))


class Space:
    """A namespace of a control plane with one service, called qwen."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.plane = plane
        self.name = name

    def apply(self, **service: Any) -> None:
        """Deploy the service with these keys."""
        apply(self.plane, in_namespace(self.name, qwen=service))

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Apply an object of somebody else in the namespace."""
        self.kubectl("apply", "--filename=-", input=json.dumps(manifest))

    def kubectl(self, *arguments: str, **options: Any) -> str:
        """Run kubectl in the namespace."""
        return self.plane.kubectl(*arguments, "-n", self.name, **options)

    def patch(self, target: str, change: Mapping[str, Any], *options: str) -> None:
        """Patch an object, such as `deployment/qwen-decode`."""
        self.kubectl("patch", target, "--type=merge", f"--patch={json.dumps(change)}", *options)

    def status(
        self,
        expected: Mapping[tuple[str, str], Expectation] | None = None,
        later: timedelta = timedelta(),
        *,
        certificates: bool = False,
    ) -> Status:
        """Read the status of the namespace, as of some time from now."""
        access = KubeAccess(self.plane.kubeconfig.read_text(encoding="utf-8"), None)
        snapshot = reader.read(access, ReadScope(certificates=certificates))
        status = verdict.of(replace(snapshot, read_at=snapshot.read_at + later), expected or {})
        return replace(
            status, services=tuple(service for service in status.services if service.view.namespace == self.name)
        )

    def service(self, **options: Any) -> ServiceStatus:
        """Read the status of the one service in the namespace."""
        (service,) = self.status(**options).services
        return service

    def components(self, link: Link, **options: Any) -> list[ServiceLink]:
        """Read the links of a kind; none if the service has no object yet."""
        services = self.status(**options).services
        return [component for service in services for component in service.components if component.link is link]

    def states(self, link: Link, **options: Any) -> dict[str, Finding]:
        """Read the states of the links of a kind, by their ids."""
        return {
            finding.state.id: finding
            for component in self.components(link, **options)
            for finding in component.findings
        }

    def await_state(self, link: Link, state: str, **options: Any) -> Finding:
        """Wait until a link of a kind is in a state, and return the finding."""
        end = time.monotonic() + SECONDS
        while state not in (states := self.states(link, **options)):
            assert time.monotonic() < end, f"{state}: {states}"
            time.sleep(0.3)
        return states[state]

    def await_without_states(self, link: Link) -> ServiceLink:
        """Wait until the one link of a kind is in no state at all, and return it."""
        end = time.monotonic() + SECONDS
        while True:
            components = self.components(link)
            if len(components) == 1 and components[0].is_broken is False and not components[0].findings:
                return components[0]
            assert time.monotonic() < end, components
            time.sleep(0.3)


@contextlib.contextmanager
def space(plane: ControlPlane, name: str) -> Iterator[Space]:
    """Hand out a namespace that is gone afterwards."""
    yield Space(plane, name)
    plane.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@contextlib.contextmanager
def held(plane: ControlPlane, namespace: str, selector: str) -> Iterator[None]:
    """Keep the pods that a selector selects from going for a while, when they end."""
    pods = [pod["metadata"] for pod in read(plane, "pods", namespace, selector)]
    names = [metadata["name"] for metadata in pods if "deletionTimestamp" not in metadata]
    _finalize(plane, namespace, names, ["tests.inference-stacks.io/held"])
    try:
        yield
    finally:
        _finalize(plane, namespace, names, None)


def _finalize(plane: ControlPlane, namespace: str, names: Iterable[str], finalizers: list[str] | None) -> None:
    patch = json.dumps({"metadata": {"finalizers": finalizers}})
    for name in names:
        try:
            plane.kubectl("patch", "pod", name, "-n", namespace, "--type=merge", f"--patch={patch}")
        except LocalError as error:
            # A pod of a rollout may have gone since it was read.
            if "NotFound" not in str(error):
                raise


@contextlib.contextmanager
def stopped(plane: ControlPlane, part: str) -> Iterator[None]:
    """Let a part of a control plane, such as kube-controller-manager, do nothing for a while."""
    process = plane.pids()[part]
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
