"""Resources of two programs are compared without the fields that only the engine or one program sets."""

import json
from types import SimpleNamespace

from benchmarks import clusters

STATE = {"urn": "a", "inputs": {"x": 1}, "dependencies": ["c", "b"], "sourcePosition": "here", "aliases": []}


def test_planned_resources_are_compared_without_what_differs_anyway():
    steps = [{"urn": "a", "newState": STATE}, {"urn": "gone", "oldState": STATE}]
    engine = SimpleNamespace(run=lambda *_: SimpleNamespace(stdout=json.dumps({"steps": steps})))
    assert clusters.planned_resources(engine) == {
        "a": {"urn": "a", "inputs": {"x": 1}, "dependencies": ["b", "c"]},
    }


def test_a_project_links_the_program_and_has_the_configuration(tmp_path):
    plane = SimpleNamespace(kubeconfig=tmp_path / "kubeconfig")
    shared = clusters.BenchmarkCluster(tmp_path, {}, plane, SimpleNamespace())
    shared.program_engine("ours", {"namespace": "models"})
    project = tmp_path / "ours" / "project"
    assert {*clusters.PROGRAM, "Pulumi.yaml", ".venv", "Pulumi.dev.yaml"} == {file.name for file in project.iterdir()}
    written = json.loads((project / "Pulumi.dev.yaml").read_text())
    assert written == {"config": {"inference-stacks:stack": {"namespace": "models"}}}
    assert all((project / name).exists() for name in clusters.PROGRAM)
