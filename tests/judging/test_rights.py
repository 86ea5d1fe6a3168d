"""Rights that suffice to preview a stack, to deploy it or to see its status."""

import pytest

from cli.rights import of_composition
from composition import Composition, Given, compose
from judging.rights import Options, Purpose, Rights, judge
from planning.ground.cluster_facts import NOTHING_READ, Permissions
from tests.support.stacks import NAME, tree
from tests.support.stacks.dashboards import drawn

PULLED = {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "1Gi", "secrets": ["registry"]}
STACK = tree(
    qwen={
        "model": PULLED,
        "storage": {"type": "dedicated", "storageClassName": "fast"},
        "pod": {"priorityClassName": "high"},
    }
)
SCRAPED = {"observability": {"metrics": {"type": "prometheus-operator"}}}


def granted(purpose, stack=STACK, **options):
    """Return (namespace, group, resource, names, verb) of everything that a purpose gets."""
    composed = compose(stack, Given(NOTHING_READ), NAME)
    assert isinstance(composed, Composition), composed
    found = of_composition(composed, purpose, Options(**options))
    return {
        (place, group, resource, tuple(rule.get("resourceNames", ())), verb)
        for place, rules in found.rules.items()
        for rule in rules
        for group in rule.get("apiGroups", ["URL"])
        for resource in rule.get("resources", rule.get("nonResourceURLs"))
        for verb in rule["verbs"]
    }


def verbs(found):
    return {verb for *_, verb in found}


def secrets(found):
    return {(*each[:1], *each[3:]) for each in found if each[2] == "secrets"}


def test_a_preview_reads_only_what_the_stack_needs():
    found = granted(Purpose.PREVIEW)
    assert verbs(found) == {"get", "list"}
    assert ("", "", "namespaces", ("kube-system", "models"), "get") in found
    assert ("gateways", "gateway.networking.k8s.io", "gateways", ("gateway",), "get") in found
    assert ("", "gateway.networking.k8s.io", "httproutes", (), "list") in found
    assert ("", "storage.k8s.io", "storageclasses", (), "list") in found
    assert ("", "scheduling.k8s.io", "priorityclasses", (), "list") in found
    assert {("models", "", kind, (), "list") for kind in ("configmaps", "serviceaccounts")} <= found
    assert ("models", "apps", "deployments", (), "list") in found
    classes = {resource for _, _, resource, _, _ in granted(Purpose.PREVIEW, tree())}
    assert not classes & {"storageclasses", "priorityclasses", "secrets"}


def lists(place, *resources):
    """Return the rights to list some resources, which are written as `group/resource`."""
    return {(place, *resource.split("/"), (), "list") for resource in resources}


OF_EVERY_STACK = (
    "/events",
    "/persistentvolumeclaims",
    "/pods",
    "apps/deployments",
    "autoscaling/horizontalpodautoscalers",
    "batch/jobs",
    "coordination.k8s.io/leases",
    "gateway.networking.k8s.io/httproutes",
    "inference.networking.k8s.io/inferencepools",
    "keda.sh/scaledobjects",
    "leaderworkerset.x-k8s.io/leaderworkersets",
)
"""Resources from which the status of every stack is made, in its namespaces."""
GATEWAY = ("gateways", "gateway.networking.k8s.io", "gateways", ("gateway",), "get")


def test_a_status_lists_what_it_is_made_from_and_nothing_else():
    assert granted(Purpose.STATUS) == lists("models", *OF_EVERY_STACK) | lists("", "/nodes") | {GATEWAY}
    assert granted(Purpose.STATUS, secrets=True, dry_run=True) == granted(Purpose.STATUS)


def test_a_status_lists_the_same_of_every_stack_because_its_file_may_have_changed():
    groups = tree(qwen={"parallelism": {"pipeline": 2}})
    assert granted(Purpose.STATUS, groups) == granted(Purpose.STATUS)


def test_a_status_reads_the_named_secrets_of_the_gateway_if_asked_for_their_certificates():
    names = ("public-tls", "staff-tls")
    assert granted(Purpose.STATUS, certificates=names) - granted(Purpose.STATUS) == {
        ("gateways", "", "secrets", names, "get"),
        ("gateways", "cert-manager.io", "certificates", (), "list"),
    }
    assert granted(Purpose.PREVIEW, certificates=names) == granted(Purpose.PREVIEW)


def test_a_status_lists_the_services_among_which_an_interceptor_searches():
    metered = tree(qwen={"endpointPicker": {"enabled": False}})
    metered |= {"interceptor": {"mode": "label", "namespace": "models"}}
    assert granted(Purpose.STATUS, metered) - granted(Purpose.STATUS) == lists("models", "/services")


