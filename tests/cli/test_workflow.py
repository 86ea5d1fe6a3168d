"""Lines of the pipelines. The engine plays a log that it once wrote; in `tests/real/test_report.py` it is real."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jq
import pytest
import yaml

from cli import commands
from models import lock
from tests.support.traffic.forge import forge
from tests.support.traffic.hub import Hub
from tests.support.traffic.weight_servers import serve
from tests.support.workflows import linted

ROOT = Path(__file__).parents[2]
PIPELINE = yaml.load((ROOT / "examples/ci/gitlab.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
WORKFLOW = yaml.load((ROOT / "examples/ci/github.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
JOBS = WORKFLOW["jobs"]
DEPLOY = yaml.load((ROOT / "examples/ci/github-deploy.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
PULUMI = """#!/bin/sh
test "$PULUMI_CONFIG_PASSPHRASE" = words || exit 9
test "$(cat "$KUBECONFIG")" = "apiVersion: v1" || exit 8
echo "$*" >> "$LOGS/calls"
while [ $# -gt 0 ]; do
  if [ "$1" = --event-log ]; then cp "$LOG" "$2"; fi
  shift
done
exit "${ENGINE_EXIT:-0}"
"""
PROGRAM = (
    "cli",
    "composition",
    "facts",
    "judging",
    "manifests",
    "models",
    "planning",
    "local",
    "Pulumi.yaml",
    "upstream",
    "schemas",
)
COMMIT = "git -c user.name=a -c user.email=a@example.com commit -qm change"
SECRETS = {
    "PULUMI_BACKEND_URL": "file://state",
    "PULUMI_CONFIG_PASSPHRASE": "words",
    "KUBECONFIG_TEXT": "apiVersion: v1",
}


@pytest.fixture
def project(tmp_path):
    """Return a folder with the program and a stack, and the variables of its pipeline."""
    for name in PROGRAM:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "Pulumi.dev.yaml").write_bytes((ROOT / "tests/cli/logs/Pulumi.dev.yaml").read_bytes())
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "pulumi").write_text(PULUMI, encoding="utf-8")
    (tools / "pulumi").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    venv = f"import sys; sys.path[:0] = {[*sys.path]!r}"
    (tmp_path / "sitecustomize.py").write_text(venv, encoding="utf-8")
    names = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    return tmp_path, {**environment, **names, "RUNNER_TEMP": str(tmp_path), "LOGS": str(tmp_path), "STACK": "dev"}


def run(project, job, name, jobs=JOBS, **variables):
    """Run the lines of a step as a runner does, and return its exit code and what it wrote."""
    (step,) = (step for step in jobs[job]["steps"] if step.get("name") == name)
    pipefail = ["-o", "pipefail"] if step.get("shell") == "bash" else []
    return shell(project, step["run"], *pipefail, **variables)


def shell(project, lines, *options, **variables):
    folder, environment = project
    command, variables = ["bash", "-e", *options, "-c", lines], {**environment, **variables}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def log(name):
    return str(ROOT / "tests/cli/logs" / f"{name}.jsonl")


@pytest.mark.real
def test_a_merge_request_gets_a_report(project):
    folder, _ = project
    (folder / "affected.txt").write_text("dev\n", encoding="utf-8")
    (folder / "kubeconfig").write_text("apiVersion: v1", encoding="utf-8")
    engine = {**SECRETS, "LOG": log("change"), "KUBECONFIG": str(folder / "kubeconfig")}
    _, _, loop, verdict = PIPELINE["report"]["script"]
    with forge(gitlab=True) as server:
        code, output = shell(project, loop, **engine, **server.variables)
        assert code == 0, output
        assert ["### dev" in body for body in server.comments.values()] == [True]
    assert shell(project, verdict)[0] == 0
    loop, verdict = PIPELINE["drift"]["script"]
    assert shell(project, loop, **{**engine, "LOG": log("drift")})[0] == 0
    assert shell(project, verdict)[0] == 1


@pytest.mark.real
def test_a_preview_that_fails_is_reported_and_fails_the_job_at_its_end(project):
    folder, _ = project
    assert run(project, "preview", "preview", LOG=log("mistake"), ENGINE_EXIT="1", **SECRETS)[0] == 0
    assert not (folder / "kubeconfig").exists()
    assert "--stack dev --event-log events.json" in (folder / "calls").read_text(encoding="utf-8")
    assert run(project, "preview", "report", FACTS="")[0] == 0
    assert "1 error" in (folder / "report.md").read_text(encoding="utf-8")
    assert run(project, "preview", "verdict")[0] == 1


@pytest.mark.real
def test_actionlint_finds_nothing_in_the_workflow_and_each_of_some_mistakes(tools, tmp_path):
    file = ROOT / "examples/ci/github.yaml"
    assert linted(tools, file) == []
    text, altered = file.read_text(encoding="utf-8"), tmp_path / "altered.yaml"
    mistakes = [
        ("github.base_ref", "github.bse_ref"), ("needs: affected", "needs: afected"),
        ("steps.affected.outputs", "steps.afected.outputs"), ("17 4 * * *", "17 25 * * *"),
        ("pull-requests: write", "pull-requests: wirte"), ("runs-on: ubuntu-24.04", "runs-on: ubuntu-24.40"),
    ]  # fmt: skip
    for right, wrong in mistakes:
        altered.write_text(text.replace(right, wrong, 1), encoding="utf-8")
        assert len(linted(tools, altered)) >= 1, wrong


@pytest.mark.real
def test_a_push_deploys_every_stack_and_fails_if_the_run_fails_or_a_service_does_not_serve(project):
    folder, _ = project
    jobs = DEPLOY["jobs"]
    (folder / "Pulumi.prod.yaml").write_text("", encoding="utf-8")
    assert run(project, "stacks", "stacks", jobs) == (0, "")
    assert (folder / "GITHUB_OUTPUT").read_text(encoding="utf-8") == 'stacks=["dev","prod"]\n'
    assert run(project, "deploy", "up", jobs, LOG=log("change"), **SECRETS) == (0, "")
    assert (
        (folder / "calls").read_text(encoding="utf-8").startswith("up --yes --non-interactive --stack dev --event-log")
    )
    assert not (folder / "kubeconfig").exists()
    assert (folder / "unwell").read_text(encoding="utf-8") == "1\n", "the status of a cluster that nobody can read"
    code, output = run(project, "deploy", "report", jobs)
    assert code == 0
    assert output.startswith("| ")
    assert "### dev" in (folder / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")
    assert run(project, "deploy", "verdict", jobs)[0] == 0
    (folder / "unwell").write_text("5\n", encoding="utf-8")
    assert run(project, "deploy", "verdict", jobs)[0] == 1
    (folder / "unwell").unlink()
    assert run(project, "deploy", "up", jobs, LOG=log("mistake"), ENGINE_EXIT="1", **SECRETS)[0] == 0
    assert run(project, "deploy", "verdict", jobs)[0] == 1


@pytest.mark.real
def test_gitlab_deploys_a_stack_in_its_environment(project):
    folder, _ = project
    job = PIPELINE["deploy"]
    assert (job["environment"], job["resource_group"]) == ("$STACK", "deploy-$STACK")
    (folder / "kubeconfig").write_text("apiVersion: v1", encoding="utf-8")
    engine = {**SECRETS, "LOG": log("change"), "KUBECONFIG": str(folder / "kubeconfig")}
    code, output = shell(project, "\n".join(job["script"]), **engine)
    assert code == 0, output
    assert shell(project, "\n".join(job["script"]), **{**engine, "LOG": log("mistake"), "ENGINE_EXIT": "1"})[0] == 1


def test_the_pipelines_install_the_engine_that_tests_run():
    table = tomllib.loads((ROOT / "local/tools/tools.toml").read_text(encoding="utf-8"))
    (version,) = (tool["version"] for tool in table["tool"] if tool["name"] == "pulumi")
    places = (WORKFLOW["env"], DEPLOY["env"], PIPELINE["variables"])
    assert {place["PULUMI_VERSION"] for place in places} == {version}


def test_every_stack_is_looked_at_on_a_schedule(project):
    folder, _ = project
    (folder / "Pulumi.prod.yaml").write_text("", encoding="utf-8")
    code, output = run(project, "affected", "affected", BASE="")
    assert code == 0, output
    (line,) = (folder / "GITHUB_OUTPUT").read_text(encoding="utf-8").splitlines()
    assert json.loads(line.removeprefix("stacks=")) == ["dev", "prod"]


def test_a_fork_gets_neither_secrets_nor_the_right_to_write():
    assert "secrets." not in yaml.safe_dump(JOBS["fork"]) + yaml.safe_dump(JOBS["affected"])
    assert "environment" not in JOBS["fork"]
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {name for name, job in JOBS.items() if "write" in yaml.safe_dump(job.get("permissions", {}))} == {"preview"}
    assert "head.repo.full_name == github.repository" in JOBS["preview"]["if"]


def test_code_of_a_fork_runs_by_no_event_that_trusts_it():
    """`pull_request_target` gives secrets, and a token that writes. See defects H1."""
    assert set(WORKFLOW[True]) == {"pull_request", "schedule"}
    checkouts = [step for job in JOBS.values() for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
    assert len(checkouts) == len(JOBS)
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    fork = json.dumps(JOBS["fork"])
    assert not any(word in fork for word in ("github.token", "secrets", "KUBECONFIG", "cli facts", "cli comment"))


def test_gitlab_runs_no_merge_request_of_a_fork_with_the_engine_or_the_variables():
    """In the project of the fork both numbers are known, too, so the number of the running project says nothing."""
    rules = {name: PIPELINE[name]["rules"][0]["if"] for name in ("report", "fork")}
    (report, fork) = rules.values()
    assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID" in report
    assert fork == report.replace("_ID == ", "_ID != ")
    assert PIPELINE["fork"]["extends"] == ".without-the-engine"
    lines = json.dumps([PIPELINE["fork"], PIPELINE[".without-the-engine"]])
    assert not any(word in lines for word in ("pulumi", "KUBECONFIG", "GITLAB_TOKEN", "cli facts", "cli comment"))


@pytest.fixture
def locked(project, monkeypatch):
    """Commit a stack with its lock as the branch main, and return its hub."""
    folder, environment = project
    server = serve()
    hub = Hub(server)
    hub.push("org/m", "a1" * 20, **{"model.safetensors": 7})
    service = {"model": {"source": "hf://org/m", "endpoint": server.url}, "accelerator": "nvidia"}
    stack = {"namespace": "models", "cluster": {"facts": {"type": "none"}}, "services": {"m": service}}
    tree = {"config": {"inference-stacks:stack": stack}}
    (folder / "Pulumi.dev.yaml").write_text(json.dumps(tree), encoding="utf-8")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to(sys.executable)
    (folder / ".gitignore").write_text("*\n!*.yaml\n", encoding="utf-8")
    environment |= {"BASE": "main", "GIT_CONFIG_COUNT": "0", "GIT_CONFIG_GLOBAL": "/dev/null"}
    branch = f"git init -q -b main; git add -A; {COMMIT}; git update-ref refs/remotes/origin/main HEAD"
    monkeypatch.chdir(folder)
    assert commands.main(["lock", "dev"]) == 0
    code, output = shell(project, branch)
    assert code == 0, output
    yield hub
    server.shutdown()
    server.server_close()


def check_lock(project, job):
    """Run the lines of a job that check the lock, and return what they wrote, and whether the job fails at its end."""
    folder, _ = project
    if job == "gitlab":
        (folder / "affected.txt").write_text("dev\n", encoding="utf-8")
        *_, loop, _ = PIPELINE["fork"]["script"]
        code, output = shell(project, f"git fetch -q . refs/remotes/origin/main\n{loop}")
    else:
        code, output = run(project, job, "lock", HF_TOKEN="")
    assert code == 0, output
    return output, (folder / "failed").exists()


@pytest.mark.parametrize("job", ["preview", "fork", "gitlab"])
def test_a_lock_that_no_server_confirms_fails_the_pull_request_that_writes_it_and_no_other(project, locked, job):
    """The lock names a commit that the repository may have, for all that the file says. See defects H1."""
    folder, _ = project
    locked.push("org/m", "b2" * 20, **{"model.safetensors": 7})
    output, has_failed = check_lock(project, job)
    assert f"(hf://org/m@{'a1' * 20} to hf://org/m@{'b2' * 20})" in output
    assert not has_failed
    path = folder / "inference.dev.lock.yaml"
    text = path.read_text(encoding="utf-8").replace("a1" * 20, "c3" * 20)
    block = yaml.load(text, yaml.CSafeLoader)["services"]["m"]
    path.write_text(text.replace(block["check"], lock._check(block)), encoding="utf-8")
    code, output = shell(project, f"git add -A; {COMMIT}")
    assert code == 0, output
    output, has_failed = check_lock(project, job)
    assert f"(hf://org/m@{'c3' * 20} to hf://org/m@{'b2' * 20})" in output
    assert has_failed


def test_a_stack_without_a_lock_is_none_to_check(project, locked):
    folder, _ = project
    (folder / "inference.dev.lock.yaml").unlink()
    output, has_failed = check_lock(project, "fork")
    assert "--check: has no lock to compare with" in output
    assert not has_failed


def test_no_line_of_a_script_has_an_expression_of_the_event():
    """Text of a pull request in a script would be run."""
    lines = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    assert not any("${{" in line for line in lines)


GATE = yaml.load((ROOT / "examples/ci/github-gate.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
PLAYED_GATE = f"""#!/bin/sh
if [ "$1" = -c ]; then exec {sys.executable} "$@"; fi
test "$PROMETHEUS_TOKEN" = words || exit 3
case "$*" in *words*) exit 3;; esac
echo "$*" > "$LOGS/arguments"
echo worse
if [ -n "$WEIGHT" ]; then sed -i "s/weight: .*/weight: $WEIGHT/" Pulumi.dev.yaml; fi
exit "$VERDICT"
"""
GITHUB = """#!/bin/sh
echo "$*" >> "$LOGS/forge"
case "$*" in
  "pr list"*isCrossRepository*) cat "$LOGS/open" 2> /dev/null || true;;
  "pr create"*) echo 7 > "$LOGS/open";;
  "pr close 7 "*) rm "$LOGS/open";;
  "pr edit gate-dev"*) ;;
  "pr edit 7 "*) test -e "$LOGS/open";;
  *) exit 1;;
