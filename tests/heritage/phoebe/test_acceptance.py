"""The checklist of phoebe's interceptor, point by point, for what a stack renders."""

import itertools

import jsonschema_rs
import pytest
import yaml

from judging import validation
from manifests.assembly import objects, render
from models.problems import ConfigError
from planning.ground import parts
from planning.interceptor.resolution import resolve
from tests.contracts.invariants.trees import over
from tests.support.stacks import exactly, lines, plan, rendered, tree
from tests.support.stacks.otterscale import kind
from tests.support.stacks.varied_metering import DIGEST, HEADER_IMAGE, LABEL_IMAGE, METERED

ROLE = "phoebe-interceptor-services-inference-stacks.dev"
SETTINGS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["listenPort", "idleTimeout", "emit"],
    "properties": {
        "idleTimeout": {"pattern": "^[1-9][0-9]*s$"},
        "listenPort": {"type": "integer", "minimum": 1024, "maximum": 65535},
        "registry": {
            "type": "object",
            "additionalProperties": False,
            "required": ["strategy", "k8sNamespace"],
            "properties": {"strategy": {"const": "cached"}, "k8sNamespace": {"pattern": "^[a-z0-9-]{1,63}$"}},
        },
        "emit": {
            "type": "object",
            "additionalProperties": False,
            "required": ["streamName", "walPath"],
            "properties": {
                "valkeyAddr": {"pattern": "^[a-z0-9.-]+:[0-9]+$"},
                "streamName": {"type": "string", "minLength": 1},
                "walPath": {"pattern": "^/.+/.+$"},
            },
        },
    },
}
"""Keys that an image of the label line reads (phoebe 2.1); it ignores any other silently."""


def metered(mode="label", deploy=None, more=None, **services):
    """Return a stack with an interceptor that it deploys."""
    image = LABEL_IMAGE if mode == "label" else HEADER_IMAGE
    spec = {"mode": mode, "namespace": "metering", "deploy": {"image": image, **(deploy or {})}}
    services = services or {"qwen": {}, "bert": {}}
    return tree(**services) | {"defaults": {"endpointPicker": {"enabled": False}}, "interceptor": spec} | (more or {})


def pod(stack):
    return exactly(rendered(stack), "Deployment", "phoebe-interceptor")["spec"]["template"]["spec"]


def settings(stack):
    text = exactly(rendered(stack), "ConfigMap", "phoebe-interceptor")["data"]["settings.yaml"]
    return yaml.safe_load(text)


def test_8_1_and_8_2_a_role_in_the_models_namespace_lets_the_account_list_services():
    """See phoebe 8.1, 8.2, 4.1, 4.3."""
    everything = rendered(metered())
    role, binding = (exactly(everything, each, ROLE) for each in ("Role", "RoleBinding"))
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "models"
    ((rule,),) = (role["rules"],)
    assert (rule["apiGroups"], rule["resources"]) == ([""], ["services"])
    assert {"list"} <= {*rule["verbs"]} <= {"get", "list"}
    assert "resourceNames" not in rule
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "phoebe-interceptor", "namespace": "metering"}]
    assert not [each for each in everything if each["kind"].startswith("ClusterRole")]


def test_8_3_mode_header_has_no_rights_and_no_token():
    """See phoebe 8.3."""
    everything = rendered(metered("header"))
    assert not [each for each in everything if each["kind"] in {"Role", "RoleBinding"}]
    assert exactly(everything, "ServiceAccount", "phoebe-interceptor")["automountServiceAccountToken"] is False
    assert [pod(metered(mode))["automountServiceAccountToken"] for mode in ("label", "header")] == [True, False]


@pytest.mark.parametrize("secret", [False, True])
def test_8_4_the_deployment_follows_rights_and_settings_and_routes_follow_it(secret):
    """See phoebe 8.4, 4.4."""
    deploy = {"settingsSecret": "phoebe"} if secret else {}
    found = {each.id: each for each in objects(render(plan(metered(deploy=deploy, more={"networkPolicies": {}}))))}
    (deployment,) = (each for each in found.values() if each.id.part is parts.INTERCEPTOR)
    before = {each.part for each in deployment.after}
    config = set() if secret else {parts.INTERCEPTOR_CONFIG}
    assert before == config | {
        parts.INTERCEPTOR_ROLE_BINDING,
        parts.INTERCEPTOR_SERVICE_ACCOUNT,
        parts.INTERCEPTOR_NETWORK_POLICY,
    }
    for route in (each for each in found.values() if each.id.part is parts.ROUTE):
        after = {each.part for each in route.after}
        assert {parts.INTERCEPTOR, parts.INTERCEPTOR_SERVICE, parts.INTERCEPTOR_ROUTE_GRANT} <= after


