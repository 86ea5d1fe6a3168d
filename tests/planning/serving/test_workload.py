"""A replica over several pods: they wait for each other, and what one has fetched is not thrown away."""

import os
import signal
import subprocess

import pytest

from planning.ground.awaiting import ROLLED_OUT
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.shapes import SPANNING, engine, fetching, flag, values

SIZE = {"model": {"source": "hf://org/model@v1", "size": "640Gi"}}
ARRIVAL, LOADING = 640 * 1024 // 32, 600 + 640 * 1024 // 64
"""Seconds for fetching at 32Mi a second, and for loading at 64Mi a second."""
KIT = {"name": "org/model", "source": "kit://registry.example/org/model:v1"}
SIGNED = {**KIT, "verify": {"type": "key", "secret": "cosign"}}
DOWNLOADER = ["/storage-initializer/scripts/initializer-entrypoint"]


def group(**service):
    spec = find(rendered(tree(qwen={**SPANNING, **service})), "LeaderWorkerSet", "qwen-decode")["spec"]
    return [spec["leaderWorkerTemplate"][name] for name in ("leaderTemplate", "workerTemplate")]


def warnings(stack):
    return lines(plan(stack).warnings, "warning")


def fetch_of(template, name="model-download"):
    (container,) = [container for container in fetching(template) if container["name"] == name]
    return container


def test_pods_of_a_replica_wait_for_each_other_as_long_as_fetching_and_loading_may_take():
    """See defects A2."""
    for template in group(**SIZE):
        assert flag(engine(template), "--distributed-timeout-seconds") == str(ARRIVAL + LOADING)
    for template in group(**SIZE, health={"startupTimeout": "3h"}):
        assert flag(engine(template), "--distributed-timeout-seconds") == str(ARRIVAL + 3 * 3600)


def test_the_first_pod_is_not_restarted_while_the_others_fetch():
    """See defects A2."""
    leader, _ = group(**SIZE)
    assert engine(leader)["startupProbe"]["failureThreshold"] * 10 == ARRIVAL + LOADING
    assert values(engine(leader))["VLLM_ENGINE_READY_TIMEOUT_S"] == str(ARRIVAL + LOADING)
    leader, _ = group(**SIZE, health={"startupTimeout": "3h"})
    assert engine(leader)["startupProbe"]["failureThreshold"] * 10 == 3 * 3600


def test_a_time_of_the_users_own_wins():
    for template in group(engine={"args": ["--distributed-timeout-seconds=60"]}):
        given = [
            argument for argument in engine(template)["args"] if argument.startswith("--distributed-timeout-seconds")
        ]
        assert given == ["--distributed-timeout-seconds=60"]


@pytest.mark.parametrize("release", ["gie-1.3", "llm-d-0.6"])
def test_an_older_engine_has_no_flag_that_it_does_not_know(release):
    spec = find(rendered(tree(qwen=SPANNING) | {"release": release}), "LeaderWorkerSet", "qwen-decode")["spec"]
    for name in ("leaderTemplate", "workerTemplate"):
        args = engine(spec["leaderWorkerTemplate"][name])["args"]
        assert not any(argument.startswith("--distributed-timeout-seconds") for argument in args)


@pytest.mark.parametrize(
    ("model", "name", "program"),
    [
        (SIZE["model"], "model-download", DOWNLOADER),
        (KIT, "model-unpack", ["kit", "unpack", "registry.example/org/model:v1"]),
        (SIGNED, "model-unpack", ["/usr/local/bin/entrypoint.sh"]),
    ],
    ids=["hub", "kit", "signed-kit"],
)
def test_a_fetch_of_a_group_is_repeated_inside_its_container(model, name, program):
    """See defects A2."""
    for template in group(model=model):
        shell, option, script, *command = fetch_of(template, name)["command"]
        assert (shell, option) == ("sh", "-c")
        assert command[: len(program)] == program
        assert "org/model" not in script
    (template,) = [find(rendered(tree(qwen={"model": model})), "Deployment", "qwen-decode")["spec"]["template"]]
    assert fetch_of(template, name).get("command", ["kit"])[0] == "kit"


def loop(**service):
    """Return the script that repeats a fetch."""
    return fetch_of(group(**SIZE, **service)[0])["command"][2]


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return a folder that comes first in PATH, where nobody sleeps."""
    program(tmp_path, "sleep", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_loop_ends_with_the_first_success_and_passes_arguments_as_they_are(programs):
    """See defects A2."""
    counted = programs / "counted"
    script = f'printf "%s|" "$@" >> {counted}; echo >> {counted}; test $(wc -l < {counted}) -eq 3'
    fetch = program(programs, "fetch", script)
    subprocess.run(["sh", "-c", loop(), str(fetch), "$(id)", "two words"], check=True, timeout=10)
    assert counted.read_text(encoding="utf-8").splitlines() == ["$(id)|two words|"] * 3


def test_the_loop_ends_at_once_when_its_pod_does(programs):
    """See defects A2."""
    started = programs / "started"
    os.mkfifo(started)
    fetch = program(programs, "fetch", f"echo > {started}; exec tail -f /dev/null")
    running = subprocess.Popen(["sh", "-c", loop(), str(fetch)], start_new_session=True)
    try:
        started.read_text(encoding="utf-8")
        running.terminate()
        running.wait(timeout=10)
    finally:
        os.killpg(running.pid, signal.SIGKILL)


CLAIMED = {"storage": {"type": "dedicated"}}


@pytest.mark.parametrize(("service", "is_warned"), [(SPANNING, True), (SPANNING | CLAIMED, False), ({}, False)])
def test_weights_that_every_pod_of_a_replica_fetches_are_told(service, is_warned):
    """See defects A2."""
    expected = (
        "services.qwen.storage: all 2 pods of a replica fetch the weights, and fetch them again when any of the "
        "pods restarts; use type: shared or type: dedicated"
    )
    assert (expected in warnings(tree(qwen={**SIZE, **service}))) is is_warned


@pytest.mark.parametrize("service", [{}, {"prefill": {}}, {"replicas": 0}])
def test_turns_of_services_need_a_wait_for_their_rollouts(service):
    (plain,) = plan(tree(qwen=service)).services
    (staged,) = plan(tree(qwen=service) | {"upgrades": {"atOnce": 2}}).services
    assert {workload.wait.conditions for workload in plain.workloads} == {()}
    assert {workload.wait.conditions for workload in staged.workloads} == {ROLLED_OUT}
    assert [each.wait.seconds for each in plain.workloads] == [each.wait.seconds for each in staged.workloads]


def test_pods_with_files_need_a_wait_for_their_rollout():
    volumes = {"settings": {"type": "config-map", "files": {"engine.yaml": "a: 1"}, "mountPath": "/etc/engine"}}
    existing = {"settings": {"type": "config-map", "name": "settings", "mountPath": "/etc/engine"}}
    (filed,) = plan(tree(qwen={"pod": {"volumes": volumes}})).services
    (plain,) = plan(tree(qwen={"pod": {"volumes": existing}})).services
    assert {workload.wait.conditions for workload in filed.workloads} == {ROLLED_OUT}
    assert {workload.wait.conditions for workload in plain.workloads} == {()}


def test_a_group_of_pods_is_waited_for_in_the_same_way_with_turns_and_without():
    (plain,) = plan(tree(qwen=SPANNING)).services
    (staged,) = plan(tree(qwen=SPANNING) | {"upgrades": {}}).services
    assert plain.primary.roles["decode"].wait == staged.primary.roles["decode"].wait
    assert plain.primary.roles["decode"].wait.conditions