esac
"""
"""A forge with a pull request that is open, or was: `edit` by a branch then edits the merged or closed one."""
GITLAB = """#!/bin/sh
read -r header
test "$header" = 'header = "PRIVATE-TOKEN: words"' || exit 1
echo "$*" >> "$LOGS/forge"
case "$*" in
  *POST*"description@gate.md"*/projects/3/merge_requests) echo 7 > "$LOGS/open";;
  *PUT*"state_event=close"*/projects/3/merge_requests/7) rm "$LOGS/open";;
  *PUT*"description@gate.md"*/projects/3/merge_requests/7) test -e "$LOGS/open";;
  *"?state=opened&scope=all&source_branch=gate-dev")
    fork='{"iid": 6, "source_project_id": 4, "target_project_id": 3}'
    our='{"iid": 7, "source_project_id": 3, "target_project_id": 3}'
    if [ -e "$LOGS/open" ]; then echo "[$fork, $our]"; else echo "[$fork]"; fi > answer.json;;
  *) exit 1;;
esac
"""


@pytest.fixture
def gated(project):
    """Return the folder of a stack with a canary, whose verdict a test plays, and the repository that is pushed to."""
    folder, environment = project
    repository = folder / "repository.git"
    (folder / "Pulumi.dev.yaml").write_text("canary: {}\nweight: 10\n", encoding="utf-8")
    for name, text in (("python", PLAYED_GATE), ("gh", GITHUB), ("curl", GITLAB)):
        path = folder / "tools" / name
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    environment |= {"GIT_CONFIG_COUNT": "0", "GIT_CONFIG_GLOBAL": "/dev/null", "KUBECONFIG_TEXT": "words"}
    environment |= {"PROMETHEUS_TOKEN": "words", "PROMETHEUS_URL": "https://prometheus.example", "GH_TOKEN": "words"}
    environment |= {"GITLAB_TOKEN": "words", "CI_PROJECT_URL": str(repository.with_suffix("")), "BASE": "main"}
    environment |= {"CI_DEFAULT_BRANCH": "main", "CI_API_V4_URL": "https://forge.example/api/v4", "CI_PROJECT_ID": "3"}
    lines = f"git init -q --bare {repository}; git init -q -b main; git add Pulumi.dev.yaml; {COMMIT}"
    lines += f"; git remote add origin {repository}"
    code, output = shell(project, lines)
    assert code == 0, output
    return folder, repository


def judge(project, forge):
    """Run the lines of the job `gate`, and return its exit code and what it wrote."""
    if forge == "gitlab":
        return shell(project, "\n".join(PIPELINE["gate"]["script"]))
    ends = [run(project, "gate", name, GATE["jobs"]) for name in ("gate", "propose", "verdict")]
    return ends[-1][0], "".join(output for _, output in ends)


def pushed(project, repository):
    """Return the changed lines of the branch that the job pushed; None without such a branch."""
    code, output = shell(project, f"git -C {repository} show --format= -U0 gate-dev")
    return (
        [line for line in output.splitlines() if line[0] in "+-" and line[:3] not in {"+++", "---"}]
        if not code
        else None
    )


@pytest.mark.parametrize("forge", ["github", "gitlab"])
@pytest.mark.parametrize(("verdict", "weight"), [("0", "25"), ("8", "0")])
def test_a_verdict_on_a_canary_pushes_its_next_weight(project, gated, forge, verdict, weight):
    folder, repository = gated
    project[1].update(VERDICT=verdict, WEIGHT=weight)
    code, output = judge(project, forge)
    assert code == 0, output
    assert pushed(project, repository) == ["-weight: 10", f"+weight: {weight}"]
    assert "--propose Pulumi.dev.yaml --format markdown" in (folder / "arguments").read_text(encoding="utf-8")
    words = (folder / "forge").read_text(encoding="utf-8")
    if forge == "github":
        assert "pr create --head gate-dev --base main" in words
        assert "--body-file gate.md" in words
    else:
        assert "--data source_branch=gate-dev --data target_branch=main" in words


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_an_equal_proposal_is_the_commit_that_is_there(project, gated, forge):
    _, repository = gated
    project[1].update(VERDICT="0", WEIGHT="25")
    proposals = set[str]()
    for _ in range(2):
        assert shell(project, "git switch -q --detach main")[0] == 0
        assert judge(project, forge)[0] == 0
        proposals.add(shell(project, f"git -C {repository} show --no-patch --format='%H %aI %cI' gate-dev")[1])
    (proposal,) = proposals
    _, time_of_base = shell(project, "git show --no-patch --format=%cI main")
    assert proposal.split()[1:] == [time_of_base.strip()] * 2, "the time of the commit is not that of its base"


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_each_weight_gets_an_open_pull_request_also_after_a_merge_and_without_a_verdict_none_stays(
    project, gated, forge
):
    folder, repository = gated
    number = folder / "open"
    log_of_forge = folder / "forge"

    def judge_again(verdict, weight):
        """Run the job as on a runner that keeps its clone, and return the words to the forge about the request."""
        project[1].update(VERDICT=verdict, WEIGHT=weight)
        log_of_forge.write_text("", encoding="utf-8")
        code, output = shell(project, "git switch -q --detach main")
        assert code == 0, output
        code, output = judge(project, forge)
        assert code == 0, output
        _, *words = log_of_forge.read_text(encoding="utf-8").splitlines()
        return words

    (creation,) = judge_again("0", "25")
    (edit,) = judge_again("0", "25")
    assert creation != edit
    assert number.exists()
    number.unlink()
    assert judge_again("8", "0") == [creation]
    assert pushed(project, repository) == ["-weight: 10", "+weight: 0"]
    (closing,) = judge_again("6", "")
    assert "close" in closing
    assert not number.exists()
    assert judge_again("6", "") == []
    assert judge_again("0", "25") == [creation]


def test_the_pull_request_of_a_fork_is_not_taken_for_ours():
    (step,) = (step for step in GATE["jobs"]["gate"]["steps"] if step.get("name") == "propose")
    (expression,) = re.findall(r"--jq '([^']+)'", step["run"])
    requests = [{"number": 6, "isCrossRepository": True}, {"number": 7, "isCrossRepository": False}]
    for entries, numbers in ((requests, [7]), (requests[:1], []), ([], [])):
        assert jq.all(expression, entries) == numbers


@pytest.mark.parametrize("forge", ["github", "gitlab"])
@pytest.mark.parametrize(("verdict", "code"), [("6", 0), ("1", 1), ("2", 1), ("3", 1)])
def test_a_canary_without_a_verdict_pushes_nothing_and_fails_the_job_if_nothing_was_measured(
    project, gated, forge, verdict, code
):
    _, repository = gated
    project[1].update(VERDICT=verdict, WEIGHT="")
    assert judge(project, forge)[0] == code
    assert pushed(project, repository) is None
