"""Misuses of the routing sidecar."""

from tests.support.stacks import exactly, find, rendered
from tests.support.stacks.misuses import every_disaggregated_channel, pools, stack
from tests.support.stacks.otterscale import kind
from tests.support.stacks.shapes import every_rendering, flag, label, serving, sidecars, templates, told


def proxy(requested):
    (found,) = [sidecar for template in serving(rendered(requested)) for sidecar in sidecars(template)]
    return found


@every_rendering
def test_the_sidecar_is_a_native_one_of_decode_pods_alone(everything):
    """See upstream sidecar-1."""
    for template in templates(everything):
        assert "routing-proxy" not in [container["name"] for container in template["spec"]["containers"]]
        for sidecar in sidecars(template):
            assert sidecar["restartPolicy"] == "Always"
            assert label(template, "llm-d.ai/role") == "decode"
            (port,) = [each["containerPort"] for each in sidecar["ports"]]
            assert flag(sidecar, "--port") == str(port)


@every_disaggregated_channel
def test_the_sidecar_has_no_flag_that_its_line_has_not(release):
    """See upstream sidecar-2."""
    tls = {"tls": {"prefill": True, "certificate": "serving"}}
    found = {argument.partition("=")[0] for argument in proxy(stack(release, prefill={}, sidecar=tls))["args"]}
    older = {"--connector", "--vllm-port", "--prefiller-use-tls", "--prefiller-tls-insecure-skip-verify"}
    newer = {"--kv-connector", "--enable-tls", "--tls-insecure-skip-verify", "--inference-pool"}
    expected = {
        "llm-d-0.6": older | {"--inference-pool-namespace", "--inference-pool-name"},
        "llm-d-0.8": newer | {"--vllm-port"},
        "llm-d-0.9": newer | {"--model-server-port"},
        "llm-d-0.10": newer | {"--model-server-port"},
    }
    common = {"--port", "--secure-proxy", "--enable-ssrf-protection", "--pool-group"}
    assert found == common | expected[release]
    (message,) = told(stack(release, prefill={}, sidecar={"args": ["--connector=nixlv2"]}))
    assert message.startswith("services.qwen.sidecar.args: unknown key")


@every_disaggregated_channel
def test_the_sidecar_serves_what_the_gateway_speaks(release):
    """See upstream sidecar-3."""
    assert flag(proxy(stack(release, prefill={})), "--secure-proxy") == "false"
    assert "appProtocol" not in find(rendered(stack(release, prefill={})), "InferencePool", "qwen")["spec"]


@every_disaggregated_channel
def test_the_sidecar_may_read_the_pool_that_it_is_told(release):
    """See upstream sidecar-4."""
    requested = stack(release, prefill={})
    everything, sidecar = rendered(requested), proxy(requested)
    (pool,) = pools(everything)
    asked = (
        flag(sidecar, "--inference-pool")
        or f"{flag(sidecar, '--inference-pool-namespace')}/{flag(sidecar, '--inference-pool-name')}"
    )
    assert asked == f"{pool['metadata']['namespace']}/{pool['metadata']['name']}"
    assert flag(sidecar, "--pool-group") == pool["apiVersion"].partition("/")[0]
    (template,) = [each for each in serving(everything) if sidecars(each)]
    account = template["spec"]["serviceAccountName"]
    (binding,) = [each for each in kind(everything, "RoleBinding") if each["subjects"][0]["name"] == account]
    rules = exactly(everything, "Role", binding["roleRef"]["name"])["rules"]
    assert {resource for rule in rules for resource in rule["resources"]} == {"pods", "inferencepools"}