def test_8_5_the_settings_fit_a_strict_schema_and_name_the_models_namespace():
    """See phoebe 8.5, 5.4, 2.1."""
    emit = {"valkeyAddr": "valkey.metering:6379", "streamName": "counted"}
    found = settings(metered(deploy={"emit": emit}))
    jsonschema_rs.validator_for(SETTINGS).validate(found)
    assert found["registry"] == {"strategy": "cached", "k8sNamespace": "models"}
    assert found["emit"] == {**emit, "walPath": "/var/lib/phoebe/metering-wal.jsonl"}
    assert found["listenPort"] == 8080
    by_header = settings(metered("header"))
    jsonschema_rs.validator_for(SETTINGS).validate(by_header)
    assert "registry" not in by_header


def test_8_5_other_settings_restart_the_pods():
    def checksum(**emit):
        deployment = exactly(rendered(metered(deploy={"emit": emit})), "Deployment", "phoebe-interceptor")
        return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    assert checksum() == checksum() != checksum(streamName="counted")


def test_8_6_and_8_7_each_id_is_that_of_one_service_which_the_interceptor_resolves():
    """See phoebe 8.6, 8.7, 7.1, 7.2."""
    stack = metered(
        qwen={"interceptor": {"resourceId": "chat-7f3a"}}, bert={}, free={"interceptor": {"enabled": False}}
    )
    stack["services"]["free"]["canary"] = {"weight": 10}
    services = kind(rendered(stack), "Service")
    for identity, name in (("chat-7f3a", "qwen"), ("bert", "bert")):
        assert resolve(services, identity, "models") == f"http://{name}.models.svc.cluster.local:8000"
        spec = exactly(services, "Service", name)["spec"]
        assert spec["type"] == "ClusterIP"
        assert [(each["name"], each["targetPort"]) for each in spec["ports"]] == [("8000", 8000)]
    carrying = [each for each in services if "saturncloud.io/service-type" in each["metadata"]["labels"]]
    assert len(carrying) == 2


@pytest.mark.parametrize("identity", ["org/model", "a b", "-x", "x-", "x" * 64])
def test_8_8_illegal_ids_are_refused(identity):
    """See phoebe 8.8, 5.7."""
    with pytest.raises(ConfigError, match=r"services\.qwen\.interceptor\.resourceId"):
        plan(metered(qwen={"interceptor": {"resourceId": identity}}))


@pytest.mark.parametrize("log", ["/var/lib/phoebe/metering-wal.jsonl", "/wal/metering/log"])
def test_8_9_pods_are_restricted_and_their_log_is_writable(log):
    """See phoebe 8.9, 1.5."""
    spec = pod(metered(deploy={"emit": {"walPath": log}}))
    (container,) = spec["containers"]
    assert isinstance(spec["securityContext"]["runAsUser"], int)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    (folder,) = (path for path in mounts if log.startswith(f"{path}/"))
    assert "readOnly" not in mounts[folder]
    volumes = {each["name"]: each for each in spec["volumes"]}
    assert "emptyDir" in volumes[mounts[folder]["name"]]
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsUser"]
    assert spec["terminationGracePeriodSeconds"] >= 75


def test_8_10_policies_let_requests_through_the_interceptor_alone():
    """See phoebe 8.10.

    Every flow is compared in tests/contracts/invariants/network.py.
    """
    stack = metered(deploy={"emit": {"valkeyAddr": "valkey.streams.svc:6379"}}, more={"networkPolicies": {}})
    policy = exactly(rendered(stack), "NetworkPolicy", "phoebe-interceptor")["spec"]
    asked = {each["ports"][0]["port"] for each in policy["egress"]}
    assert asked == {53, 443, 6379, 8000}
    assert [each["ports"] for each in policy["ingress"]] == [[{"protocol": "TCP", "port": 8080}]]
    model = exactly(rendered(stack), "NetworkPolicy", "qwen-decode")["spec"]
    spaces = [str(each["from"]) for each in model["ingress"]]
    assert len(spaces) == 1
    assert "inference-stacks.io/interceptor" in spaces[0]


def test_8_11_no_credential_is_in_any_object_and_settings_with_one_are_a_secret_of_the_user():
    """See phoebe 8.11."""
    everything = rendered(metered(deploy={"settingsSecret": "phoebe"}))
    volumes = {each["name"]: each for each in pod(metered(deploy={"settingsSecret": "phoebe"}))["volumes"]}
    assert volumes["settings"] == {"name": "settings", "secret": {"secretName": "phoebe"}}
    assert not [each for each in everything if each["kind"] in {"ConfigMap", "Secret"}]
    for dsn in ("redis://meter:hunter2@valkey:6379", "postgres://meter:hunter2@db/billing"):
        with pytest.raises(ConfigError) as error:
            plan(metered(deploy={"emit": {"valkeyAddr": dsn}}))
        assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("key", ["strategy", "layout", "conventionTemplate", "defaultUpstream"])
