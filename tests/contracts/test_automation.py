"""Ways of docs/automation.md that need no engine: rendered objects in a branch, and layers of Pulumi ESC."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from cli import commands
from tests.support.workflows import read, steps

ROOT = Path(__file__).parents[2]
GITOPS = ROOT / "examples/gitops"
ESC = ROOT / "examples/esc"
STEPS = {step["name"]: step["run"] for step in steps(read(GITOPS / "github.yaml")) if "name" in step}
KEY = "inference-stacks:stack"
SERVICE = f"model: {{name: org/m, source: 'hf://org/m@{'c1' * 20}'}}, accelerator: nvidia"
STACK = f"config: {{{KEY}: {{namespace: models, services: {{%s: {{{SERVICE}}}}}}}}}\n"


@pytest.fixture
def forge(tmp_path):
    """Return a function that runs steps of the workflow in a project with two stacks, and the forge's repository."""
    project = tmp_path / "project"
    project.mkdir()
    for path in (*(path for path in ROOT.glob("[a-z]*") if path.is_dir()), ROOT / "Pulumi.yaml", ROOT / ".venv"):
        (project / path.name).symlink_to(path)
    for name in ("dev", "prod"):
        (project / f"Pulumi.{name}.yaml").write_text(STACK % name, encoding="utf-8")
    server = tmp_path / "forge"
    repository = server / "acme/inference"
    subprocess.run(["git", "init", "--quiet", "--bare", str(repository)], check=True)
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TOKEN": "words",
        "GITHUB_SERVER_URL": f"file://{server}",
        "GITHUB_REPOSITORY": "acme/inference",
        "GITHUB_SHA": "c0ffee",
    }

    def run(number):
        folder = tmp_path / f"runner-{number}"
        folder.mkdir()
        for name in ("render", "push"):
            command = ["bash", "-e", "-c", STEPS[name]]
            environment = {**variables, "RUNNER_TEMP": str(folder)}
            done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        return folder

    return run, project, repository


def git(repository, *arguments):
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout


def rendered(file, capsys):
    """Return what the program renders a stack to."""
    assert commands.main(["render", str(file), "--as", f"inference-stacks/{file.stem.split('.')[-1]}"]) == 0
    return capsys.readouterr().out


@pytest.mark.real
def test_a_branch_gets_a_folder_with_the_objects_of_each_stack_and_a_commit_if_they_change(forge, capsys, tools):
    run, project, repository = forge
    assert_read_by_kustomize(tools, run(1) / "objects/dev")
    tree = {f"{stack}/{name}.yaml" for stack in ("dev", "prod") for name in ("kustomization", "objects")}
    assert {*git(repository, "ls-tree", "-r", "--name-only", "rendered").split()} == tree
    for stack in ("dev", "prod"):
        objects = git(repository, "show", f"rendered:{stack}/objects.yaml")
        assert objects == rendered(project / f"Pulumi.{stack}.yaml", capsys)
        assert f"name: {stack}-decode" in objects
    run(2)
    assert git(repository, "rev-list", "--count", "rendered") == "1\n"
    (project / "Pulumi.dev.yaml").write_text((STACK % "dev").replace("nvidia", "nvidia, replicas: 3"), encoding="utf-8")
    (project / "Pulumi.prod.yaml").unlink()
    run(3)
    assert git(repository, "log", "--format=%s", "rendered") == "Render c0ffee\nRender c0ffee\n"
    changed = git(repository, "diff", "--name-only", "rendered~1", "rendered")
    assert changed == "dev/objects.yaml\nprod/kustomization.yaml\nprod/objects.yaml\n"
    assert "+  replicas: 3" in git(repository, "diff", "rendered~1", "rendered", "--", "dev")
    assert "words" not in git(repository, "log", "-p", "rendered")


