"""Servers that each command asks, and the identities that they see: recorded connections and requests, as a page."""

import argparse
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli import commands
from facts import hosts
from local import main as local
from tests.support.traffic import compared, world
from tests.support.traffic.world import BUCKET, IDENTITY, METADATA, MODELS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hosts.md"
NOBODY = "nobody"
GITLAB = "gitlab.acme.example"
REASONS = {
    BUCKET: "`s3://` on AWS",
    "minio.acme.example": "`s3://` with an endpoint that the environment names",
    "minio.example": "`s3://` with any other endpoint",
    "registry.acme.example": "`kit://` of a registry in Docker's configuration",
    "tokens.acme.example": "the server of tokens that this registry names",
    "registry.example": "`kit://` of any other registry",
    "tokens.example": "the server of tokens that this registry names",
    "layers.example": "the store to which a registry leads",
    "images.example": "`image://` and `oci://`, as `kit://`",
    "huggingface.co": "`hf://`",
    "hub.acme.example": "`hf://` with an endpoint that `HF_ENDPOINT` has",
    "hub.example": "`hf://` with any other endpoint",
    "cluster.acme.example:6443": "the cluster of the kubeconfig",
    "prometheus.acme.example": "the Prometheus of `--prometheus`; `gate` asks it about services that are deployed",
    "api.github.com": "the forge of the pipeline (`GITHUB_API_URL`)",
    "gitlab.acme.example": "the forge of the pipeline (`CI_API_V4_URL`)",
    METADATA: "`s3://` on AWS, if no file and no variable has an AWS identity: the machine's or the pod's is looked up",
}
"""Reason why each server is asked, in the order of the page. A server that is not here fails the test."""
SAMPLES = Path("tests/migration/samples/gold").resolve()
COMPOSING = ("diagram", "fit", "render", "rights", "status", "summarize", "upgrade")
OTHERS = {
    "affected": ["--since", "HEAD"],
    "comment": ["report.md", "--environment", "prod"],
    "convert": [str(SAMPLES / "min.yaml"), "--live"],
    "costs": ["gated", "--prometheus", "https://prometheus.acme.example"],
    "explain": ["chosen"],
    "facts": [],
    "gate": ["gated", "--prometheus", "https://prometheus.acme.example"],
    "lint": ["--release", "llm-d-0.10"],
    "lock": ["all"],
    "policy": ["all"],
    "reference": [],
    "schema": [],
}
"""Arguments of further commands. `all` stands for the stack with all sources."""
OPTIONS = {"rights": ["--for", "preview"], "summarize": ["--events", "events.json"], "upgrade": ["--to", "gie-1.3"]}
BY_HAND = {"down", "engine", "policy", "setup", "tools", "try", "up"}
"""Commands of `python -m local` that the page describes: they start programs of others."""


def storage(model):
    return {} if model["source"].startswith("image") else {"storage": {"type": "dedicated"}}