def test_a_status_reads_the_services_of_proxies_by_name():
    proxied = tree(qwen={"endpointPicker": {"proxy": {}}}, bert={})
    added = granted(Purpose.STATUS, proxied) - granted(Purpose.STATUS)
    assert added == {("models", "", "services", ("qwen-proxy",), "get")}


def test_a_status_reads_the_interceptor_in_another_namespace_whoever_deploys_it():
    metered = tree(qwen={"endpointPicker": {"enabled": False}})
    metered |= {"interceptor": {"mode": "label", "namespace": "meters"}}
    added = granted(Purpose.STATUS, metered) - granted(Purpose.STATUS)
    assert added == lists("meters", "/pods", "apps/deployments") | lists("models", "/services")


def test_a_status_reads_every_namespace_of_a_stack():
    stack = tree(qwen={}, bert={"namespace": "chat"})
    assert lists("models", *OF_EVERY_STACK) | lists("chat", *OF_EVERY_STACK) <= granted(Purpose.STATUS, stack)


def test_a_status_reads_logs_if_asked_for():
    assert granted(Purpose.STATUS, logs=True) - granted(Purpose.STATUS) == {("models", "", "pods/log", (), "get")}
    assert granted(Purpose.PREVIEW, logs=True) == granted(Purpose.PREVIEW)


OF_EVERY_VARIANT = (
    "/pods",
    "apps/deployments",
    "gateway.networking.k8s.io/httproutes",
    "inference.networking.k8s.io/inferencepools",
    "leaderworkerset.x-k8s.io/leaderworkersets",
)
"""Resources from which the variants of every stack are made, in its namespaces."""


def test_a_gate_lists_variants_and_nothing_else():
    stack = tree(qwen={}, bert={"namespace": "chat"})
    assert granted(Purpose.GATE, stack) == lists("models", *OF_EVERY_VARIANT) | lists("chat", *OF_EVERY_VARIANT)
    assert granted(Purpose.GATE, stack) < granted(Purpose.STATUS, stack)
    assert granted(Purpose.GATE, stack, secrets=True, dry_run=True, logs=True) == granted(Purpose.GATE, stack)


def test_nodes_are_listed_and_slices_where_pods_claim_devices():
    nodes, slices = (("", *kind, (), "list") for kind in (("", "nodes"), ("resource.k8s.io", "resourceslices")))
    claim = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    claiming = tree(qwen={"accelerator": "claimed"}) | {
        "accelerators": {"claimed": {"vendor": "nvidia", "allocation": claim}}
    }
    assert {nodes, slices} <= granted(Purpose.PREVIEW, claiming)
    assert {nodes, slices} & granted(Purpose.DEPLOY) == {nodes}


def test_quotas_are_listed_where_pods_are():
    stack = tree(qwen={}, bert={"namespace": "chat"})
    quotas = {each for each in granted(Purpose.PREVIEW, stack) if each[2] == "resourcequotas"}
    assert quotas == {(namespace, "", "resourcequotas", (), "list") for namespace in ("models", "chat")}
    assert quotas <= granted(Purpose.DEPLOY, stack)


def test_a_refresh_lists_what_pods_belong_to():
    listed = {
        ("models", *kind, (), "list")
        for kind in (("", "pods"), ("", "persistentvolumeclaims"), ("apps", "replicasets"))
    }
    assert listed <= granted(Purpose.PREVIEW)
    assert ("models", "apps", "replicasets", (), "list") not in granted(Purpose.STATUS)


def test_a_preview_has_no_secret_unless_asked_for():
    assert secrets(granted(Purpose.PREVIEW)) == set()
    assert secrets(granted(Purpose.PREVIEW, dry_run=True)) == set()
    assert secrets(granted(Purpose.PREVIEW, STACK | SCRAPED)) == set()
    assert secrets(granted(Purpose.PREVIEW, secrets=True)) == {("models", ("registry",), "get")}


def test_a_preview_writes_nothing_unless_it_asks_the_server():
    assert verbs(granted(Purpose.PREVIEW)) == {"get", "list"}
    assert verbs(granted(Purpose.PREVIEW, dry_run=True)) >= {"get", "list", "create", "patch"}
    assert "delete" not in verbs(granted(Purpose.PREVIEW, dry_run=True))


def test_a_deployer_holds_the_rights_that_the_stack_gives():
    found = granted(Purpose.DEPLOY, STACK | SCRAPED)
    assert ("", "rbac.authorization.k8s.io", "clusterroles", ("system:auth-delegator",), "bind") in found
    assert ("", "URL", "/metrics", (), "get") in found
    assert {("models", "", "pods", (), verb) for verb in ("get", "list", "watch")} <= found
    assert {("models", "apps", "replicasets", (), verb) for verb in ("list", "watch")} <= found
    assert {("models", "apps", "deployments", (), verb) for verb in ("create", "patch", "delete", "watch")} <= found