def assert_read_by_kustomize(tools, folder):
    """Assert that kustomize finds all objects of a folder, as they are."""
    command = [str(tools["kubectl"].path), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    objects, source = (
        sorted(yaml.load_all(text, yaml.CSafeLoader), key=lambda item: (item["kind"], item["metadata"]["name"]))
        for text in (done.stdout, (folder / "objects.yaml").read_text(encoding="utf-8"))
    )
    assert objects == source != []


def documents(name):
    return [*yaml.load_all((GITOPS / name).read_text(encoding="utf-8"), yaml.CSafeLoader)]


def test_argo_cd_and_flux_read_the_branch_and_the_folder_that_the_workflow_writes_and_delete_nothing():
    (application,) = documents("argo-cd.yaml")
    repository, kustomization = documents("flux.yaml")
    assert application["apiVersion"] == "argoproj.io/v1alpha1"
    source = application["spec"]["source"]
    assert (source["targetRevision"], source["path"]) == ("rendered", "prod")
    assert application["spec"]["syncPolicy"]["automated"] == {"prune": False, "selfHeal": True}
    assert repository["apiVersion"] == "source.toolkit.fluxcd.io/v1"
    assert (repository["spec"]["ref"], repository["spec"]["url"]) == ({"branch": "rendered"}, source["repoURL"])
    assert kustomization["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"
    assert (kustomization["spec"]["path"], kustomization["spec"]["prune"]) == ("./prod", False)
    reference = kustomization["spec"]["sourceRef"]
    assert reference == {"kind": repository["kind"], "name": repository["metadata"]["name"]}
    assert kustomization["metadata"]["namespace"] == repository["metadata"]["namespace"]


def patched(lower, higher):
    """Return a value with a JSON Merge Patch (RFC 7396), as ESC merges layers."""
    if not isinstance(higher, dict):
        return higher
    base = lower if isinstance(lower, dict) else {}
    values = {**base, **{key: patched(base.get(key), value) for key, value in higher.items()}}
    return {key: value for key, value in values.items() if value is not None}


def layer(name):
    return yaml.load((ESC / name).read_text(encoding="utf-8"), yaml.CSafeLoader)


def test_layers_of_esc_give_the_stack_that_base_files_give(tmp_path, capsys, monkeypatch):
    base, prod, file = (layer(name) for name in ("base.yaml", "prod.yaml", "Pulumi.prod.yaml"))
    assert prod["imports"] == ["inference/base"]
    assert file["environment"] == ["inference/prod"]
    trees = [base["values"]["pulumiConfig"][KEY], prod["values"]["pulumiConfig"][KEY], file["config"][KEY]]
    merged = patched(patched(trees[0], trees[1]), trees[2])
    assert merged["services"]["qwen"]["replicas"] == 4
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFERENCE_STACKS_ROOT", str(tmp_path))
    for name, tree in zip(("base.yaml", "upper.yaml"), trees, strict=False):
        Path(name).write_text(json.dumps(tree), encoding="utf-8")
    extending = {"extends": ["base.yaml", "upper.yaml"], **trees[2]}
    texts = []
    for name, tree in (("one", merged), ("two", extending)):
        Path(name).mkdir()
        path = Path(name) / "Pulumi.prod.yaml"
        path.write_text(json.dumps({"config": {KEY: tree}}), encoding="utf-8")
        texts.append(rendered(path, capsys))
    assert texts[0] == texts[1]
    assert "replicas: 4" in texts[0]


def test_a_stack_file_that_an_environment_wrote_is_read(tmp_path, capsys):
    """The last command of the page writes such a file."""
    tree = patched(layer("base.yaml")["values"]["pulumiConfig"], layer("prod.yaml")["values"]["pulumiConfig"])
    (tmp_path / "prod.yaml").write_text(json.dumps({"config": {KEY: tree[KEY]}}), encoding="utf-8")
    assert commands.main(["render", str(tmp_path / "prod.yaml")]) == 0
    assert "stack: inference-stacks.prod" in capsys.readouterr().out
