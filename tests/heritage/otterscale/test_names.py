"""OtterScale's ModelService, names and ownership: that we have none of its weaknesses.

Names begin with the weakness's id (N). `docs/deviations.md` lists where we differ on purpose.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.ground.names import names
from tests.support.stacks import rendered, tree
from tests.support.stacks.otterscale import kind
from tests.support.stacks.shapes import label, templates, told

SERVICE_NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
NAMESPACES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def derived(service_names):
    """Return every value that Kubernetes, Istio and LeaderWorkerSet make of a service's names."""
    workloads = [
        f"{service_names.base}{variant}-{role}" for variant in ("", "-canary") for role in ("decode", "prefill")
    ]
    yield from (
        service_names.base,
        service_names.decode,
        service_names.prefill,
        service_names.picker,
        *workloads,
        f"{service_names.base}-canary-epp",
    )
    yield from (f"{service_names.base}{variant}-ip-0123abcd" for variant in ("", "-canary"))
    yield from (f"{name}-999-4294967295" for name in workloads)


@given(service=SERVICE_NAMES | st.integers(1, 63).map("q".__mul__), namespace=NAMESPACES)
def test_n1_names_are_legal_with_every_suffix_that_is_put_behind_them(service, namespace):
    assert all(DNS_1035.fullmatch(name) for name in derived(names(namespace, service)))


def test_n1_a_service_of_sixty_characters_is_deployed():
    service = "q" * 60
    everything = rendered(tree(**{service: {"prefill": {}}}))
    labels = [*(manifest["metadata"]["labels"] for manifest in everything)]
    labels += [template["metadata"]["labels"] for template in templates(everything)]
    assert max(len(value) for group in labels for value in group.values()) <= 63
    assert (
        max(len(manifest["metadata"]["name"]) for manifest in everything if manifest["kind"] != "ClusterRoleBinding")
        <= 63
    )


def test_n1_a_long_account_of_the_interceptor_makes_no_label_too_long():
    stack = tree()
    stack["interceptor"] = {"mode": "label", "namespace": "metering", "serviceAccountName": f"{'a' * 62}.{'b' * 62}"}
    roles = [
        manifest
        for manifest in rendered(stack)
        if manifest["metadata"]["name"].endswith("-services-inference-stacks.dev")
    ]
    assert [manifest["kind"] for manifest in roles] == ["Role", "RoleBinding"]
    assert roles[1]["subjects"][0]["name"] == stack["interceptor"]["serviceAccountName"]
    for manifest in roles:
        assert all(re.fullmatch(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?", value)
                   for value in manifest["metadata"]["labels"].values())  # fmt: skip


NEAR = st.sampled_from(["q" * 33, "q" * 34, "q" * 62 + "a", "q" * 62 + "b", f"{'q' * 24}-{'q' * 30}", "q-q", "qq"])


@given(SERVICE_NAMES | NEAR, SERVICE_NAMES | NEAR)
def test_n2_different_services_have_different_names(service, other):
    assert (names("models", service).base == names("models", other).base) == (service == other)


@pytest.mark.parametrize("name", ["a.b", "a_b", "A-b", "0.6b", "-a", "a-", "é1", "a b"])
def test_n2_what_would_need_sanitising_is_refused(name):
    assert told(tree(**{name: {}}))[0].partition(":")[2].startswith(" is not a DNS-1035 label")
    (message,) = told(tree(qwen={"name": name}))
    assert message.startswith("services.qwen.name: is not a DNS-1035 label")


@given(NAMESPACES, SERVICE_NAMES, NAMESPACES, SERVICE_NAMES)
def test_n3_cluster_scoped_names_of_two_services_differ(namespace, service, other_namespace, other):
    first, second = names(namespace, service), names(other_namespace, other)
    same = (namespace, service) == (other_namespace, other)
    assert (first.picker_cluster_scoped == second.picker_cluster_scoped) == same


def test_n3_the_known_ambiguous_pair_has_a_binding_each():
    stack = tree(**{"b-c": {"namespace": "a"}, "c": {"namespace": "a-b"}})
    bindings = kind(rendered(stack), "ClusterRoleBinding")
    assert len({binding["metadata"]["name"] for binding in bindings}) == 2
    assert {binding["subjects"][0]["namespace"] for binding in bindings} == {"a", "a-b"}


@given(service=SERVICE_NAMES)
def test_n4_pool_route_and_service_have_one_base_of_which_istio_can_make_a_service(service):
    everything = rendered(tree(**{service: {}}))
    bases = {
        manifest["metadata"]["name"] for manifest in everything
        if manifest["kind"] in {"InferencePool", "HTTPRoute"}
        or (manifest["kind"] == "Service" and label(manifest, "app.kubernetes.io/component") == "model-server")
    }  # fmt: skip
    (base,) = bases
    assert DNS_1035.fullmatch(f"{base}-ip-0123abcd")
    (arguments,) = [
        workload["spec"]["template"]["spec"]["containers"][0]["args"] for workload in kind(everything, "Deployment")
        if workload["metadata"]["name"] == f"{base}-epp"
    ]  # fmt: skip
    assert arguments[0] == f"--pool-name={base}"


def test_n5_a_service_named_like_anothers_picker_is_refused_instead_of_taking_its_objects():
    (message,) = told(tree(**{"foo": {}, "foo-epp": {}}))
    assert "services.foo-epp: would make the same object as services.foo (Service models/foo-epp)" in message


def test_n6_a_service_that_goes_takes_only_what_it_made():
    remaining, both = (
        rendered(tree(a={"prefill": {}})),
        rendered(tree(a={"prefill": {}}, b={"prefill": {}, "replicas": 2})),
    )
    assert [other for other in both if other in remaining] == remaining
    assert all(
        other["metadata"]["name"].split(":")[-1].split("-")[0] == "b" for other in both if other not in remaining
    )