def test_8_12_what_guesses_addresses_is_no_word_of_a_stack(key):
    """See phoebe 8.12, 3.8."""
    stack = metered()
    stack["interceptor"][key] = "chain"
    with pytest.raises(ConfigError, match=rf"interceptor\.{key}: unknown key"):
        plan(stack)


def test_without_deploy_nothing_of_the_interceptor_is_made():
    """See phoebe 1.9."""
    stack = metered()
    del stack["interceptor"]["deploy"]
    names = {(each["kind"], each["metadata"]["name"]) for each in rendered(stack)}
    assert {place for place in names if "phoebe" in place[1]} == {("Role", ROLE), ("RoleBinding", ROLE)}
    (grant,) = (line for line in told(stack) if line.startswith("interceptor.namespace"))
    assert '"kind": "ReferenceGrant"' in grant


def told(stack):
    return lines(plan(stack).warnings, "warning")


def test_an_unknown_image_is_told_with_the_check_that_did_not_run():
    """See phoebe 7.5."""
    (line,) = (line for line in told(metered(deploy={"image": f"registry.example/meter@{DIGEST}"})) if "image" in line)
    assert line.startswith("interceptor.deploy.image: support for the mode went unchecked: the image is unknown")
    assert not [line for line in told(metered()) if "image" in line]


def test_who_sets_the_identity_is_told_until_every_route_sets_it():
    """See phoebe 1.3."""
    assert [line for line in told(metered()) if "X-Saturn-Auth-Id" in line and "gateways/gateway" in line]
    fixed = {"route": {"setHeaders": {"x-saturn-auth-id": "house"}}}
    assert not [line for line in told(metered(qwen=fixed)) if "X-Saturn-Auth-Id" in line]


def test_a_picker_that_gets_no_requests_and_a_service_without_a_route_are_told():
    """See phoebe 7.4.

    See defects A26.
    """
    stack = metered(qwen={"endpointPicker": {"enabled": True}}, bert={"route": {"enabled": False}})
    found = told(stack)
    assert [line for line in found if line.startswith("services.qwen.endpointPicker: gets no requests of the gateway")]
    assert [line for line in found if line.startswith("services.bert.interceptor: has no route to the interceptor")]


@pytest.mark.parametrize("mode", ["label", "header"])
def test_a_route_leads_to_the_interceptor_and_changes_what_the_contract_says(mode):
    """See phoebe 7.4, 1.3."""
    (rule,) = exactly(rendered(metered(mode)), "HTTPRoute", "qwen")["spec"]["rules"]
    (backend,) = rule["backendRefs"]
    assert (backend["kind"], backend["namespace"], backend["name"], backend["port"]) == (
        *("Service", "metering"),
        *("phoebe-interceptor", 8080),
    )
    kinds = [each["type"] for each in rule["filters"]]
    assert kinds == ["URLRewrite", "RequestHeaderModifier"]
    change = rule["filters"][1]["requestHeaderModifier"]
    set_headers = {each["name"]: each["value"] for each in change["set"]}
    upstream = {"X-Saturn-Upstream": "qwen.models.svc.cluster.local:8000"} if mode == "header" else {}
    assert set_headers == {"X-Saturn-Resource-Id": "qwen", **upstream}
    assert ("X-Saturn-Upstream" in change["remove"]) is (mode == "label")
    assert "X-Saturn-Auth-Id" not in [*change["remove"], *set_headers]
    assert "timeouts" not in rule


def test_a_canary_of_mode_header_is_asked_by_its_headers_and_billed_as_its_service():
    """See phoebe 3.10."""
    canary = {"canary": {"weight": 0, "headers": {"x-canary": "always"}}}
    canary_rule, rest = exactly(rendered(metered("header", qwen=canary)), "HTTPRoute", "qwen")["spec"]["rules"]
    found = [
        {each["name"]: each["value"] for each in rule["filters"][1]["requestHeaderModifier"]["set"]}
        for rule in (canary_rule, rest)
    ]
    assert [each["X-Saturn-Resource-Id"] for each in found] == ["qwen", "qwen"]
    assert [each["X-Saturn-Upstream"].partition(".")[0] for each in found] == ["qwen-canary", "qwen"]


@pytest.mark.parametrize("stack", METERED.values(), ids=METERED)
def test_all_objects_fit_the_schemas_of_their_kinds(stack):
    """See phoebe 1.9."""
    validation.check(objects(render(plan(stack))))
    changed = over(stack, {"labels": {"other": "label"}})
    pairs = zip(rendered(stack), rendered(changed), strict=True)
    assert all(itertools.starmap(lambda item, other: item["metadata"]["name"] == other["metadata"]["name"], pairs))
