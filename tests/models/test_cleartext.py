"""Values that are credentials by flag, by name or by shape are refused; harmless values that resemble them are not."""

import pytest

from models import cleartext
from models.paths import Path
from tests.support.stacks import mistakes, tree

SECRET = "hunter2-Correct"
CLEAR = "holds a credential in clear"
NAMES = (
    *("PASSWD", "DB_PASSWORD", "MYSQL_PWD", "SMTP_PASS", "SSH_PASSPHRASE", "HF_TOKEN", "TOKEN", "WANDB_KEY", "API_KEY"),
    *("OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "CREDENTIALS", "DB_CREDENTIALS", "CLIENT_SECRET"),
    *("SECRET", "SIGNING_KEY", "hf_token", "NGC_APIKEY", "AUTHORIZATION", "STRIPE_PRIVATE_KEY", "COSIGN_PASSWORD"),
)
SHAPES = (
    "postgres://phoebe:hunter2@db.example.com/models",
    "redis://:hunter2@cache:6379/0",
    "http://user:hunter2@proxy.example.com:3128",
    "host=db user=phoebe password=hunter2",
    "Endpoint=sb://x.example.com/;SharedAccessKey=hunter2hunter2",
    "authorization=Bearer%20hunter2hunter2",
    "api-key=hunter2hunter2",
    "Bearer abcdefghijklmnop0123",
    "hf_abcdefghijklmnopqrstuvwxyzabcdefgh",
    "sk-abcdefghijklmnopqrstuvwx",
    "sk-proj-abcdefghijklmnop",
    "sk-ant-api03-abcdefghijkl",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "glpat-abcdefghijklmnopqrst",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "nvapi-abcdefghijklmnopqrstuvwx",
    "xoxb-123456789012-abcdefghij",
    "dckr_pat_abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----",
)
HARMLESS = (
    *(("MAX_TOKENS", "4096"), ("MAX_TOKEN", "4096"), ("TOKENIZERS_PARALLELISM", "false"), ("EOS_TOKEN", "<|end|>")),
    *(("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"), ("HF_TOKEN_PATH", "/secrets/token"), ("HF_HUB_ENABLE_HF_TRANSFER", "1")),
    *(
        ("GOOGLE_APPLICATION_CREDENTIALS", "/var/secrets/key.json"),
        ("SSL_KEY", "/certificates/tls.key"),
        ("PWD", "/work"),
    ),
    *(("AWS_SHARED_CREDENTIALS_FILE", "/secrets/aws"), ("KEYRING_BACKEND", "file"), ("PYTHONHASHSEED", "0")),
    *(
        ("BYPASS", "on"),
        ("PASS_THROUGH", "on"),
        ("MONKEY", "see"),
        ("SORT_KEY", "name"),
        ("PUBLIC_KEY", "ssh-ed25519 AAAA"),
    ),
    *(("HF_TOKEN", "$(HUB)"), ("HUB", ""), ("API_KEY", ""), ("URL", "http://user@example.com:8080/a@b")),
    *(
        ("DSN", "postgres://phoebe:$(HUB)@db/models"),
        ("PIP", "sk-learn"),
        ("TASK", "task-1"),
        ("CACHE", "/hf_home/hub"),
    ),
    *(("NO_PROXY", "localhost,10.0.0.0/8"), ("ENDPOINT", "http://minio:9000"), ("VLLM_LOGGING_LEVEL", "DEBUG")),
)
ARGUMENTS = (
    ["--api-key=hunter2-Correct"],
    ["--api-key", "hunter2-Correct"],
    ["--api_key=hunter2-Correct"],
    ["--api-key", "hunter2-Correct", "second"],
    ["--hf-token=hunter2-Correct"],
    ["--wandb-key", "hunter2-Correct"],
    ["--db-password=hunter2-Correct"],
    ["--model-loader-extra-config.api_key=hunter2-Correct"],
    ['--model-loader-extra-config={"aws_secret_access_key": "hunter2-Correct"}'],
    ["--otlp-headers=authorization=hunter2-Correct"],
    ["--tokenizer=https://user:hunter2-Correct@example.com/tokenizer"],
)
HARMLESS_ARGUMENTS = (
    *(["--hf-token"], ["--hf-token=$(HF_TOKEN)"], ["--max-num-batched-tokens=8192"], ["--return-tokens-as-token-ids"]),
    *(["--skip-tokenizer-init"], ["--tokenizer=org/tokenizer"], ["--enforce-eager"], ["--api-key=$(HF_TOKEN)"]),
    *(['--hf-overrides={"max_position_embeddings": 4096}'], ["--chat-template", "{{ eos_token }}"]),
)
AT = Path("services", "qwen", "engine", "env")
REFERENCE = {"HF_TOKEN": {"secretKeyRef": {"name": "hub", "key": "HF_TOKEN"}}}


def messages(service=None, **stack):
    """Return the lines of the error of a stack; none if it is accepted by the loader."""
    return mistakes(tree(qwen=service or {}) | stack)


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_is_refused_by_its_name(name):
    """See defects B1."""
    remedy = "put it into an existing Secret and write {secretKeyRef: {name: ..., key: ...}}"
    found = messages({"engine": {"env": {name: SECRET}}})
    assert found == [f"services.qwen.engine.env.{name}: {CLEAR}; {remedy}"]


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize(
    ("at", "service"),
    [
        ("engine.env.SOME", lambda text: {"engine": {"env": {"SOME": text}}}),
        ("route.annotations.note", lambda text: {"route": {"annotations": {"note": text}}}),
        ("pod.annotations.note", lambda text: {"pod": {"annotations": {"note": text}}}),
        ("model.region", lambda text: {"model": {"source": "s3://bucket/m", "name": "m", "region": text}}),
        ("engine.args[0]", lambda text: {"engine": {"args": [f"--some={text}"]}}),
        ("endpointPicker.flags.some", lambda text: {"endpointPicker": {"flags": {"some": text}}}),
        ("route.setHeaders.x-some", lambda text: {"route": {"setHeaders": {"x-some": text}}}),
        ("patch.metadata.annotations.note", lambda text: {"patch": {"metadata": {"annotations": {"note": text}}}}),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_value_is_refused_by_its_shape_wherever_it_stands(text, at, service):
    """See defects B1."""
    (line,) = messages(service(text))
    assert line.startswith(f"services.qwen.{at}: {CLEAR}")
    assert text not in line
    assert "hunter2" not in line


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_an_argument_is_refused_by_its_flag_and_by_its_value(arguments):
    """See defects B1."""
    for engine in ({}, {"type": "custom", "image": "registry.example/server:v1"}):
        (line,) = messages({"engine": {**engine, "args": arguments}})
        assert line.startswith("services.qwen.engine.args[")
        assert CLEAR in line
        assert "{secretKeyRef: {name: ..., key: ...}}" in line
        assert "hunter2" not in line


def test_the_remedy_of_a_flag_is_accepted():
    """See defects B1."""
    (line,) = messages({"engine": {"args": ["--api-key=hunter2-Correct"]}})
    assert line.endswith("add API_KEY: {secretKeyRef: {name: ..., key: ...}} to env, and write --api-key=$(API_KEY)")
    variable = {"API_KEY": {"secretKeyRef": {"name": "one", "key": "one"}}}
    assert messages({"engine": {"env": variable, "args": ["--api-key=$(API_KEY)"]}}) == []


@pytest.mark.parametrize(
    ("at", "service"),
    [
        ("route.setHeaders.Authorization", {"route": {"setHeaders": {"Authorization": SECRET}}}),
        ("route.matches[0].headers.x-api-key", {"route": {"matches": [{"headers": {"x-api-key": SECRET}}]}}),
        ("canary.headers.x-auth-token", {"canary": {"weight": 1, "headers": {"x-auth-token": SECRET}}}),
        ("endpointPicker.flags.api-token", {"endpointPicker": {"flags": {"api-token": SECRET}}}),
        (
            "endpointPicker.config.plugins[0].parameters.huggingFaceToken",
            {"endpointPicker": {"config": {"plugins": [{"parameters": {"huggingFaceToken": SECRET}}]}}},
        ),
        (
            "autoscaling.metrics[0].spec.metadata.password",
            {"autoscaling": {"metrics": [{"type": "custom", "spec": {"metadata": {"password": SECRET}}}]}},
        ),
        ("patch.containers[0].env[0]", {"patch": {"containers": [{"env": [{"name": "DB_PASSWD", "value": SECRET}]}]}}),
        ("patch.containers[0].args[0]", {"patch": {"containers": [{"args": [f"--api-key={SECRET}"]}]}}),
        ("storage.fill.env.WANDB_KEY", {"storage": {"type": "dedicated", "fill": {"env": {"WANDB_KEY": SECRET}}}}),
    ],
)
def test_a_value_is_refused_by_the_name_that_its_place_gives_it(at, service):
    """See defects B1."""
    lines = [line for line in messages(service) if CLEAR in line]
    assert [line.partition(": ")[0] for line in lines] == [f"services.qwen.{at}"]
    assert SECRET not in "".join(messages(service))


def test_a_credential_is_told_once_where_it_is_written():
    """See defects B1."""
    service = {"prefill": {}, "canary": {"weight": 1}}
    found = messages(service, defaults={"engine": {"env": {"WANDB_KEY": SECRET}}})
    assert [line.partition(": ")[0] for line in found] == ["defaults.engine.env.WANDB_KEY"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-num-batched-token=4096"],
        ["--max-num-batched-token", "4096"],
        ["--hf-token=12345"],
    ],
    ids=str,
)
def test_digits_alone_are_no_token(arguments):
    """See defects S1."""
    assert messages({"engine": {"args": arguments}}) == []


def test_digits_alone_may_be_a_password():
    assert len(messages({"engine": {"env": {"DB_PASSWORD": "123456"}}})) == 1


@pytest.mark.parametrize(
    "argument",
    [
        '--kv-events-config={"endpoint":"tcp://*:5556","topic":"kv@$(POD_IP)@model"}',
        "--peers=tcp://10.0.0.1:5557,tcp://me@10.0.0.2",
    ],
)
def test_a_url_ends_at_a_quotation_mark_and_at_a_comma(argument):
    """See defects S2."""
    env = {"POD_IP": {"fieldRef": "status.podIP"}}
    assert not any(CLEAR in line for line in messages({"engine": {"args": [argument], "env": env}}))
    assert len(messages({"engine": {"args": ["--store=redis://me:hunter2@10.0.0.2,10.0.0.3"]}})) == 1


@pytest.mark.parametrize(("name", "value"), HARMLESS)
def test_a_harmless_variable_is_accepted(name, value):
    """See defects B1."""
    assert messages({"engine": {"env": {**REFERENCE, name: value}}}) == []


@pytest.mark.parametrize("arguments", HARMLESS_ARGUMENTS, ids=str)
def test_a_harmless_argument_is_accepted(arguments):
    """See defects B1."""
    assert messages({"engine": {"args": arguments, "env": REFERENCE}}) == []


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"template": {"spec": {"tolerations": [{"key": "gpu", "value": "x"}]}}}},
        {"spec": {"template": {"spec": {"volumes": [{"name": "x", "secret": {"secretName": "one"}}]}}}},
        {"spec": {"template": {"metadata": {"annotations": {"ingress/auth-secret": "basic-auth"}}}}},
        {"spec": {"template": {"spec": {"topologySpreadConstraints": [{"topologyKey": "zone"}]}}}},
    ],
)
def test_names_of_secrets_and_keys_of_kubernetes_are_accepted(patch):
    """See defects B1."""
    assert messages({"patch": patch, "pod": {"topologySpreadConstraints": [{"topologyKey": "zone"}]}}) == []