def write(folder, name, *keys):
    """Write the stack file of a stack with some of the sources."""
    services = {
        key: {"model": {"name": f"org/{key}", **model}, "accelerator": "nvidia", **storage(model)}
        for key, model in MODELS.items()
        if key in keys
    }
    gateway = {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2"}
    checks = {"preflight": "warn", "fit": "skip"}
    stack = {"namespace": "models", "gateway": gateway, "services": services, "checks": checks}
    _save(folder, name, stack)


def _save(folder, name, stack):
    text = json.dumps({"config": {"inference-stacks:stack": stack}})
    (folder / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")


def project(folder, authority):
    """Write a project whose user has an identity for everything, and return the variables of that user."""
    for stack in ("elsewhere", "metadata"):
        write(folder, stack, stack)
    write(folder, "all", *(MODELS.keys() - {"elsewhere", "metadata"}))
    write(folder, "aws", "aws")
    write(folder, "theirs", "theirs", "public", "strange")
    chosen = {"namespace": "models", "services": {"chat": {"model": {"name": "Qwen/Qwen3-32B"}}}}
    _save(folder, "chosen", chosen)
    gateway = {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2"}
    gated = {"namespace": "models", "gateway": gateway, "services": {"chat": compared.stack()}}
    gated["services"]["chat"] |= {"model": {"name": "org/m", "source": "pvc://weights/m"}, "accelerator": "nvidia"}
    _save(folder, "gated", gated | {"observability": {"metrics": {"type": "prometheus-operator"}}})
    (folder / "Pulumi.yaml").write_text("name: inference-stacks\n", encoding="utf-8")
    event = {"diagnosticEvent": {"severity": "error", "message": "the run stopped"}}
    (folder / "events.json").write_text(json.dumps(event), encoding="utf-8")
    (folder / "report.md").write_text("### one\n", encoding="utf-8")
    cluster = {"server": "https://cluster.acme.example:6443", "certificate-authority": str(authority)}
    kubeconfig = {
        "current-context": "acme",
        "contexts": [{"name": "acme", "context": {"cluster": "acme", "user": "me"}}],
        "clusters": [{"name": "acme", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": "of-my-kubeconfig"}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig), encoding="utf-8")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        **world.files(folder, authority),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "GITHUB_REPOSITORY": "acme/models",
        "GITHUB_REF": "refs/pull/7/merge",
    }


class Record:
    """Servers by command, and identities by server."""

    def __init__(self, tasks, **variables):
        with TemporaryDirectory() as folder, world.serve(Path(folder)) as servers:
            self._run(Path(folder), servers, tasks, variables)
            self.identities = servers.seen

    def _run(self, folder, servers, tasks, variables):
        environment = project(folder, servers.authority) | variables
        for arguments in (["init", "--quiet"], ["add", "."], [*AUTHOR, "commit", "--quiet", "-m", "all"]):
            subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)
        task = {"ports": servers.ports, "folder": str(folder), "log": str(folder / "log"), "commands": tasks}
        command = [sys.executable, "-m", "tests.support.traffic.watched"]
        subprocess.run(command, input=json.dumps(task), text=True, cwd=ROOT, env=environment, check=True)
        self.output = (folder / "output.txt").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines()]
        self.codes = {label: text for label, text in lines if text.startswith("exit ")}
        self.asked = {label: {server for key, server in lines if key == label} for label in tasks}
        self.asked = {label: {*servers} - {self.codes[label]} for label, servers in self.asked.items()}


AUTHOR = ("-c", "user.name=me", "-c", "user.email=me@acme.example")


def tasks(stack, *more):
    """Return the arguments of every command, by its name."""
    composing = {name: ["cli", name, stack, *OPTIONS.get(name, []), *more] for name in COMPOSING}
    others = {
        name: ["cli", name, *(stack if word == "all" else word for word in words)] for name, words in OTHERS.items()
    }
    return {**composing, **others, "the program": ["program", stack]}


@cache
def everything():
    """Return what all commands ask for a stack with all kinds of sources."""
    inner = {f"local {name}": ["local", name] for name in ("env", "status")}
    return Record(tasks("all") | inner, **IDENTITY)


@cache
def on_a_machine():
    """Return what is asked on a machine of GitLab in a cloud, by somebody without an identity for sources."""
    stacks = {stack: ["cli", "render", stack] for stack in ("aws", "theirs", "elsewhere", "metadata")}
    variables = {"CI_API_V4_URL": "https://gitlab.acme.example/api/v4", "GITLAB_TOKEN": "glpat_mine"}
    numbers = {"CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "7"}
    return Record(stacks | {"comment": tasks("all")["comment"]}, **variables, **numbers)


def rows():
    """Yield the rows of the page."""
    record = everything()
    gitlab = on_a_machine()
    asked = {**record.asked, "comment": record.asked["comment"] | gitlab.asked["comment"]}
    seen = {**gitlab.identities, **record.identities}
    for server, reason in REASONS.items():
        if server == METADATA:
            yield f"| `{server}` | {reason} | {NOBODY} | those that ask AWS |"
            continue
        names = sorted(name for name, servers in asked.items() if server in servers)
        identities = ", ".join(sorted(seen[server.partition(":")[0]]))
        yield f"| `{server}` | {reason} | {identities} | {', '.join(names)} |"
    silent = sorted(name for name, servers in asked.items() if not servers)
    yield f"| nobody | | | {', '.join(silent)} |"


@pytest.mark.exhaustive
def test_the_page_says_which_servers_are_asked_by_which_command_with_whose_identity(golden):
    """See defects H2, H5."""
    record, gitlab = everything(), on_a_machine()
    assert {server for servers in record.asked.values() for server in servers} == {*REASONS} - {METADATA, GITLAB}
    assert (gitlab.asked["comment"], gitlab.identities[GITLAB]) == ({GITLAB}, {"`GITLAB_TOKEN`"})
    table = "\n".join(["| Server | Why | Identity | Asked by |", "|---|---|---|---|", *rows()])
    text = PAGE.read_text(encoding="utf-8")
    golden(
        PAGE, re.sub(r"(<!-- hosts -->\n)[\s\S]*(<!-- end -->)", lambda found: f"{found[1]}{table}\n{found[2]}", text)
    )


@pytest.mark.exhaustive
def test_each_identity_is_seen_by_its_own_servers_alone():
    """See defects H2, H5."""
    seen = dict[str, set[str]]()
    for server, identities in everything().identities.items():
        for identity in identities:
            seen.setdefault(identity, set()).add(server)
    del seen[NOBODY]
    assert seen == {
        "`HF_TOKEN`": {"huggingface.co", "hub.acme.example"},
        "AWS identity": {BUCKET, "minio.acme.example"},
        "AWS session token": {BUCKET, "minio.acme.example"},
        "Docker's credentials": {"tokens.acme.example"},
        "token that Docker's credentials got": {"registry.acme.example"},
        "token that anybody gets": {"registry.example"},
        "token of the kubeconfig": {"cluster.acme.example"},
        "`GITHUB_TOKEN`": {"api.github.com"},
        "`PROMETHEUS_TOKEN`": {"prometheus.acme.example"},
    }


def test_every_command_is_recorded():
    parser = commands.parser()
    (action,) = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    assert {*action.choices} == {*COMPOSING, *OTHERS}
    assert {name for name, *_ in local.COMMANDS} == BY_HAND | {"env", "status"}


@pytest.mark.exhaustive
def test_every_command_did_its_work():
    """A command that fails early asks nobody. The stand-in of the cluster has nothing, and its readers say so."""
    codes = {name: code for name, code in everything().codes.items() if not name.startswith("local")}
    assert {name: code for name, code in codes.items() if code != "exit 0"} == {
        "convert": "exit 1",
        "facts": "exit 1",
        "gate": "exit 6",
        "status": "exit 4",
    }, everything().output


@pytest.mark.exhaustive
def test_the_metadata_of_a_machine_is_asked_only_if_aws_is():
    """See defects H5."""
    record = on_a_machine()
    assert record.asked["aws"] == {METADATA, BUCKET}
    assert METADATA not in record.asked["theirs"]
    assert record.identities[BUCKET] == {NOBODY}
    assert record.asked["metadata"] == set()
    assert "(link-local addresses and those of clouds' metadata are never asked)" in record.output


@pytest.mark.exhaustive
def test_a_server_that_nobody_expects_is_recorded_and_not_reached():
    """Control: the page has no such server, and the machine no such port."""
    record = on_a_machine()
    assert record.asked["elsewhere"] == {"elsewhere.example:5000"}
    assert "elsewhere.example" not in record.identities


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["option", "variable"])
def test_an_offline_run_contacts_nobody_and_says_what_went_unchecked(way):
    """See defects H5. A command whose only work is a request refuses."""
    arguments = (
        tasks("all")
        if way == "variable"
        else {
            name: [*words, "--offline"]
            for name, words in tasks("all").items()
            if name in {*COMPOSING, "costs", "explain", "gate", "lock"}
        }
    )
    variables = IDENTITY | ({hosts.OFFLINE: "true"} if way == "variable" else {})
    record = Record(arguments, **variables)
    assert {name: servers for name, servers in record.asked.items() if servers} == {}
    assert record.identities == {}
    assert record.output.count("s3://models/llama was checked: this run is offline") >= 3
    if way == "variable":
        assert f"{hosts.OFFLINE}: forbids requests, which publish a comment" in record.output
