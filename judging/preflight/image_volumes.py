"""Check of volumes with images: whether the cluster's version of Kubernetes mounts them.

Source: k8s.io/kubernetes v1.36.3, pkg/features/kube_features.go (ImageVolume: alpha in 1.31, beta and off in 1.33, beta
and on in 1.35, locked on in 1.36); k8s.io/api v0.36.3, core/v1/types.go (folders of such volumes since 1.33).
"""

from collections.abc import Iterator

from judging.preflight.admission import minor
from models.problems import SEVERITIES, Mode, Problem, warning
from planning.ground.cluster_facts import ClusterFacts
from planning.ground.needs import Needs

_BETA = 33
"""First minor version in which image volumes are beta and have folders."""
_ON = 35
"""First minor version in which image volumes are on by default."""
_GATE = "turn on its feature gate in the API server and in all kubelets"


def judge(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for each image that pods mount, if the version of the cluster does not mount images.

    Nothing is checked if the version is unknown. Whether the container runtime of a node mounts images is unknown, too.
    """
    version = minor(facts.version)
    if mode == "skip" or version is None or version >= _ON:
        return
    for volume in needs.image_volumes:
        if version < _BETA:
            what = f"needs volumes with images, which Kubernetes 1.{version} does not have (1.{_BETA} and later do)"
            remedy = "use another source, such as kit:// or pvc://, or another kind of volume"
            yield Problem(volume.origin, what, remedy, severity=SEVERITIES[mode])
        else:
            what = f"needs the feature gate ImageVolume, which Kubernetes 1.{version} leaves off"
            yield warning(volume.origin, what, f"{_GATE}, or upgrade to 1.{_ON}")