@pytest.mark.parametrize("text", SHAPES)
def test_a_message_hides_a_credential(text):
    """See defects B1."""
    wrong = {"replica": {text: text}, "engine": {"imagePullPolicy": text}, "health": {"interval": text}}
    assert text not in "\n".join(messages(wrong, release=text, namespace=text))


def in_clear(env):
    return [str(problem) for problem in cleartext.problems({"services": {"qwen": {"engine": {"env": env}}}})]


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "TOKEN",
        "DB_PASSWORD",
        "CLIENT_SECRET",
        "VLLM_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "SSH_PRIVATE_KEY",
        "hf_token",
    ],
)
def test_a_credential_in_clear_is_refused_and_never_echoed(name):
    (problem,) = in_clear({name: "hunter2$(hunter3)"})
    assert problem == (
        f"{AT}.{name}: holds a credential in clear; "
        "put it into an existing Secret and write {secretKeyRef: {name: ..., key: ...}}"
    )


@pytest.mark.parametrize("value", [REFERENCE["HF_TOKEN"], "", "$(OTHER)"])
def test_a_credential_by_reference_is_accepted(value):
    assert in_clear({"HF_TOKEN": value, "OTHER": REFERENCE["HF_TOKEN"]}) == []


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "SECRETARY", "KEY", "MYTOKEN"])
def test_a_name_that_only_resembles_a_credential_is_accepted(name):
    assert in_clear({name: "one"}) == []


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        (f"cd /x && vllm serve a/b --api-key {SECRET} --seed 1", True),
        (f"hub login --token '{SECRET}'; vllm serve a/b", True),
        (f"vllm serve a/b \\\n  --api-key {SECRET} \\\n  --seed 1", True),
        ('vllm serve a/b --api-key "$KEY" --token `cat /x`', False),
        ("vllm serve a/b --api-key $(KEY) --max-num-batched-tokens 4096", False),
        ("curl -u admin:$PASSWORD https://hub.example.com/x", False),
    ],
)
def test_a_credential_behind_a_flag_of_a_script_is_refused(value, is_refused):
    command = {"services": {"qwen": {"engine": {"command": ["sh", "-c", value]}}}}
    assert [str(problem.path) for problem in cleartext.problems(command)] == [
        "services.qwen.engine.command[2]"
    ] * is_refused
    assert (in_clear({"ARGUMENTS": value}) != []) is is_refused


def test_a_number_among_arguments_hides_no_credential_beside_it():
    arguments = {"services": {"qwen": {"engine": {"args": ["--api-key", SECRET, 80]}}}}
    assert [str(problem.path) for problem in cleartext.problems(arguments)] == ["services.qwen.engine.args[1]"]
