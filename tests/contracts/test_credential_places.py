"""A credential is refused wherever text stands: in a stack, in the files below it, and in what `lint` judges."""

import json

import pytest
import yaml

from cli import lint
from models.config_keys import ROOT
from models.problems import ConfigError
from tests.support.commands import rendering
from tests.support.stacks import GATEWAY, SERVICE

CLEAR = "holds a credential in clear"
RANDOM = "Zx9Qm3Lk7Pw2"
SETTING = f"password={RANDOM}"
STACK = {"namespace": "models", "gateway": GATEWAY, "services": {"qwen": SERVICE}}
PROFILE = {"model": "org/m", "type": "optimized", "deviceCount": 1, "source": "a page"}
PLACES = {
    "a variable": {"engine": {"env": {"API_KEYS": RANDOM}}},
    "JSON in a variable": {"engine": {"env": {"LMCACHE_EXTRA_CONFIG": json.dumps({"remote": {"password": RANDOM}})}}},
    "YAML in a variable": {"engine": {"env": {"SETTINGS": f"remote: x\npassword: {RANDOM}\n"}}},
    "an argument": {"engine": {"args": [f"--hf-token={RANDOM}"]}},
    "JSON in an argument": {"engine": {"args": ["--x", json.dumps({"apiKeys": [RANDOM]})]}},
    "a query in an argument": {"engine": {"args": [f"--x=https://hub.example.com/?token={RANDOM}"]}},
    "a header": {"route": {"setHeaders": {"x-auth": RANDOM}}},
    "an annotation": {"pod": {"annotations": {"example.com/token": RANDOM}}},
    "a text in an annotation": {"pod": {"annotations": {"note": SETTING}}},
    "a label": {"labels": {"api-key": RANDOM}},
    "a variable in a patch": {"patch": {"spec": {"x": [{"name": "PGPASSWORD", "value": RANDOM}]}}},
    "an annotation in a patch": {"patch": {"metadata": {"annotations": {"note": SETTING}}}},
    "a key in a patch": {"patch": {"spec": {SETTING: 1}}},
    "a URL": {"engine": {"env": {"STORE": f"redis://:aa/{RANDOM}@cache:6379"}}},
    "a flag of the picker": {"endpointPicker": {"flags": {"api-tokens": RANDOM}}},
    "the picker's configuration": {"endpointPicker": {"config": {"plugins": [{"parameters": {"apiKeys": RANDOM}}]}}},
    "the name of a service": {},
}


def refusal(folder, monkeypatch, stack, platform=None, **files):
    """Return the lines of the error of a stack beside some files, by their names without end."""
    monkeypatch.chdir(folder)
    for name, tree in {"Pulumi": {"name": "inference-stacks"}, "stack": {"config": {ROOT: stack}}, **files}.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    if platform is not None:
        (folder / "platform.json").write_text(json.dumps(platform), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        rendering("stack.yaml", *([] if platform is None else ["--platform", "platform.json"]))
    assert RANDOM not in str(error.value)
    return str(error.value).splitlines()


@pytest.mark.parametrize("place", PLACES)
def test_a_credential_in_a_stack(place, tmp_path, monkeypatch):
    """See defects H13."""
    key = SETTING if place == "the name of a service" else "qwen"
    lines = refusal(tmp_path, monkeypatch, STACK | {"services": {key: SERVICE | PLACES[place]}})
    assert any("credential" in line for line in lines)


def test_a_credential_in_a_base_file(tmp_path, monkeypatch):
    """See defects H13."""
    base = {"defaults": {"engine": {"env": {"TOKENS": RANDOM}}}}
    (line,) = refusal(tmp_path, monkeypatch, STACK | {"extends": ["base.yaml"]}, base=base)
    assert line.startswith(f"defaults.engine.env.TOKENS: {CLEAR} (from base.yaml); ")


@pytest.mark.parametrize("model", [{"name": "org/m"}, SERVICE["model"]], ids=["selected", "not selected"])
def test_a_credential_in_a_profile_of_a_catalogue(model, tmp_path, monkeypatch):
    """See defects H13."""
    service = {"accelerator": "nvidia", "model": {"source": "hf://org/m"}, "engine": {"env": {"HFTOKEN": RANDOM}}}
    catalogue = {"shipped": False, "files": ["more.yaml"]}
    stack = STACK | {"catalogue": catalogue, "services": {"qwen": {"model": model, "accelerator": "nvidia"}}}
    (line,) = refusal(tmp_path, monkeypatch, stack, more={"profiles": {"mine": PROFILE | {"service": service}}})
    assert line.startswith(f"profiles.mine.service.engine.env.HFTOKEN: {CLEAR} (from more.yaml); ")


def test_a_credential_in_the_outputs_of_a_platform_is_never_shown(tmp_path, monkeypatch):
    """See defects H13. Every output of a platform has a form that no credential has."""
    gateway = GATEWAY | {"name": SETTING}
    platform = {"inferencePlatform": {"contractVersion": 1, "gateway": gateway}}
    stack = {key: value for key, value in STACK.items() if key != "gateway"}
    (line,) = refusal(tmp_path, monkeypatch, stack | {"platform": {"stack": "organization/platform/prod"}}, platform)
    assert line.startswith("gateway.name: is not a DNS name (from organization/platform/prod); ")


def test_a_credential_in_the_input_of_lint(tmp_path, capsys):
    """See defects H13."""
    text = f"plugins: [{{type: queue-scorer, parameters: {{apiKeys: {RANDOM}, note: '{SETTING}'}}}}]\n"
    (tmp_path / "picker.yaml").write_text(text, encoding="utf-8")
    lint.print_verdict(str(tmp_path / "picker.yaml"), "llm-d-0.10", None, ())
    printed = capsys.readouterr()
    remedy = "remove it; the configuration is a ConfigMap"
    assert RANDOM not in printed.out + printed.err
    assert [line for line in printed.err.splitlines() if CLEAR in line] == [
        f"warning: plugins[0].parameters.apiKeys: {CLEAR}; {remedy}",
        f"warning: plugins[0].parameters.note: {CLEAR}; {remedy}",
    ]
