"""The report on a change, by the lines of the shipped workflow, and what then happens to pods on a real API server.

One stack has a service for each row of the table of words. Its change is previewed with the cluster and, while the API
server is stopped, with facts from a file; then it is deployed while ready endpoints are counted.
"""

import io
import json
import re
import time
from dataclasses import dataclass

import pytest
import yaml

from judging.report import words
from local.report import Report
from planning.ground.inventory import LiveNode
from tests.support.cluster.readiness import counted, has_gap
from tests.support.cluster.server import read
from tests.support.runner import ROOT, Runner
from tests.support.scheduling import PRODUCT, node_object
from tests.support.stacks import PIN, tree
from tests.support.traffic.forge import PAGE, forge

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

NAMESPACE = "words"
STACK = "dev"
WORKFLOW = yaml.safe_load((ROOT / "examples/ci/github.yaml").read_text(encoding="utf-8"))
NODE = LiveNode("words-0", PRODUCT, ready=True, cordoned=False, taints=(), devices={"nvidia.com/gpu": 64})
NEWER = {"engine": {"maxNumSeqs": 8}}
SCALING = {"type": "hpa", "minReplicas": 2, "maxReplicas": 3, "metrics": [{"type": "cpu", "targetPercent": 80}]}
PICKED = {"endpointPicker": {"enabled": True}}
ARCHITECTURE = {
    "layers": 36,
    "hiddenSize": 4096,
    "intermediateSize": 12288,
    "heads": 32,
    "kvHeads": 8,
    "vocabSize": 151936,
}
SURGE = {"rollout": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0}}


def marked(number):
    """Return a service with marked values, which no report may show."""
    variables = {"WHO": f"hunter2-env-{number}"}
    arguments = ["--tokenizer", f"hunter2-args-{number}"]
    annotations = {"example.com/who": f"hunter2-pod-{number}"}
    return {
        "engine": {"env": variables, "args": arguments},
        "annotations": {"example.com/who": f"hunter2-annotation-{number}"},
        "pod": {"annotations": annotations},
    }


def with_file(text):
    """Return a service whose pods have a file, and a container beside the engine."""
    volumes = {"settings": {"type": "config-map", "mountPath": "/etc/engine", "files": {"engine.yaml": text}}}
    containers = {"exporter": {"image": "registry.example/exporter:v1"}}
    return {"replicas": 2, "pod": {"volumes": volumes, "containers": containers}}


STAGE = re.compile(r"-(decode|encode|prefill)(-\w+)?$")
"""End of the name of a workload: its stage, and its set of pods."""
SETS = {"sets": {"long": {}, "short": {}}}
CHANGES = {
    "gone": ({}, None),
    "fresh": (None, {}),
    "renamed": ({}, {"name": "renamed-later"}),
    "replaced": ({}, {}),
    "pair": ({**PICKED, "prefill": {}}, {**PICKED, "prefill": {}, "kvCache": {"blockSize": 128}}),
    "asleep": ({**PICKED, "replicas": 0}, {**PICKED, "replicas": 2}),
    "idle": ({**PICKED, "replicas": 0}, {**PICKED, "replicas": 0, **NEWER}),
    "grown": ({}, {"replicas": 3}),
    "kept": ({}, SURGE),
    "recreated": ({"replicas": 2}, {"replicas": 2, "rollout": {"type": "Recreate"}, **NEWER}),
    "small": ({"size": "1Gi"}, {"size": "1Gi", **NEWER}),
    "large": ({"size": "40Gi"}, {"size": "40Gi", **NEWER}),
    "rolled": ({"replicas": 4, **marked(1)}, {"replicas": 4, **marked(2)}),
    "surging": ({"replicas": 1}, {"replicas": 1, **SURGE, **NEWER}),
    "shrunk": ({"replicas": 4}, {"replicas": 2, **NEWER}),
    "scaled": ({"autoscaling": SCALING}, {"autoscaling": SCALING, **NEWER}),
    "filed": (with_file("a: hunter2-1"), with_file("a: hunter2-2")),
    "split": ({**PICKED, "prefill": {}}, {**PICKED, "prefill": SETS}),
    "seeing": ({**PICKED, "encode": {}}, {**PICKED, "encode": {"replicas": 2}}),
    "longer": ({**SURGE, "context": 8192}, {**SURGE, "context": 32768}),
}
"""Services before and after the change; None for one that is not there."""
ENDS = {
    "gone": (1, 0), "fresh": (0, 1), "renamed": (1, 1), "replaced": (1, 1), "pair": (1, 1), "asleep": (0, 2),
    "idle": (0, 0), "grown": (1, 3), "kept": (1, 1), "recreated": (2, 2), "small": (1, 1), "large": (1, 1),
    "rolled": (4, 4), "surging": (1, 1), "shrunk": (4, 2), "scaled": (2, 2), "longer": (1, 1),
    "filed": (2, 2), "split": (1, 1), "seeing": (1, 1),
}  # fmt: skip
"""Ready endpoints of each service before and after the change."""
SELECTOR = "selector = labels.role_selector(variant.names, workload.role)\n"
OTHER_SELECTOR = SELECTOR.replace(
    "\n", ' | ({"example.com/other": "x"} if workload.name == "replaced-decode" else {})\n'
)
"""Change by a release of the program that selects pods by another label: the API server takes no such update."""


