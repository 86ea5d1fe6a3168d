"""The command `lock`: what it asks, what it writes, what it finds moved. The hub is a stand-in, as is the registry."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli import lock
from facts import source_sizes
from models import lock as locks
from models.problems import ConfigError
from tests.support import commands
from tests.support.commands import rendering
from tests.support.stacks import OF_CHANNEL
from tests.support.traffic.hub import Hub
from tests.support.traffic.registries import KIT, archive
from tests.support.traffic.sources import put, trust
from tests.support.traffic.weight_servers import serve

COMMITS = ["a1" * 20, "b2" * 20]
CONFIG = {
    "num_hidden_layers": 28,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "torch_dtype": "bfloat16",
}
ARCHITECTURE = {"layers": 28, "hiddenSize": 1024, "heads": 16, "kvHeads": 8, "headDim": 128, "dtype": "bfloat16"}
FILE = Path("inference.prod.lock.yaml")


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = serve()
    stand_in = Hub(server)
    stand_in.push("org/bert", COMMITS[0], CONFIG, **{"model.safetensors": 5 * 2**30, "model.onnx": 2**40})
    yield stand_in
    server.shutdown()
    server.server_close()


@pytest.fixture
def project(tmp_path, monkeypatch, registry, hub, moto, bucket, credentials):
    """Work in the folder of a project whose three services have weights of three kinds of sources."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", hub.server.url)
    trust(monkeypatch, moto)
    Path("Pulumi.yaml").write_text("name: inference-stacks\n", encoding="utf-8")
    push(registry, 3 * 2**30)
    write(registry, hub, moto)
    return tmp_path


def push(registry, size):
    """Push a ModelKit whose second layer has the configuration."""
    part = archive(**{"config.json": json.dumps(CONFIG).encode()})
    weights = size - len(part)
    registry.push("v1", [(f"{KIT}.model.v1.tar", weights), (f"{KIT}.modelpart.v1.tar", part)])


def write(registry, hub, moto, **changes):
    """Write the stack file."""
    models = {
        "bert": {"source": "hf://org/bert", "endpoint": hub.server.url},
        "llama": {"source": "s3://models/llama", "endpoint": moto, "region": "us-east-1"},
        "qwen": {"source": f"kit://{registry.server.host}/{registry.repository}:v1", "insecure": True},
    }
    stack = {
        "namespace": "models",
        "cluster": {"facts": {"type": "none"}, "name": "prod-eu"},
        "services": {
            key: {"model": {"name": f"org/{key}", **model}, "accelerator": "nvidia", "storage": {"type": "dedicated"}}
            for key, model in models.items()
        },
    }
    tree = {"config": {"inference-stacks:stack": {**stack, **changes}}}
    Path("Pulumi.prod.yaml").write_text(json.dumps(tree), encoding="utf-8")


def run(*updated, check=False):
    options = [argument for name in updated for argument in ("--update", name)]
    return command("prod", *options, *(["--check"] if check else []))


def command(*arguments):
    return commands.run(lock, *arguments)


def services():
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]


def without_check(block):
    return {key: value for key, value in block.items() if key not in {"check", "asked"}}


def test_the_lock_has_digest_bytes_and_architecture_of_each_source(project, registry, hub, moto):
    config = json.dumps(CONFIG).encode()
    put(moto, "llama/config.json", config)
    assert run() == 0
    blocks, kit = services(), f"kit://{registry.server.host}/{registry.repository}"
    assert without_check(blocks["bert"]) == {
        "was": "hf://org/bert",
        "source": f"hf://org/bert@{COMMITS[0]}",
        "bytes": 5 * 2**30 + len(json.dumps(CONFIG)),
        "architecture": ARCHITECTURE,
        "settings": {"endpoint": hub.server.url},
        "from": hub.server.url,
    }
    assert re.fullmatch("sha256:[0-9a-f]{64}", blocks["llama"].pop("digest"))
    assert without_check(blocks["llama"]) == {
        "was": "s3://models/llama",
        "source": "s3://models/llama",
        "bytes": 3200 + len(config),
        "architecture": ARCHITECTURE,
        "settings": {"endpoint": moto},
        "from": moto,
    }
    assert without_check(blocks["qwen"]) == {
        "was": f"{kit}:v1",
        "source": f"{kit}@{registry.digest('v1')}",
        "bytes": 3 * 2**30,
        "architecture": ARCHITECTURE,
        "from": registry.server.host,
    }
    assert all(re.fullmatch("20[0-9-]{8}T[0-9:]{8}Z", block["asked"]) for block in blocks.values())
    assert yaml.safe_load(FILE.read_text(encoding="utf-8"))["cluster"]["name"] == "prod-eu"


def test_a_second_lock_asks_nobody_and_has_the_same_bytes(project, monkeypatch):
    run()
    text = FILE.read_bytes()
    monkeypatch.setattr(source_sizes, "contents", lambda questions: refuse(list(questions)))
    assert run() == 0
    assert FILE.read_bytes() == text


