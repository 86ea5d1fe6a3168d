"""Code of model repositories, credentials as text, and Roles that permit everything."""

import pytest

from tests.support.policies import lines, raw

TOKEN = "hf_" + "aB3" * 10


def pod(args=(), env=(), command=()):
    container = {"name": "c", "image": "i", "args": list(args), "command": list(command), "env": list(env)}
    metadata = {"name": "p", "namespace": "n"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("args", "refused"),
    [
        (["--trust-remote-code"], True),
        (["--trust_remote_code"], True),
        (["--trust-remote-code=true"], True),
        (["--trust-remote-code", "True"], True),
        (["--trust-remote-code=false"], False),
        (["--no-trust-remote-code"], False),
        (["--trust-remote-codes"], False),
        (["-c", "exec vllm serve m --trust-remote-code"], True),
        (["--model=trust-remote-code"], False),
        ([], False),
    ],
)
def test_a_flag_that_trusts_code_is_found_in_every_spelling(args, refused):
    assert bool(lines(raw(pod(args)), "no-trust-remote-code")) is refused
    assert bool(lines(raw(pod(command=args)), "no-trust-remote-code")) is refused


@pytest.mark.parametrize(
    ("value", "refused"), [("true", True), ("1", True), ("false", False), ("0", False), ("", False)]
)
def test_a_variable_that_trusts_code_is_found(value, refused):
    judged = raw(pod(env=[{"name": "HF_TRUST_REMOTE_CODE", "value": value}]))
    assert bool(lines(judged, "no-trust-remote-code")) is refused


@pytest.mark.parametrize(
    ("args", "refused"),
    [
        (["--api-key=aB3dE6fG9hI2"], True),
        (["--api-key", "aB3dE6fG9hI2"], True),
        (["--api_key=aB3dE6fG9hI2"], True),
        (["--api-key=$(API_KEY)"], False),
        (["--hf-token", TOKEN], True),
        ([TOKEN], True),
        (["--password=letmein"], True),
        (["--token-file=/run/token"], False),
        (["--tls-key=/certs/tls.key"], False),
        (["--eos-token=aB3dE6fG9hI2"], False),
        (["--max-num-batched-tokens=16384"], False),
        (["--url=postgres://user:secret7@db/x"], True),
        (['--config={"apiKey": "aB3dE6fG9hI2"}'], True),
        (['--config={"mode": 3}'], False),
        (["--model", "org/model"], False),
    ],
)
def test_a_credential_among_arguments_is_found_by_name_or_shape(args, refused):
    printed = lines(raw(pod(args)), "no-credentials-in-args")
    assert bool(printed) is refused
    assert not any(secret in line for line in printed for secret in ("aB3dE6fG9hI2", TOKEN, "letmein", "secret7"))


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("HF_TOKEN", TOKEN, True),
        ("ANY", TOKEN, True),
        ("API_KEY", "aB3dE6fG9hI2", True),
        ("DB_PASSWORD", "letmein", True),
        ("API_KEY", "$(OTHER)", False),
        ("API_KEY", "", False),
        ("HOME", "/home/engine", False),
    ],
)
def test_a_credential_in_a_variable_is_found(name, value, refused):
    printed = lines(raw(pod(env=[{"name": name, "value": value}])), "no-credentials-in-args")
    assert bool(printed) is refused
    assert not any(value in line for line in printed if value)


def test_a_variable_from_a_secret_holds_no_text():
    reference = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    assert lines(raw(pod(env=[reference])), "no-credentials-in-args") == []


@pytest.mark.parametrize("field", ["apiGroups", "resources", "verbs", "nonResourceURLs"])
@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_a_star_in_any_field_of_a_role_is_refused(kind, field):
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "r"}, "rules": [rule]}
    assert lines(raw(role), "no-wildcards") == []
    rule[field] = ["*"]
    (line,) = lines(raw(role), "no-wildcards")
    assert f"rules[0] permits everything ({field}: '*')" in line