def stack(after):
    """Return the stack before or after the change."""
    services = {key: pair[after] for key, pair in CHANGES.items() if pair[after] is not None}
    found = {key: {"accelerator": "nvidia-h100-80gb", **service} for key, service in services.items()}
    for service in found.values():
        source = f"kit://registry.example/org/model@{PIN}"
        service["model"] = {"name": "org/model", "source": source, "size": service.pop("size", "1Gi")}
        if (context := service.pop("context", None)) is not None:
            service["model"] |= {"maxModelLen": context, "architecture": ARCHITECTURE}
    whole = tree(**found) | {"namespace": NAMESPACE, "namespaceOptions": {"create": True}}
    prices = {"perDeviceHour": {"nvidia-h100-80gb": 2}}
    allowed = {"allow": ["name", "removal"]} if after else {}
    return whole | {"defaults": {"endpointPicker": {"enabled": False}}, "prices": prices} | allowed


@dataclass(frozen=True)
class Story:
    """Words that each step of the change has written."""

    affected: str
    codes: dict[str, dict[str, int]]
    """Exit codes of the steps of each job."""
    report: str
    """The report as text, with the cluster."""
    offline: str
    """The report as text, from facts, with the API server stopped."""
    comments: dict[int, str]
    numbers: dict[str, list[int]]
    """Numbers of ready endpoints by service, while the change is deployed."""
    routes: dict[str, list[str]]
    """Backends of each path, after the change."""
    output: str
    """All that steps of the workflow have written."""


class Change:
    """A stack that is deployed, its change in a branch, and the workflow that a pull request runs."""

    def __init__(self, plane, tools, folder):
        self.plane = plane
        kubeconfig = plane.kubeconfig.read_text(encoding="utf-8")
        self.secrets = {"PULUMI_BACKEND_URL": f"file://{folder}/state", "PULUMI_CONFIG_PASSPHRASE": "words of nobody"}
        context = {f"secrets.{name}": text for name, text in {**self.secrets, "KUBECONFIG_TEXT": kubeconfig}.items()}
        context |= {"matrix.stack": STACK, "github.base_ref": "main", "secrets.HF_TOKEN": ""}
        self.runner = Runner(folder, WORKFLOW, tools, context)
        (folder / "state").mkdir()
        self.shell("python3 -m venv .venv")
        (self.runner.folder / ".gitignore").write_text(".venv\n*.json\n*.txt\n*.md\n", encoding="utf-8")

    def shell(self, lines, **variables):
        code, output = self.runner.shell(lines, variables=variables)
        assert code == 0, output[-5000:]
        return output

    def write(self, content):
        """Write the stack file. It keeps the salt that the engine has written into it."""
        file = self.runner.folder / f"Pulumi.{STACK}.yaml"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        salt = [f"{line}\n" for line in lines if line.startswith("encryptionsalt")]
        text = yaml.safe_dump({"config": {"inference-stacks:stack": content}}, sort_keys=False)
        file.write_text(text + "".join(salt), encoding="utf-8")

    def commit(self, message):
        who = "-c user.name=t -c user.email=t@example.com"
        self.shell(f"git init -q -b main . && git add -A && git {who} commit -q -m {message}")

    def engine(self, command):
        """Run the engine outside of the workflow."""
        path = 'PATH="$TOOLS/engine:$PATH"'
        variables = {**self.secrets, "KUBECONFIG": str(self.plane.kubeconfig), "PULUMI_DEBUG_COMMANDS": "true"}
        self.shell(f"{path} pulumi {command} --non-interactive --stack {STACK}", **variables)

    def deploy(self):
        """Deploy the stack as it is before the change, as the main branch has it."""
        self.write(stack(0))
        path = 'PATH="$TOOLS/engine:$PATH"'
        self.shell(f"{path} pulumi stack init {STACK} --non-interactive", **self.secrets)
        self.commit("before")
        self.shell("git update-ref refs/remotes/origin/main HEAD")
        self.engine("up --yes --skip-preview")

    def alter(self):
        """Change the stack, and the label by which the program selects the pods of one service."""
        self.write(stack(1))
        folder = self.runner.folder / "manifests"
        original = ROOT / "manifests"
        text = (original / "serving.py").read_text(encoding="utf-8")
        assert text.count(SELECTOR) == 1
        folder.unlink()
        folder.mkdir()
        for path in original.iterdir():
            if path.name not in {"serving.py", "__pycache__"}:
                (folder / path.name).symlink_to(path)
        (folder / "serving.py").write_text(text.replace(SELECTOR, OTHER_SELECTOR), encoding="utf-8")
        self.commit("after")

    def summary(self, log):
        """Return the report on a log as text."""
        return self.shell(f".venv/bin/python -m cli summarize {STACK} --events {log} --facts facts.json --format text")

    def comments(self, codes):
        """Run the job of a pull request beside comments of others, then comment once more; return the comments."""
        with forge(gitlab=False) as server:
            server.comments = {number: f"talk {number}" for number in range(1, PAGE + 1)}
            self.runner.variables |= server.variables
            self.runner.context["github.token"] = self.runner.variables.pop("GITHUB_TOKEN")
            codes["preview"] = self.runner.run_job("preview")
            server.comments[len(server.comments) + 1] = "talk about the report"
            codes["again"] = {"comment": self.runner.run_step("preview", "comment")}
            return dict(server.comments)

    def offline(self):
        """Return the report on the same change from facts, while the API server is stopped."""
        self.write(stack(1) | {"cluster": {"facts": {"type": "file", "path": "facts.json"}}})
        self.plane.stop()
        assert not self.plane.alive()
        self.engine("preview --event-log offline.json")
        found = self.summary("offline.json")
        self.plane.start(Report(io.StringIO()))
        self.write(stack(1))
        return found

    def measured(self):
        """Deploy the change, and return the numbers of ready endpoints of each service meanwhile."""
        with counted(self.plane, NAMESPACE, {"renamed-later": "renamed"}) as series:
            wait(lambda: {key: series.latest(key) for key in ENDS}, {key: ends[0] for key, ends in ENDS.items()})
            series.begin()
            self.engine("up --yes --skip-preview")
            wait(lambda: {key: series.latest(key) for key in ENDS}, {key: ends[1] for key, ends in ENDS.items()})
        return series.numbers

    def routes(self):
        """Return the backends of each path."""
        rules = (rule for each in read(self.plane, "httproutes", NAMESPACE) for rule in each["spec"]["rules"])
        return {
            match["path"]["value"]: [each["name"] for each in rule["backendRefs"]]
            for rule in rules
            for match in rule["matches"]
        }


