"""Three environments of one base: each takes what it leaves open, and each tells of a mistake in the base."""

import json

import pytest

from models.problems import ConfigError
from tests.support.commands import rendering
from tests.support.stacks import tree

BASE = tree(qwen={"replicas": 2}, bert={}) | {"labels": {"team": "search"}}
OWN = {
    "dev": {"services": {"bert": None, "qwen": {"replicas": 1}}, "gateway": None},
    "staging": {"labels": {"team": None, "tier": "two"}},
    "prod": {"services": {"qwen": {"replicas": 8, "prefill": {}}}},
}
BASES = {"dev": ["stacks/base.yaml"], "staging": ["stacks/base.yaml"], "prod": ["stacks/eu.yaml"]}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Make the folder of a program with three stack files; return a function that writes the base."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: inference-stacks")
    (tmp_path / "stacks/eu.yaml").write_text("{extends: [stacks/base.yaml], labels: {region: eu}}")
    for name, settings in OWN.items():
        stack = {"config": {"inference-stacks:stack": {"extends": BASES[name], **settings}}}
        (tmp_path / f"Pulumi.{name}.yaml").write_text(json.dumps(stack))

    def write(base):
        (tmp_path / "stacks/base.yaml").write_text(json.dumps(base))

    return write


def test_each_environment_is_the_base_and_what_it_says_itself(program):
    program(BASE)
    dev, staging, prod = (rendering(name) for name in OWN)
    assert "HTTPRoute" not in dev
    assert "bert" not in dev
    assert "team: search" in dev
    assert "tier: two" in staging
    assert "team: search" not in staging
    assert "region: eu" in prod
    assert "replicas: 8" in prod


@pytest.mark.parametrize("environment", OWN)
def test_a_typo_in_the_base_names_that_file_in_each(program, environment):
    program(BASE | {"obsevability": {}, "services": BASE["services"] | {"qwen": {"acelerator": "amd"}}})
    with pytest.raises(ConfigError) as error:
        rendering(environment)
    found = str(error.value).splitlines()
    assert "obsevability: unknown key (obsevability, from stacks/base.yaml); did you mean observability?" in found
    key = "services.qwen.acelerator"
    assert f"{key}: unknown key (acelerator, from stacks/base.yaml); did you mean accelerator?" in found
