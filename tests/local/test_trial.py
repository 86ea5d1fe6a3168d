"""`make try`: the stack as it is tried."""

import http.client
import io
import re
from types import SimpleNamespace

import pytest

from local import trial
from local.errors import LocalError
from local.report import Report
from local.vllm.deployments import EngineSelection
from tests.support import sample


@pytest.mark.parametrize(
    ("description", "others"),
    [
        ({"release": "llm-d-0.9"}, {}),
        (
            {"ownReleases": {"chat": "llm-d-0.9", "qwen.canary": "llm-d-0.8"}},
            {"services.chat.release": "gie-1.3", "services.qwen.canary.release": "gie-1.3"},
        ),
    ],
)
def test_all_services_and_canaries_are_tried_with_the_release_of_the_picker(description, others):
    """One picker runs on this machine. The configuration of a picker of another release might not start it."""
    assert trial._settings("gie-1.3", description) == {"release": "gie-1.3", **others}


ROUTE = {
    "kind": "HTTPRoute",
    "metadata": {"name": "chat", "namespace": "models"},
    "spec": {"parentRefs": [{"name": "gateway"}]},
}


def pod(name, address, **metadata):
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"nodeName": "node"},
        "status": {"podIP": address},
    }


@pytest.fixture
def trying(tmp_path, monkeypatch):
    """Return a trial whose gateway answers from a list of statuses and endpoints."""
    answers = []
    request = SimpleNamespace(
        command="curl", path="/", send=lambda: (answers[0][0] if len(answers) == 1 else answers.pop(0)[0], "text\n")
    )
    monkeypatch.setattr(trial.requests, "through", lambda *_: request)
    monkeypatch.setattr(trial, "REQUEST_SECONDS", 1.0)
    trying = trial.Trial(tmp_path, {}, tmp_path, EngineSelection())
    trying._proxies["models", "gateway"] = SimpleNamespace(ports={80: 8080})
    record = {"id": "1", "cluster": "outbound"}
    monkeypatch.setattr(trying, "_log_record", lambda _: record | {"endpoint": answers[0][1]})
    return trying, answers


def test_an_answer_of_a_pod_that_was_replaced_is_no_answer(trying, monkeypatch):
    running, answers = trying
    pods = [pod("going", "127.0.0.2", deletionTimestamp="now"), pod("new", "127.0.0.3")]
    monkeypatch.setattr(running, "_model_servers", lambda: pods)
    for endpoint in ("127.0.0.1:8000", "127.0.0.1:8000", "127.0.0.2:8000", "127.0.0.3:8000"):
        answers.append((http.client.OK, endpoint))
    assert running.ask([ROUTE]) == (
        "\n$ curl\ntext\n\nAnswered by  new on node, at 127.0.0.3:8000\nRouted to    outbound"
    )


def test_a_gateway_that_never_answers_is_an_error_with_its_last_answer(trying):
    running, answers = trying
    answers.append((503, ""))
    with pytest.raises(LocalError, match=r"^curl got the answer 503: text"):
        running.ask([ROUTE])


def test_the_sample_of_the_readme_is_that_of_simulated_model_servers():
    text = trial.FIRST.format(
        stack="dev", picker="the picker of GIE 1.3.0", release="gie-1.3", servers=trial._servers(EngineSelection())
    )
    assert text in sample.written(sample.TRY)


def engines(version):
    row = SimpleNamespace(name="chat", replicas=1, version=SimpleNamespace(name=version))
    return EngineSelection((row,), {"Deployment models/other": "its pods have the sidecar proxy"})


def test_engines_are_installed_after_those_of_an_earlier_run_have_ended(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(trial, "select", lambda _: engines("1.0"))
    monkeypatch.setattr(trial.ModelServers, "end", lambda _: calls.append("end"))
    monkeypatch.setattr(trial.ModelServers, "megabytes", lambda _: 5000.0)
    monkeypatch.setattr(trial, "check_memory", lambda _, freed: calls.append(freed))
    monkeypatch.setattr(trial.installation, "install", lambda name, _: calls.append(name))
    output = io.StringIO()
    selection = trial._prepare_engines({"objects": []}, tmp_path, Report(output))
    assert calls == [5000.0, "end", "1.0"]
    assert output.getvalue() == "Deployment models/other stays simulated: its pods have the sidecar proxy\n"
    assert trial._servers(selection).startswith("The model servers are vLLM 1.0 for CPUs with small models")


def test_engines_of_an_earlier_run_go_on_if_memory_is_too_little(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise LocalError("too little memory")

    ended = []
    monkeypatch.setattr(trial, "select", lambda _: engines("1.0"))
    monkeypatch.setattr(trial.ModelServers, "end", ended.append)
    monkeypatch.setattr(trial, "check_memory", refuse)
    with pytest.raises(LocalError, match="too little memory"):
        trial._prepare_engines({"objects": []}, tmp_path, Report(io.StringIO()))
    assert ended == []


def running_pods(trying, monkeypatch, number, **changes):
    """Return a trial with a Deployment of two pods, of which a number is ready."""
    row = SimpleNamespace(namespace="models", name="chat", labels={}, replicas=2, is_autoscaled=False, **changes)
    running, _ = trying
    running._selection = EngineSelection((row,))
    listing = SimpleNamespace(ready_pods=lambda *_: ["pod"] * number)
    monkeypatch.setattr(trial.addresses, "read", lambda _: listing)
    monkeypatch.setattr(running._plane, "api", lambda: None)
    return running, row


def test_a_failed_start_says_how_the_engines_are_ended(trying, monkeypatch):
    running, _ = running_pods(trying, monkeypatch, 1)
    expected = f"models/chat has 1 ready pods instead of 2\n{trial.REMAINING}"
    with pytest.raises(LocalError, match=f"^{re.escape(expected)}$"):
        running.start_engines(Report(io.StringIO()))
    assert "`make down` ends them" in trial.REMAINING


def test_an_autoscaler_may_have_made_more_pods(trying, monkeypatch):
    running, row = running_pods(trying, monkeypatch, 3)
    with pytest.raises(LocalError, match="3 ready pods instead of 2"):
        running._pods(row)
    row.is_autoscaled = True
    assert len(running._pods(row)) == 3