def wait(found, expected, seconds=240):
    """Wait until a function returns what is expected."""
    end = time.monotonic() + seconds
    while (latest := found()) != expected:
        assert time.monotonic() < end, latest
        time.sleep(0.1)


@pytest.fixture(scope="module")
def story(new_plane, tools, tmp_path_factory):
    """Tell the story of one change: previewed by the workflow, again without a cluster, deployed, looked at later."""
    plane = new_plane()
    codes = {}
    node = json.dumps(node_object(NODE))
    plane.kubectl("apply", "--server-side", "--filename=-", input=node)
    plane.kubectl("apply", "--server-side", "--subresource=status", "--force-conflicts", "--filename=-", input=node)
    change = Change(plane, tools, tmp_path_factory.mktemp("runner"))
    change.deploy()
    change.alter()
    codes["affected"] = change.runner.run_job("affected")
    affected = change.runner.written("GITHUB_OUTPUT")
    comments = change.comments(codes)
    codes["fork"] = change.runner.run_job("fork")
    online = change.summary("events.json")
    offline = change.offline()
    numbers = change.measured()
    routes = change.routes()
    plane.kubectl("scale", "deployment/kept-decode", "--namespace", NAMESPACE, "--replicas=3")
    codes["drift"] = change.runner.run_job("drift")
    yield Story(affected, codes, online, offline, comments, numbers, routes, change.runner.output)
    plane.remove()


def test_every_line_of_the_workflow_runs(story):
    jobs = {name: [step["name"] for step in job["steps"] if "run" in step] for name, job in WORKFLOW["jobs"].items()}
    assert {name: [*codes] for name, codes in story.codes.items() if name != "again"} == jobs
    failed = {(name, step): code for name, codes in story.codes.items() for step, code in codes.items() if code}
    assert failed == {("drift", "drift"): 7}, story.output[-5000:]
    assert story.affected == f'stacks=["{STACK}"]\n'
    assert "Deployment `words/kept-decode`: `spec.replicas` 1 → 3" in story.output


def test_one_comment_has_the_report_beside_a_page_of_others(story):
    reports = {number: text for number, text in story.comments.items() if not text.startswith("talk")}
    assert [*reports] == [PAGE + 1]
    assert len(story.comments) == PAGE + 2
    assert f"### {STACK} · " in reports[PAGE + 1]


def test_no_report_shows_values_of_variables_arguments_and_annotations(story):
    texts = "".join((story.report, story.offline, story.output, *story.comments.values()))
    assert "--tokenizer changes, variable WHO, annotations of pods" in texts
    assert "hunter2" not in texts


