"""Pods are held against the level and the version of Pod Security that their namespace enforces."""

import pytest

from judging.preflight import admission
from models.paths import Path
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.inventory import FactsOrigin, LiveNamespace, Namespaces
from planning.ground.needs import Excess, Needs, PodPrivileges

QWEN = Path("services", "qwen")
LEVEL, VERSION = "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/enforce-version"
PODS = PodPrivileges(
    (
        Excess("hostPort: 80", "privileged"),
        Excess("runAsUser: 0", "baseline", until=35),
        Excess("host: files.example", "privileged", since=34),
    ),
    "models",
    QWEN,
    "Deployment models/qwen-decode",
)
NOT = "services.qwen: pods of Deployment models/qwen-decode are not admitted in namespace models, whose level is"
REMOVE = "remove these settings, or"


def told(labels, version=None, pods=PODS, **needs):
    """Return what is said of pods in a namespace with labels, in a cluster of a version."""
    namespaces = Namespaces({} if labels is None else {"models": LiveNamespace(labels, {})})
    origin = None if version is None else FactsOrigin("cluster", version, "2026-11-25T00:00:00Z")
    facts = ClusterFacts(Unknown(""), namespaces=namespaces, origin=origin)
    return [str(problem) for problem in admission.judge(Needs(pods=(pods,), **needs), facts, "strict")]


@pytest.mark.parametrize(
    ("labels", "version", "of_version", "refused"),
    [
        ({LEVEL: "restricted"}, None, "", "hostPort: 80, host: files.example"),
        ({LEVEL: "restricted"}, "v1.36.3", "", "hostPort: 80, host: files.example"),
        ({LEVEL: "restricted"}, "v1.30.1-gke.7", " of Kubernetes 1.30", "hostPort: 80, runAsUser: 0"),
        (
            {LEVEL: "restricted", VERSION: "v1.34"},
            "v1.36.3",
            " of Kubernetes 1.34",
            "hostPort: 80, runAsUser: 0, host: files.example",
        ),
        ({LEVEL: "restricted", VERSION: "latest"}, "v1.36.3", "", "hostPort: 80, host: files.example"),
        ({LEVEL: "restricted", VERSION: "v1.99"}, "v1.33.0", " of Kubernetes 1.33", "hostPort: 80, runAsUser: 0"),
        ({LEVEL: "baseline"}, "v1.30.0", " of Kubernetes 1.30", "hostPort: 80"),
    ],
)
def test_the_rules_are_those_of_the_namespace_or_of_an_older_cluster(labels, version, of_version, refused):
    """See defects H10."""
    level = labels[LEVEL]
    remedy = f"{REMOVE} set {LEVEL}: privileged on the namespace"
    assert told(labels, version) == [f"{NOT} {level}{of_version} ({refused}); {remedy}"]


@pytest.mark.parametrize("labels", [None, {}, {LEVEL: "privileged"}, {LEVEL: "strict"}])
def test_a_namespace_without_a_level_or_with_the_widest_refuses_nothing(labels):
    assert told(labels, "v1.30.0") == []


def test_a_namespace_that_the_stack_creates_enforces_the_rules_of_the_cluster():
    """See defects H10."""
    rooted = PodPrivileges(PODS.excesses[1:2], *("models", QWEN, "Deployment models/qwen-decode"))
    created = {"created": frozenset({"models"})}
    remedy = f"{REMOVE} write namespaceOptions: {{create: false}}"
    assert told(None, "v1.34.2", rooted, **created) == [f"{NOT} restricted of Kubernetes 1.34 (runAsUser: 0); {remedy}"]
    assert told(None, "v1.35.0", rooted, **created) == []
    assert told(None, None, rooted, **created) == []