def test_a_deployer_may_preview():
    def widened(found):
        """Return rights with those of every name and of the whole cluster told for each place."""
        return {each for each in found if each[3] == ()}

    assert widened(granted(Purpose.PREVIEW)) <= widened(granted(Purpose.DEPLOY))


def test_rights_in_a_namespace_that_is_not_there_yet_hold_everywhere():
    found = granted(Purpose.DEPLOY, tree() | {"namespaceOptions": {"create": True}})
    assert {place for place, *_ in found} == {"", "gateways"}
    assert ("", "", "namespaces", (), "create") in found


def test_no_rule_repeats_a_wider_one():
    for purpose in Purpose:
        found = granted(purpose, STACK | SCRAPED, secrets=True)
        narrow = {each for each in found if each[0] or each[3]}
        for place, group, resource, names, verb in narrow:
            wider = {("", group, resource, (), verb), (place, group, resource, (), verb)}
            assert not (wider - {(place, group, resource, names, verb)}) & found


NEEDED = Rights({
    "": ({"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["models"], "verbs": ["get"]},),
    "models": ({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "patch"]},),
})  # fmt: skip
NAMESPACES = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
DEPLOYMENTS = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "patch"]}
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def lacking(whole, models, *, is_complete=True):
    return [str(each) for each in judge(NEEDED, Permissions({"": whole, "models": models}, is_complete))]


@pytest.mark.parametrize(
    ("whole", "models"),
    [
        ((EVERYTHING,), ()),
        ((NAMESPACES, DEPLOYMENTS), ()),
        ((NAMESPACES | {"resourceNames": ["models", "other"]},), (DEPLOYMENTS,)),
        ((NAMESPACES,), (DEPLOYMENTS | {"verbs": ["list"]}, DEPLOYMENTS | {"verbs": ["patch"]})),
    ],
)
def test_a_user_with_all_rights_gets_no_warning(whole, models):
    assert lacking(whole, models) == []


@pytest.mark.parametrize(
    ("whole", "models", "text"),
    [
        ((NAMESPACES,), (DEPLOYMENTS | {"verbs": ["patch"]},), "not allowed to list deployments in namespace models"),
        ((NAMESPACES,), (DEPLOYMENTS | {"resourceNames": ["qwen"]},), "to list deployments, patch deployments in"),
        ((NAMESPACES,), (DEPLOYMENTS | {"apiGroups": [""]},), "to list deployments, patch deployments in"),
        ((), (NAMESPACES, DEPLOYMENTS), "to get namespaces in the whole cluster"),
        ((NAMESPACES | {"resourceNames": ["other"]},), (DEPLOYMENTS,), "to get namespaces in the whole cluster"),
    ],
)
def test_a_missing_right_is_named(whole, models, text):
    (found,) = lacking(whole, models)
    assert text in found
    assert "rights STACK --for deploy" in found


def test_a_list_that_is_not_complete_proves_nothing():
    (found,) = lacking((), (), is_complete=False)
    assert "went unchecked" in found
    assert lacking((EVERYTHING,), (), is_complete=False) == []


def test_dashboards_need_config_maps_in_their_namespace_and_a_status_reads_nothing_there():
    stack = drawn({"namespace": "monitoring"}, qwen={})
    assert {found[2] for found in granted(Purpose.DEPLOY, stack) if found[0] == "monitoring"} == {"configmaps"}
    assert not {found for found in granted(Purpose.STATUS, stack) if found[0] == "monitoring"}
    assert {place for place, *_ in granted(Purpose.STATUS, stack)} == {
        place for place, *_ in granted(Purpose.STATUS, drawn({"namespace": "models"}, qwen={}))
    }


@pytest.mark.parametrize(
    ("scraper", "group", "resource"),
    [
        ("prometheus-operator", "monitoring.coreos.com", "prometheusrules"),
        ("gmp", "monitoring.googleapis.com", "rules"),
    ],
)
def test_rules_need_rights_to_their_own_kind_alone(scraper, group, resource):
    scraped = {"metrics": {"type": scraper}}
    without = STACK | {"observability": scraped}
    stack = STACK | {"observability": {**scraped, "rules": {}}}
    for purpose in (Purpose.PREVIEW, Purpose.DEPLOY):
        further = granted(purpose, stack) - granted(purpose, without)
        assert {place[:3] for place in further} == {("models", group, resource)}