def test_a_report_from_facts_differs_in_what_is_unchecked_alone(story):
    checked, unchecked = zip(*(split(text) for text in (story.report, story.offline)), strict=True)
    assert checked[0] == checked[1]
    assert [*unchecked[0]] == []
    assert [*unchecked[1]] != []


def split(report):
    """Return the lines of a report without its list of unchecked points, and that list."""
    lines = [line for line in report.splitlines() if line]
    found = [line for line in lines if line.startswith("unchecked: ")]
    return [line for line in lines if line not in found], found


FIELDS = {"about": "(?:about|up to)", "minutes": r"\d+", "ready": r"\d+"}


def rows_of(line):
    """Return the number of the row of the table whose words end a line, before its remedy."""
    found = dict[int, int]()
    for number, row in enumerate(words.rows()):
        parts = re.split(r"\{(\w+)\}", row.words.replace("**", ""))
        texts = (FIELDS.get(part, "[^·]+?") if index % 2 else re.escape(part) for index, part in enumerate(parts))
        if (match := re.search(f" · {''.join(texts)}(?=$|: )", line)) is not None:
            found[number] = len(match[0])
    assert found, line
    return max(found, key=lambda number: found[number])


@pytest.fixture(scope="module")
def fates(story):
    """Return the lines on the pods of each service."""
    found = dict[str, list[str]]()
    for line in story.report.splitlines():
        name = line[2:].partition(" · ")[0]
        if line[:1] in "!+-~" and STAGE.search(name):
            found.setdefault(name.partition("-")[0], []).append(line)
    return found


def test_every_row_of_the_table_of_words_is_measured(fates):
    assert fates.keys() == CHANGES.keys() == ENDS.keys()
    measured = {rows_of(line) for lines in fates.values() for line in lines}
    assert measured == set(range(len(words.rows())))


def test_what_a_change_takes_of_the_room_for_the_cache_is_said_of_its_pods_alone(fates):
    taken = {
        key: found for key, lines in fates.items() if (found := re.findall(r"headroom of a device [^·]+", lines[0]))
    }
    assert taken.keys() == {"longer"}
    before, after = map(float, re.search(r"([\d.]+)Gi → ([\d.]+)Gi", taken["longer"][0]).groups())
    assert before > after
    assert "× 32768 tokens" in taken["longer"][0]


def test_no_endpoint_is_ready_at_some_moment_where_the_report_says_so_and_only_there(story, fates):
    announced = {key for key, lines in fates.items() if any("unavailable" in line for line in lines)}
    assert {key for key, numbers in story.numbers.items() if has_gap(numbers)} == announced
    assert announced == {"replaced", "recreated", "small", "large"}


def test_as_many_endpoints_stay_ready_as_the_report_says(story, fates):
    lines = {key: " ".join(found) for key, found in fates.items()}
    least = {key: int(match[1]) for key, line in lines.items() if (match := re.search(r"at least (\d+) of", line))}
    assert least == {"rolled": 3, "surging": 1, "shrunk": 1, "scaled": 1, "longer": 1, "filed": 1}
    assert {key: number for key, number in least.items() if min(story.numbers[key]) < number} == {}
    assert min(story.numbers["rolled"]) == 3


def test_nothing_restarts_where_the_report_says_so(story, fates):
    quiet = {key for key, lines in fates.items() if "nothing restarts" in lines[0]}
    assert quiet == {"idle", "grown", "kept", "seeing"}
    assert {key: story.numbers[key] for key in quiet if story.numbers[key] != sorted(story.numbers[key])} == {}


def test_pods_of_another_name_or_generation_are_ready_before_the_old_ones_end(story):
    assert {key: min(story.numbers[key]) for key in ("renamed", "pair", "split")} == {
        "renamed": 1,
        "pair": 1,
        "split": 1,
    }


def test_two_sizes_of_a_model_give_two_numbers_of_minutes(fates):
    small, large = (int(re.search(r"for about (\d+) min", fates[key][0])[1]) for key in ("small", "large"))
    assert 0 < small < large


def test_paths_come_and_go_as_the_report_says(story):
    found = re.findall(r"(?m)^([-+]) (/\S+)( is gone \(404\))?$", story.report)
    assert {(sign, path.rpartition("/")[2]) for sign, path, _ in found} == {
        ("-", "gone"), ("-", "renamed"), ("+", "fresh"), ("+", "renamed-later"),
    }  # fmt: skip
    assert {path: path in story.routes for _, path, _ in found} == {path: sign == "+" for sign, path, _ in found}
    moved = re.search(r"(?m)^~ (/\S+/pair): (\S+) → (\S+)$", story.report)
    assert story.routes[moved[1]] == [moved[3]]
