"""Credential plugins: what they are told, and failures that quote nothing of their output."""

import json
import traceback

import pytest

from facts import credential_plugin, kubeconfig
from facts.credential_plugin import PluginError
from facts.kubeconfig import Endpoint, Proxy, Tls
from tests.support.cluster.kubeconfigs import VERSION, base64_text, config, plugin


@pytest.mark.parametrize("script", ["echo secret", "echo '[\"secret\"]'", "echo secret >&2; exit 1"])
def test_a_plugin_that_fails_is_not_quoted(script, capfd):
    with pytest.raises(PluginError) as caught:
        credential_plugin.run(plugin({}, script=script)["exec"], None, {})
    assert "secret" not in "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())


def test_a_plugin_is_told_of_the_cluster_as_kubectl_tells_it(write_kubeconfig, pems, tmp_path, monkeypatch):
    """Expected is what `kubectl` passes."""
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    script = 'printf %s "$KUBERNETES_EXEC_INFO" > "$TOLD"; printf %s "$ANSWER"'
    user = plugin({"token": "right"}, script=script, provideClusterInfo=True)
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    fields = {"certificate-authority": "ca.pem", "tls-server-name": "api", "extensions": [extension]}
    fields["proxy-url"] = "http://proxy:3128"
    found = kubeconfig.endpoint(write_kubeconfig(config("https://127.0.0.1:9", user, **fields)))
    tls = Tls(pems.folder / "ca.pem", False, "api", None, None)
    assert found == Endpoint("https://127.0.0.1:9", tls, "Bearer right", Proxy("proxy", 3128, {}))
    cluster_info = {
        "server": "https://127.0.0.1:9",
        "proxy-url": "http://proxy:3128",
        "tls-server-name": "api",
        "certificate-authority-data": base64_text(pems.data("ca")),
        "config": {"audience": "a"},
    }
    assert json.loads((tmp_path / "told").read_text()) == {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": cluster_info},
    }


def test_a_plugin_that_needs_a_terminal_fails_without_it():
    with pytest.raises(PluginError, match="needs a terminal"):
        credential_plugin.run(plugin({"token": "right"}, interactiveMode="Always")["exec"], None, {})
