"""The pods of an interceptor have no privileges and no credentials."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import exactly, plan, rendered
from tests.support.stacks.varied_metering import metered


def pod(stack):
    return exactly(rendered(stack), "Deployment", "phoebe-interceptor")["spec"]["template"]["spec"]


@pytest.mark.parametrize("log", ["/var/lib/phoebe/metering-wal.jsonl", "/wal/metering/log"])
def test_pods_are_restricted_and_their_log_is_writable(log):
    """See phoebe 8.9, 1.5."""
    spec = pod(metered(deploy={"emit": {"walPath": log}}))
    (container,) = spec["containers"]
    assert isinstance(spec["securityContext"]["runAsUser"], int)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {item["mountPath"]: item for item in container["volumeMounts"]}
    (folder,) = (path for path in mounts if log.startswith(f"{path}/"))
    assert "readOnly" not in mounts[folder]
    volumes = {item["name"]: item for item in spec["volumes"]}
    assert "emptyDir" in volumes[mounts[folder]["name"]]
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsUser"]
    assert spec["terminationGracePeriodSeconds"] >= 75


def test_no_credential_is_in_any_object_and_settings_with_one_are_a_secret_of_the_user():
    """See phoebe 8.11."""
    everything = rendered(metered(deploy={"settingsSecret": "phoebe"}))
    volumes = {manifest["name"]: manifest for manifest in pod(metered(deploy={"settingsSecret": "phoebe"}))["volumes"]}
    assert volumes["settings"] == {"name": "settings", "secret": {"secretName": "phoebe"}}
    assert not [manifest for manifest in everything if manifest["kind"] in {"ConfigMap", "Secret"}]
    for dsn in ("redis://meter:hunter2@valkey:6379", "postgres://meter:hunter2@db/billing"):
        with pytest.raises(ConfigError) as error:
            plan(metered(deploy={"emit": {"valkeyAddr": dsn}}))
        assert "hunter2" not in str(error.value)
