"""Claims of serving pods: templates, the references of pods and containers, and when pods are replaced."""

import copy

import pytest

from manifests.assembly import objects as ordered
from manifests.assembly import render
from tests.support.stacks import plan, rendered, tree
from tests.support.stacks.shapes import engine, model_servers

GPU = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}
NIC = {"name": "nic", "deviceClassName": "mrdma.google.com"}
PAIRS = {
    "type": "resource-claim",
    "requests": [GPU, NIC],
    "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot", "requests": ["gpu", "nic"]}],
    "perDevice": True,
}
SPANNING = {"parallelism": {"tensor": 4, "pipeline": 2}}


def stack(allocation, **service):
    services = tree(qwen={"accelerator": "own", "parallelism": {"tensor": 4}, **service})
    return services | {"accelerators": {"own": {"vendor": "nvidia", "allocation": allocation, "devicesPerNode": 4}}}


def templates(objects):
    kind = "ResourceClaimTemplate"
    return {each["metadata"]["name"]: each["spec"]["spec"]["devices"] for each in objects if each["kind"] == kind}


def claims(template):
    """Return the templates of a pod's claims by name, after a look whether the engine gets all of them."""
    references = template["spec"].get("resourceClaims", [])
    names = [claim["name"] for claim in engine(template)["resources"].get("claims", [])]
    assert names == [reference["name"] for reference in references]
    return {reference["name"]: reference["resourceClaimTemplateName"] for reference in references}


def test_each_device_of_a_pod_has_a_claim_of_a_pair():
    objects = rendered(stack(PAIRS))
    ((name, devices),) = templates(objects).items()
    (template,) = model_servers(objects)
    assert claims(template) == {f"accelerators-{number}": name for number in range(4)}
    assert {request["name"]: request["exactly"]["count"] for request in devices["requests"]} == {"gpu": 1, "nic": 1}
    assert devices["constraints"] == PAIRS["constraints"]


def test_one_claim_has_all_devices_of_a_pod():
    objects = rendered(stack({**PAIRS, "perDevice": False, "requests": [GPU, {**NIC, "count": 2}]}))
    ((name, devices),) = templates(objects).items()
    (template,) = model_servers(objects)
    assert claims(template) == {"accelerators": name}
    assert [request["exactly"]["count"] for request in devices["requests"]] == [4, 2]


@pytest.mark.parametrize(("per_device", "names"), [(False, [""]), (True, ["-0", "-1", "-2", "-3"])])
def test_an_existing_template_is_used_as_it_is(per_device, names):
    objects = rendered(stack({"type": "resource-claim", "template": "existing", "perDevice": per_device}))
    (template,) = model_servers(objects)
    assert templates(objects) == {}
    assert claims(template) == {f"accelerators{name}": "existing" for name in names}
    assert "checksum/claim" not in template["metadata"].get("annotations", {})


def test_both_pods_of_a_group_have_their_claims():
    pod = {"claims": {"channel": {"template": "channel"}}}
    objects = rendered(stack({"type": "resource-claim", "deviceClassName": "gpu"}, **SPANNING, pod=pod))
    leader, worker = model_servers(objects)
    assert claims(leader) == claims(worker) == {"accelerators": "qwen-decode", "channel": "channel"}


def test_claims_stand_beside_devices_that_are_counted():
    pod = {"claims": {"nic": {"deviceClassName": "mrdma.google.com", "count": 2, "selectors": ["true"]}}}
    objects = rendered(tree(qwen={"pod": pod}))
    (template,) = model_servers(objects)
    assert claims(template) == {"nic": "qwen-decode.nic"}
    assert engine(template)["resources"]["limits"]["nvidia.com/gpu"] == "1"
    exactly = {
        "deviceClassName": "mrdma.google.com",
        "allocationMode": "ExactCount",
        "count": 2,
        "selectors": [{"cel": {"expression": "true"}}],
    }
    assert templates(objects) == {"qwen-decode.nic": {"requests": [{"name": "nic", "exactly": exactly}]}}


def test_a_set_with_a_claim_shares_no_template_with_a_set_that_is_called_like_both():
    """Without a dot, the claim b of the set a and the devices of the set a-b would have one template."""
    nic = {"claims": {"b": {"deviceClassName": "mrdma.google.com"}}}
    sets = {"a": {"accelerator": "nvidia", "pod": nic}, "a-b": {}}
    objects = rendered(stack({"type": "resource-claim", "deviceClassName": "gpu"}, decode={"sets": sets}))
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "ResourceClaimTemplate"]
    assert sorted(names) == ["qwen-decode-a-b", "qwen-decode-a.b"]


def test_claims_of_prefill_and_canary_are_their_own():
    nic = {"deviceClassName": "mrdma.google.com"}
    service = {
        "pod": {"claims": {"nic": nic}},
        "prefill": {"pod": {"claims": {"nic": {"count": 4}}}},
        "canary": {"weight": 10, "pod": {"claims": {"nic": {"count": 8}}}},
    }
    objects = rendered(tree(qwen=service))
    counts = {name: devices["requests"][0]["exactly"]["count"] for name, devices in templates(objects).items()}
    assert sorted(counts.values()) == [1, 4, 4, 8]


def test_pods_are_replaced_when_their_claims_change():
    service = {"pod": {"claims": {"nic": {"deviceClassName": "nic"}, "channel": {"template": "channel"}}}}
    changed, unchanged = copy.deepcopy(service), copy.deepcopy(service)
    changed["pod"]["claims"]["nic"]["count"] = 2

    def annotations(service):
        (template,) = model_servers(rendered(tree(qwen=service)))
        return template["metadata"]["annotations"]["checksum/claims"]

    assert annotations(changed) != annotations(service) == annotations(unchanged)


def test_templates_are_replaced_and_precede_the_pods():
    service = {"pod": {"claims": {"nic": {"deviceClassName": "nic"}}}}
    items = list(ordered(render(plan(tree(qwen=service)))))
    kinds = [item.manifest["kind"] for item in items]
    (template,) = [item for item in items if item.manifest["kind"] == "ResourceClaimTemplate"]
    assert template.replace
    assert kinds.index("ResourceClaimTemplate") < kinds.index("Deployment")
