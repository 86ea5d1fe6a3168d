"""A platform's outputs are the lowest layer of a stack; a secret among them is refused by name."""

import json

import pulumi
import pytest

from components import platform
from composition import Refusal, compose, sources
from composition.sources import Configuration
from composition.target import Given
from models.load import load
from models.platform import PlatformOutputs, Reference
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.commands import rendering
from tests.support.program import begin
from tests.support.stacks import GATEWAY, NAME, tree

NAMED = {"platform": {"stack": "organization/platform/prod", "kubeconfig": "admin"}}
VALUES = {
    "contractVersion": 1,
    "gateway": GATEWAY,
    "cluster": {"name": "prod-eu", "domain": "cluster.eu"},
    "observability": {"metrics": {"type": "prometheus-operator", "labels": {"release": "prometheus"}}},
    "storageClassName": "shared-nfs",
}


def without_gateway():
    return {key: value for key, value in tree().items() if key != "gateway"}


def outputs(**changed):
    return PlatformOutputs({"inferencePlatform": VALUES | changed, "admin": "kubeconfig of prod"}, frozenset({"admin"}))


def stack(tree_of_stack, **changed):
    """Return the stack of a tree on a platform."""
    return load(tree_of_stack, (), sources.read(Configuration(tree_of_stack), (), outputs(**changed)).sources).finish()


def test_the_platform_gives_gateway_cluster_observability_and_storage_class():
    found, expected = stack(without_gateway() | NAMED), load(without_gateway() | NAMED | without_version()).finish()
    assert found == expected
    assert found.gateway is not None


def without_version():
    return {key: value for key, value in VALUES.items() if key != "contractVersion"}


def test_every_file_is_above_the_platform(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text("{storageClassName: of-the-base, cluster: {domain: of-the-base}}")
    tree_of_stack = (
        tree() | NAMED | {"extends": ["base.yaml"], "cluster": {"name": "own"}, "observability": {"metrics": None}}
    )
    found = stack(tree_of_stack)
    assert (found.storage_class_name, found.cluster.domain, found.cluster.name) == ("of-the-base", "of-the-base", "own")
    assert found.observability.metrics.type == "none"


def test_null_removes_what_the_platform_says():
    assert stack(without_gateway() | NAMED | {"gateway": None}).gateway is None


def test_a_base_may_name_the_platform(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(json.dumps(NAMED | {"storageClassName": "of-the-base"}))
    tree_of_stack = {"extends": ["base.yaml"], "platform": {"output": "other"}}
    assert Configuration(tree_of_stack).platform == Reference("organization/platform/prod", "other", "admin")
    assert Configuration(tree_of_stack | {"platform": None}).platform is None
    assert Configuration({"extends": ["nosuch.yaml"]} | NAMED).platform is None


def test_a_mistaken_value_is_told_with_the_stack_it_is_from():
    tree_of_stack = without_gateway() | NAMED
    refusal = compose(tree_of_stack, Given(NOTHING_READ), NAME, platform=outputs(storageClassName=True))
    assert isinstance(refusal, Refusal)
    assert str(refusal.error).startswith("storageClassName: is a boolean (true, from organization/platform/prod);")


def test_render_takes_the_outputs_from_a_file(tmp_path):
    (tmp_path / "Pulumi.prod.yaml").write_text(json.dumps({"config": {"inference-stacks:stack": tree() | NAMED}}))
    stated = {"config": {"inference-stacks:stack": tree() | without_version()}}
    (tmp_path / "Pulumi.plain.yaml").write_text(json.dumps(stated))
    written = {"inferencePlatform": VALUES, "admin": "[secret]"}
    (tmp_path / "platform.json").write_text(json.dumps(written))
    name = ("--as", "inference-stacks/prod")
    on_platform = rendering(tmp_path / "Pulumi.prod.yaml", *name, "--platform", str(tmp_path / "platform.json"))
    assert on_platform == rendering(tmp_path / "Pulumi.plain.yaml", *name)
    assert "shared-nfs" in on_platform or "prometheus" in on_platform


class Stacks(pulumi.runtime.Mocks):
    """Answers the reads of references with the outputs of a platform; numbers are fractions, as the engine has them."""

    def new_resource(self, args):
        found = {"inferencePlatform": VALUES | {"contractVersion": 1.0}, "admin": "kubeconfig of prod"}
        return args.resource_id, {"name": args.name, "outputs": found, "secretOutputNames": ["admin"]}

    def call(self, _args):
        return {}


@pytest.mark.parametrize("kubeconfig", ["admin", "nosuch", None])
def test_outputs_are_read_through_the_engine(kubeconfig):
    begin(Stacks(), project="inference-stacks", stack="dev")
    found = {}

    @pulumi.runtime.test
    async def body():
        named = Reference("organization/platform/prod", "inferencePlatform", kubeconfig)
        found["outputs"] = await platform.read(named)
        found["kubeconfig"] = found["outputs"].kubeconfig(named)

    body()
    assert found["outputs"].values["inferencePlatform"] == VALUES
    assert type(found["outputs"].values["inferencePlatform"]["contractVersion"]) is int
    assert found["outputs"].secrets == ({"admin"} if kubeconfig == "admin" else set())
    assert found["kubeconfig"] == ("kubeconfig of prod" if kubeconfig == "admin" else None)