def refuse(questions):
    assert questions == []
    return {}


def test_a_render_with_the_lock_asks_nobody(project, monkeypatch, registry, hub):
    run()
    monkeypatch.setattr(source_sizes, "sizes", lambda questions, _: refuse(list(questions)))
    objects = json.loads(rendering("prod", "--json"))["objects"]
    claims = [each for each in objects if each["kind"] == "PersistentVolumeClaim"]
    assert [each["spec"]["resources"]["requests"]["storage"] for each in claims] == ["6Gi", "1Gi", "4Gi"]


def jobs():
    """Return the names and command lines of the Jobs by service, as the lock lets them be."""
    objects = json.loads(rendering("prod", "--json"))["objects"]
    found = [each for each in objects if each["kind"] == "Job"]
    return {each["metadata"]["name"].partition("-")[0]: json.dumps(each) for each in found}


def move(service, registry, hub, moto):
    match service:
        case "bert":
            hub.push("org/bert", COMMITS[1], CONFIG, **{"model.safetensors": 5 * 2**30})
        case "llama":
            put(moto, "llama/config.json", b"y" * 10)
        case _:
            push(registry, 3 * 2**30 + 1)


@pytest.mark.parametrize("service", ["bert", "llama", "qwen"])
def test_a_source_that_moves_is_found_changes_nothing_and_then_that_service_alone(
    project, registry, hub, moto, capsys, service
):
    run()
    before, text = jobs(), FILE.read_bytes()
    assert run(check=True) == 0
    move(service, registry, hub, moto)
    assert run(check=True) == 1
    (line,) = [text for text in capsys.readouterr().err.splitlines() if OF_CHANNEL not in text]
    assert re.fullmatch(
        rf"services\.{service}\.model\.source: has moved since 20[^ ]+ \([^ ]+ to [^ ]+\); "
        rf"run `python -m cli lock prod --update {service}`, which rolls out the new content",
        line,
    )
    assert (run(), FILE.read_bytes(), jobs()) == (0, text, before)
    others = {"bert", "llama", "qwen"} - {service}
    assert run(*others) == 0
    assert FILE.read_bytes() == text
    assert run(service) == 0
    after = jobs()
    assert {key for key in before if before[key] != after[key]} == {service}
    assert services()[service]["moved"] is True
    assert run(check=True) == 0


def test_a_changed_source_is_stale_until_it_is_locked(project, registry, hub, moto, capsys):
    run()
    hub.push("org/roberta", COMMITS[1], CONFIG, **{"model.safetensors": 7})
    stack = json.loads(Path("Pulumi.prod.yaml").read_text(encoding="utf-8"))
    tree = stack["config"]["inference-stacks:stack"]
    tree["services"]["bert"]["model"] |= {"source": "hf://org/roberta", "size": "1Gi"}
    Path("Pulumi.prod.yaml").write_text(json.dumps(stack), encoding="utf-8")
    rendering("prod", "--json")
    stale = f"services.bert.model.source: differs from {FILE}, which has hf://org/bert; run `python -m cli lock prod`"
    assert f"warning: {stale}" in capsys.readouterr().err.splitlines()
    assert run(check=True) == 1
    assert capsys.readouterr().err.splitlines() == [stale]
    before = services()
    assert run() == 0
    after = services()
    assert after["bert"]["source"] == f"hf://org/roberta@{COMMITS[1]}"
    assert {key for key in before if before[key] != after[key]} == {"bert"}


def test_a_service_that_goes_takes_its_block_along(project):
    run()
    stack = json.loads(Path("Pulumi.prod.yaml").read_text(encoding="utf-8"))
    del stack["config"]["inference-stacks:stack"]["services"]["bert"]
    Path("Pulumi.prod.yaml").write_text(json.dumps(stack), encoding="utf-8")
    assert run() == 0
    assert list(services()) == ["llama", "qwen"]


def test_a_source_that_cannot_be_asked_keeps_its_pin_and_ends_with_1(project, hub, capsys):
    run()
    text = FILE.read_bytes()
    hub.token = "of-somebody-else"
    assert run("bert") == 1
    assert FILE.read_bytes() == text
    assert "access was denied to the user of this program; set HF_TOKEN" in capsys.readouterr().err
    assert run(check=True) == 1
    assert f"(locked as hf://org/bert@{COMMITS[0]})" in capsys.readouterr().err


def test_the_token_of_whoever_runs_this_opens_a_private_repository(project, hub, monkeypatch):
    hub.token = "mine"
    assert run() == 1
    assert "bert" not in services()
    monkeypatch.setenv("HF_TOKEN", "mine")
    assert run() == 0
    assert "bert" in services()
    assert "mine" not in FILE.read_text(encoding="utf-8")


def test_a_repository_that_is_not_there_is_a_mistake_of_its_path(project, hub, capsys):
    hub.repositories.clear()
    assert run() == 1
    assert capsys.readouterr().err.splitlines() == [
        "services.bert.model.source: is not on its hub (hf://org/bert); correct the name or the revision"
    ]


