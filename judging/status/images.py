"""The state of a pod whose image cannot be pulled."""

from judging.status import kubelet_texts, pod_status, pod_words
from judging.status.evidence import Evidence, first_seen
from judging.status.pod_findings import of_pod, unread
from judging.status.pod_status import Container
from judging.status.records import Finding
from models import image_references
from models.trees import at, mapping, sequence
from planning.ground.snapshot import EVENT, Manifest

REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
"""Reasons for which a container waits for its image (kubernetes v1.36.3 pkg/kubelet/images/types.go; k8s.io/cri-api
v0.36.3 pkg/errors/errors.go)."""
_BACK_OFF = "ImagePullBackOff"


def state(pod: Manifest, container: Container, reading: Evidence) -> Finding:
    """Return the state of a pod with a container that waits for its image."""
    waiting = mapping(container.waiting)
    reason = str(waiting.get("reason") or "")
    text = str(waiting.get("message") or "")
    events = [
        event
        for event in pod_status.fresh_events(pod, reading, "Failed", "InspectFailed")
        if pod_status.is_about(event, container)
    ]
    start = pod_status.start(pod)
    since = first_seen(events[0]) if events else start
    # Kubelets before 1.32 say while they wait only that they wait; the reason is in an event of the last try.
    is_silent = reason == _BACK_OFF and ": " not in text
    if is_silent and EVENT in reading.unread:
        return unread(pod, EVENT, start)
    causes = [message for message in map(pod_status.message, events) if "Failed to pull" in message]
    cause = text
    if is_silent:
        cause = causes[-1] if causes else ""
    image = str(container.spec.get("image") or container.status.get("image") or "an image")
    # The name of an image may contain any word, so it must not count as the reason.
    stripped = cause.replace(image, "").replace(f"docker.io/library/{image}", "")
    state = kubelet_texts.image_state(f"{reason} {stripped}")
    advice = _advice(pod, image, reading) if state == "image-denied" else ""
    text = pod_words.quote(pod_words.text(cause))
    return of_pod(state, pod, since or start, image=image, text=text, advice=advice)


def _advice(pod: Manifest, image: str, reading: Evidence) -> str:
    """Return what to do about an image that the registry does not give to the pod."""
    names = [str(mapping(entry).get("name")) for entry in sequence(at(pod, "spec", "imagePullSecrets"))]
    registry = _registry(image)
    if not names:
        return f"name a Secret with credentials for {registry} in `pod.imagePullSecrets`"
    if pod_status.fresh_events(pod, reading, "FailedToRetrieveImagePullSecret"):
        return f"create the Secret {', '.join(names)} with credentials for {registry}"
    return f"correct the credentials for {registry} in the Secret {', '.join(names)}"


def _registry(image: str) -> str:
    try:
        return image_references.parse(image).registry
    except ValueError:
        return "its registry"
