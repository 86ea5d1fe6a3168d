"""`make up` prints a plan of its objects, and each warning of the engine once."""

from pathlib import Path

import pytest

from local import up
from local.errors import LocalError
from tests.support.runner import COMMANDS

ROOT = Path(__file__).parent.parent.parent


RENDERING = (*COMMANDS, "Pulumi.yaml", ".venv")
"""Files that a project has to have for its plan to be printed."""


PLAN = """\
Pulumi.dev.yaml describes 13 objects:
  Namespace                   models
  Deployment          models  qwen-decode
  Service             models  qwen
  ServiceAccount      models  qwen-epp
  Role                models  qwen-epp
  RoleBinding         models  qwen-epp
  ClusterRoleBinding          inference-stacks:models:qwen-epp
  ConfigMap           models  qwen-epp
  Service             models  qwen-epp
  InferencePool       models  qwen
  Deployment          models  qwen-epp
  DestinationRule     models  qwen-epp
  HTTPRoute           models  qwen"""


def test_the_plan_lists_kind_namespace_and_name():
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"name": "c"},
    }
    assert up._row(manifest) == ("Service", "b", "a")


def test_the_plan_of_an_object_without_a_namespace_has_none():
    assert up._row({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}) == ("Namespace", "", "a")


def test_the_plan_of_the_embedded_default_is_a_table_of_its_objects():
    assert up._object_table(up.render(ROOT)) == PLAN


def test_the_description_of_a_stack_file_names_the_releases_that_its_services_set(tmp_path):
    for name in RENDERING:
        (tmp_path / name).symlink_to(ROOT / name)
    service = "{model: {name: org/m, source: 's3://bucket/m'}, accelerator: cpu, release: gie-1.3}"
    stack = f"{{namespace: models, services: {{qwen: {service}}}}}"
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config:\n  inference-stacks:stack: {stack}\n")
    assert up.describe(tmp_path)["ownReleases"] == {"qwen": "gie-1.3"}


def test_the_plan_of_a_mistaken_stack_file_is_its_message(tmp_path):
    for name in RENDERING:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  inference-stacks:stack: {service: {}}\n")
    with pytest.raises(LocalError) as error:
        up.render(tmp_path)
    assert "service: unknown key (service); did you mean services?" in str(error.value).splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", None),
        ("Diagnostics:", None),
        ("  pulumi:pulumi:Stack inference-stacks-dev:", None),
        ("    pulumi:pulumi:Stack inference-stacks-dev  warning: gateways/g: there is no such Gateway", None),
        ("    warning: using pulumi-resource-kubernetes from $PATH at /tools", None),
        ("    warning: gateways/g: there is no such Gateway, so nobody will accept the routes of services.q", None),
        ("    warning: storage/s: there is no such class", "    warning: storage/s: there is no such class"),
        (" +  pulumi:pulumi:Stack dev created (4s) 4 warnings", " +  pulumi:pulumi:Stack dev created (4s)"),
        ("    pulumi:pulumi:Stack dev  error: no", "    pulumi:pulumi:Stack dev  error: no"),
    ],
)
def test_the_engine_says_each_warning_once_and_counts_none_that_is_hidden(line, expected):
    assert up.user_text(line) == expected