def test_the_lock_is_in_the_folder_of_the_program_wherever_the_stack_file_is(project, monkeypatch):
    """With `main: program` the engine runs it in that folder; with `--config-file` the name is the stack's."""
    folder = project / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert command("../Pulumi.prod.yaml") == 0
    content = (folder / FILE).read_text(encoding="utf-8")
    assert "stack: organization/inference-stacks/prod\n" in content
    Path("../Pulumi.prod.yaml").rename(project / "models.yaml")
    assert command("../models.yaml", "--as", "acme/inference-stacks/prod") == 0
    assert (folder / FILE).read_text(encoding="utf-8") == content.replace("organization/", "acme/")
    assert [path.name for path in folder.iterdir()] == [FILE.name]


def test_the_lock_of_a_component_is_where_its_program_looks_for_it(project):
    """Inference stacks beside each other are one Pulumi stack, and each has a lock."""
    options = ("--as", "acme/chat/prod", "--file", "locks/search.yaml")
    with pytest.raises(ConfigError, match=r"locks/search.yaml: does not exist; write it with .* --file locks/search"):
        command("prod", "--check", *options)
    assert command("prod", *options) == 0
    text = Path("locks/search.yaml").read_text(encoding="utf-8")
    assert "stack: acme/chat/prod\n" in text
    assert command("prod", "--check", *options) == 0
    assert command("prod", "--update", "bert", *options) == 0
    assert Path("locks/search.yaml").read_text(encoding="utf-8") == text
    assert not FILE.exists()


def test_an_unknown_block_is_refused_with_the_known_ones(project):
    with pytest.raises(ConfigError, match=r"--update: names no block of the lock \(bart\); known: bert, llama, qwen"):
        run("bart")


def test_a_check_needs_a_lock(project):
    with pytest.raises(ConfigError, match="--check: has no lock to compare with; run `python -m cli lock prod`"):
        run(check=True)


def test_a_stack_with_a_mistake_asks_nobody(project, registry, hub, moto, monkeypatch):
    write(registry, hub, moto, namespaces="models")
    monkeypatch.setattr(source_sizes, "contents", refuse)
    with pytest.raises(ConfigError, match="namespaces: unknown key"):
        run()
    assert not FILE.exists()


@pytest.mark.parametrize("check", [False, True])
def test_ambiguous_text_in_a_base_file_is_named(check, project, registry, hub, moto):
    run()
    Path("base.yaml").write_text("labels: {team: yes}\n", encoding="utf-8")
    write(registry, hub, moto, extends=["base.yaml"])
    with pytest.raises(ConfigError, match=r"^labels\.team: is a boolean in YAML 1\.1 \(yes, from base\.yaml\)"):
        run(check=check)


def edit(service, **changes):
    """Edit the block of a service as somebody does who can compute a check sum."""
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    block = document["services"][service]
    block |= changes
    block["check"] = locks._check(block)
    FILE.write_text(f"{yaml.dump(document, Dumper=locks._Dumper)}...\n", encoding="utf-8")


@pytest.mark.parametrize("mode", ["strict", "warn", "skip"])
def test_a_pin_of_another_source_is_refused_by_every_command_which_asks_nobody_and_writes_nothing(
    project, registry, hub, moto, monkeypatch, mode
):
    """See defects H1."""
    write(registry, hub, moto, checks={"lock": mode})
    run()
    edit("bert", source=f"hf://evil/backdoor@{COMMITS[1]}")
    text = FILE.read_bytes()
    monkeypatch.setattr(source_sizes, "contents", refuse)
    monkeypatch.setattr(source_sizes, "sizes", lambda questions, _: refuse(list(questions)))
    message = (
        f"services.bert.model.source: is pinned to another source (hf://org/bert to hf://evil/backdoor@{COMMITS[1]}, "
        f"from {FILE}); restore it from git, and let `python -m cli lock` alone write it"
    )
    for command in (run, lambda: run("bert"), lambda: run(check=True), lambda: rendering("prod", "--json")):
        with pytest.raises(ConfigError) as error:
            command()
        assert str(error.value) == message
        assert FILE.read_bytes() == text


@pytest.mark.parametrize(
    ("changes", "keys"),
    [({"bytes": 1}, "bytes"), ({"architecture": {**ARCHITECTURE, "layers": 1}}, "architecture.layers")],
)
def test_a_check_finds_numbers_that_no_server_confirms(project, capsys, changes, keys):
    """The commit is right, and the numbers of the model are not. See defects H1."""
    run()
    edit("bert", **changes)
    assert run(check=True) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"services.bert.model.source: has other values in {FILE} than at its server "
        f"({keys} of hf://org/bert@{COMMITS[0]}); run `python -m cli lock prod --update bert`"
    )
    assert run("bert") == 0
    assert run(check=True) == 0
