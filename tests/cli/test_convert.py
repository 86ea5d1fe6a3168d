"""The command `convert`: what goes where, and its exit codes."""

import io
import json
import random

import pytest
import yaml

from cli import commands, convert
from facts.regular_files import LARGEST_YAML
from migration import files
from tests.support.migration import CREDENTIALS, OBJECTS, SAMPLES, stored

OPERATOR = "tests/migration/samples/gold/min-companions.yaml"
HEAD = "apiVersion: model.otterscale.io/v1alpha1\nkind: ModelService\n"
SPEC = "spec: {model: {name: m, image: 'r/m:v1'}, accelerator: {type: nvidia}, decode: {}, engine: {}}\n"
CHAT = f"{HEAD}metadata: {{name: chat, namespace: ml}}\n{SPEC}"
PIECES = ("", "\t", "\x00", "{", "]", ": ", "- ", "&a ", "*a", "!!binary ", "---\n", "\u2028", "'", "[{", "0x", "<<: ")
"""Texts that break YAML, or make other YAML of it."""
TOKEN = "hf_" + "aB3dE6gH9j" * 4


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run the command on texts of files; the result has exit code, standard output and standard error."""

    def call(*texts, options=(), stdin=None):
        paths = [tmp_path / f"{number}.yaml" for number, _ in enumerate(texts)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = commands.main(["convert", *map(str, paths), *(["-"] if stdin is not None else []), *options])
        return code, *capsys.readouterr()

    return call


def test_the_configuration_goes_to_one_stream_and_the_notes_to_the_other(run):
    code, out, err = run(CHAT, options=("--with", OPERATOR))
    assert code == 0
    assert out.startswith("config:\n  inference-stacks:stack:\n")
    assert err.endswith("(--notes lists them)\n")
    assert "spec.model.image: differs: " in err


def test_something_lost_or_asked_for_is_exit_code_1(run):
    code, _, err = run(CHAT.replace("decode: {}", "decode: {invented: 1}"), options=("--with", OPERATOR))
    assert code == 1
    assert "spec.decode.invented: cannot be carried: this program does not know the field" in err
    code, _, err = run(CHAT)
    assert code == 1
    assert "1 to answer" in err


@pytest.mark.parametrize(
    "text", ["a: [", "", "3", "apiVersion: v1\nkind: Pod\n", "kind: ModelService\n", CHAT.replace("chat", "&a [*a]")]
)
def test_a_file_without_a_known_object_is_exit_code_2_with_its_name(run, text):
    code, out, err = run(text)
    assert (code, out) == (2, "")
    assert "0.yaml" in err
    assert "Traceback" not in err


def test_a_file_that_is_not_there_is_exit_code_2(capsys):
    assert commands.main(["convert", "/nowhere/chat.yaml"]) == 2
    assert "/nowhere/chat.yaml: cannot be read" in capsys.readouterr().err


def test_what_kubectl_lists_is_read_from_standard_input(run):
    items = [{"apiVersion": "v1", "kind": "Pod"}, *(raw.tree for raw in files.documents(CHAT, "a"))]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    code, out, err = run(stdin=text.encode())
    assert code == 1
    assert "      chat:\n" in out
    assert "- Pod 1: cannot be carried: no reader knows this kind\n" in err


@pytest.fixture
def printed(run):
    """Convert what kubectl prints; the result has exit code, configuration, and notes without file names and counts."""

    def call(text, *options):
        code, out, err = run(stdin=text.encode(), options=options)
        lines = [
            line.removeprefix("- ") for line in err.splitlines() if not line.endswith("dropped (--notes lists them)")
        ]
        return code, out, lines

    return call


def yaml_text(tree):
    return yaml.safe_dump(tree, sort_keys=False)


def object_of(name):
    return [raw.tree for raw in files.documents((SAMPLES / name).read_text(encoding="utf-8"), name)]


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("write", [yaml_text, json.dumps])
def test_what_an_api_server_adds_changes_nothing_and_is_never_printed(printed, run, name, write):
    trees = object_of(name)
    before = printed("---\n".join(map(yaml_text, trees)))
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"resourceVersion": ""},
        "items": list(map(stored, trees)),
    }
    assert printed(write(listed)) == before
    assert printed("---\n".join(yaml_text(stored(tree)) for tree in trees)) == before
    _, out, err = run(stdin=write(listed).encode(), options=("--notes",))
    assert not [credential for credential in CREDENTIALS if credential in out + err]
    assert CREDENTIALS[0] in write(listed)


def test_several_kinds_of_a_cluster_become_one_stack(printed):
    names = [name for name in OBJECTS if name != "modelservice-min.yaml"]  # an object of it has another sample's name
    trees = [stored(tree) for name in names for tree in object_of(name)]
    code, out, notes = printed(json.dumps({"apiVersion": "v1", "kind": "List", "items": trees}))
    tree = files.documents(out, "out")[0].tree["config"]["inference-stacks:stack"]
    assert code == 1
    assert len(tree["services"]) >= len(names)
    kinds = {"LLMInferenceService", "ModelService", "ZerfooInferenceService"}
    assert {note.partition("/")[0] for note in notes} >= kinds
    assert not [credential for credential in CREDENTIALS if credential in out + "".join(notes)]


@pytest.mark.parametrize("head", ["", "USER-SUPPLIED VALUES:\n", "COMPUTED VALUES:\n"])
def test_the_values_that_helm_prints_are_read(printed, head):
    text = (SAMPLES / "chart-values.yaml").read_text(encoding="utf-8")
    options = ("--from", "llm-d-modelservice", "-n", "ml")
    assert printed(head + text, *options) == printed(text, *options)
    assert not any("VALUES" in note for note in printed(head + text, *options)[2])


def test_a_cluster_without_objects_is_exit_code_2(run):
    code, out, err = run(stdin=b"apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: ''\n")
    assert (code, out) == (2, "")
    assert "-: has no document" in err


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * (LARGEST_YAML + 1)])
def test_standard_input_that_is_no_text_or_too_large_is_exit_code_2(run, content):
    assert run(stdin=content)[0] == 2


def test_the_configuration_can_go_to_a_file(run, tmp_path):
    path = tmp_path / "Pulumi.prod.yaml"
    _, out, _ = run(CHAT, options=("-o", str(path)))
    assert out == ""
    assert "chat:" in path.read_text(encoding="utf-8")
    code, _, err = run(CHAT, options=("-o", str(tmp_path)))
    assert code == 2
    assert "cannot be written" in err


def test_services_without_a_namespace_get_the_one_of_the_option(run):
    text = CHAT.replace(", namespace: ml", "")
    assert "namespace: search" in run(text, options=("-n", "search"))[1]
    _, out, err = run(text)
    assert "namespace: default" in out
    assert "no file names a namespace" in err


def test_several_documents_become_one_stack(run):
    other = CHAT.replace("name: chat, namespace: ml", "name: code, namespace: search")
    gateway = "httpRoute: {gatewayRef: {name: gw}}, decode: {}"
    _, out, _ = run(CHAT, other.replace("decode: {}", gateway), CHAT.replace("ml", "dev"))
    tree = files.documents(out, "out")[0].tree["config"]["inference-stacks:stack"]
    assert tree["namespace"] == "ml"
    assert list(tree["services"]) == ["chat", "code", "chat-dev"]
    assert tree["services"]["code"]["namespace"] == "search"
    assert tree["services"]["code"]["route"]["gateway"]["name"] == "gw"
    assert tree["services"]["chat-dev"]["name"] == "chat"
    assert tree["services"]["chat-dev"]["namespace"] == "dev"


def test_a_refused_value_is_commented_out_with_the_reason(run):
    code, out, err = run(CHAT.replace("engine: {}", "engine: {port: 99999}"), options=("--with", OPERATOR))
    assert code == 1
    assert "          # port: 99999\n" in out
    assert "services.chat.engine.port: cannot be carried: " in err
    assert "\n          port:" not in out


def test_all_fields_are_listed_on_demand(run):
    _, _, err = run(CHAT, options=("--notes",))
    assert "spec.model.name: carried as services.*.model.name" in err
    assert "kind: dropped: " in err


def test_a_rendering_that_serves_otherwise_is_exit_code_1(run, tmp_path):
    sources = files.documents(CHAT, "a"), files.documents(open(OPERATOR, encoding="utf-8").read(), "b")  # noqa: SIM115, PTH123
    objects = list(convert.convert(*sources).objects)
    path = tmp_path / "rendered.yaml"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    code, _, err = run(CHAT, options=("--with", OPERATOR, "--compare", str(path)))
    assert code == 0
    assert "0 differences" in err
    path.write_text(path.read_text(encoding="utf-8").replace('"replicas": 1', '"replicas": 2'), encoding="utf-8")
    code, _, err = run(CHAT, options=("--with", OPERATOR, "--compare", str(path)))
    assert code == 1
    assert "decode replicas: only theirs: 2" in err


def test_no_credential_goes_anywhere(run):
    env = f"engine: {{env: [{{name: HF_TOKEN, value: {TOKEN}}}], args: ['--api-key={TOKEN}', {TOKEN}]}}"
    text = CHAT.replace("engine: {}", env).replace("name: m,", f"name: {TOKEN}, {TOKEN}: 1,")
    code, out, err = run(text, options=("--notes",))
    assert code == 1
    assert TOKEN not in out + err
    assert "holds a credential in clear" in err


def test_files_with_broken_texts_are_never_a_mistake_of_the_program(run):
    source = random.Random(39)
    codes = set()
    for _ in range(150):
        text = CHAT
        for _ in range(source.randint(1, 5)):
            at = source.randrange(len(text))
            text = text[:at] + source.choice((*PIECES, TOKEN)) + text[at + source.randint(0, 6) :]
        code, out, err = run(text)
        codes.add(code)
        assert "Traceback" not in err, text
        assert TOKEN not in out + err, text
    assert codes == {1, 2}


def test_a_file_that_is_there_is_not_lost(run, tmp_path):
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text("precious", encoding="utf-8")
    code, out, err = run(CHAT, options=("-o", str(path)))
    assert (code, out, path.read_text(encoding="utf-8")) == (2, "", "precious")
    assert "exists already; name another file after -o, or remove it" in err
    code, _, _ = run(CHAT, options=("-o", str(tmp_path / "0.yaml")))
    assert (code, (tmp_path / "0.yaml").read_text(encoding="utf-8")) == (2, CHAT)


def test_standard_output_and_input_have_a_name(run, monkeypatch):
    assert run(CHAT, options=("-o", "-"))[1].startswith("config:\n")
    code, _, err = run(CHAT, options=("--with", "-"), stdin=CHAT.encode())
    assert code == 2
    assert "-: is named twice, and standard input can be read once; name it once" in err
    monkeypatch.setattr("sys.stdin", None)
    assert commands.main(["convert", "-"]) == 2


def test_a_service_without_a_namespace_stays_out_of_the_namespace_of_another_one(run):
    nameless = CHAT.replace("name: chat, namespace: ml", "name: code")
    for texts in ((CHAT, nameless), (nameless, CHAT)):
        _, out, err = run(*texts, options=("-n", "search"))
        tree = files.documents(out, "out")[0].tree["config"]["inference-stacks:stack"]
        namespaces = {key: service.get("namespace", tree["namespace"]) for key, service in tree["services"].items()}
        assert namespaces == {"chat": "ml", "code": "search"}
        assert "names no namespace" not in err
    _, _, err = run(CHAT, nameless)
    assert "1.yaml: differs: it names no namespace, and gets default; name it after --namespace" in err


def test_what_is_lost_of_a_part_of_a_field_counts(run):
    engine = "{name: main, image: 'a/b:1', command: [sh, -c, vllm serve acme/code]}"
    text = (
        "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata: {name: chat, namespace: ml}\n"
        f"spec: {{model: {{uri: 'hf://acme/chat'}}, template: {{containers: [{engine}]}}}}\n"
    )
    code, _, err = run(text)
    assert code == 1
    assert err.splitlines()[-1].startswith("1 cannot be carried, ")
