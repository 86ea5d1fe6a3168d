"""The bare program registers the same objects as this project's program, with the SDK's classes."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pulumi

from benchmarks import preview, stacks
from benchmarks.clusters import ROOT
from tests.support import program

FACTS = {"cluster": {"facts": {"type": "none"}}, "checks": {"preflight": "skip"}}


def test_the_bare_program_registers_what_ours_does(tmp_path, monkeypatch):
    tree = {**stacks.tree(1), **FACTS}
    shared = SimpleNamespace(plane=SimpleNamespace(kubeconfig=Path("tests/benchmarks/kubeconfig.yaml")))
    registrations = preview._registrations(shared, tree)
    ours = program.run(tree)
    (tmp_path / "registrations.json").write_text(json.dumps(registrations))
    monkeypatch.chdir(tmp_path)
    recorder = program.Recorder()
    program.begin(recorder)
    pulumi.runtime.set_all_config({"project:kubeconfig": "{}"}, [])

    @pulumi.runtime.test
    def body():
        runpy.run_path(str(ROOT / "benchmarks" / "bare.py"), run_name="__main__")

    body()
    assert {name: made.typ for name, made in recorder.made.items()} == {name: made.typ for name, made in ours.items()}
