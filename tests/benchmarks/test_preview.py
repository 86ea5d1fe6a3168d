"""The bare program registers what this project's program registers."""

from pathlib import Path
from types import SimpleNamespace

from benchmarks import preview, stacks


def test_the_registrations_of_the_bare_program_name_every_object(tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(Path("tests/benchmarks/kubeconfig.yaml").read_text())
    tree = {**stacks.tree(2), "cluster": {"facts": {"type": "none"}}, "checks": {"preflight": "skip"}}
    made = preview._registrations(SimpleNamespace(plane=SimpleNamespace(kubeconfig=kubeconfig)), tree)
    components = {component["name"]: component for component in made["components"]}
    assert components["s0"]["type"] == "inference-stacks:index:ModelServiceStack"
    assert components["s0-epp"]["inputs"]["image"]
    assert {*components["routing"]["inputs"]["paths"]} == {"s0", "s1"}
    names = {resource["name"] for component in made["components"] for resource in component["resources"]}
    after = {
        name for component in made["components"] for resource in component["resources"] for name in resource["after"]
    }
    assert after <= names
    assert made["awaited"].keys() == {"s0", "s1"}
