"""The command `gate`: captured objects of a cluster, and a played Prometheus."""

import copy
import json
import math
import time
from datetime import UTC, datetime
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from cli import gate as command
from cli import proposals, schema
from composition import gates
from facts import hosts, prometheus
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import POD
from tests.support import commands
from tests.support.traffic import compared, prometheus_server
from tests.support.traffic.compared import ComparedEngine, ComparedService

ROOT = Path(__file__).parents[2]
BAKE = 60
SECONDS = (BAKE + 1) * 60
ONE_SCRAPE = compared.SCRAPE_SECONDS
"""Requests that an engine counts between two scrapes if it gets 60 in a minute."""


@pytest.fixture(autouse=True)
def _surroundings(nobody, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.yaml").write_text("name: inference-stacks\n")
    monkeypatch.setattr(prometheus, "_PAUSE_SECONDS", 0)
    for name in (prometheus.TOKEN, prometheus.AUTHORITY, hosts.TRUSTED, hosts.OFFLINE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def played():
    with prometheus_server.playing() as server:
        yield server


@pytest.fixture
def service(played, monkeypatch, tmp_path):
    compared_service = ComparedService(tmp_path / "Pulumi.dev.yaml", played.url, SECONDS)
    compared_service.server = played
    monkeypatch.setattr(gates.reader, "read", compared_service.read)
    return compared_service


def scrape(service, *engines, **options):
    for engine in engines:
        service.server.series += engine.series(service.start, SECONDS, **options)


def primary(**options):
    return [ComparedEngine("primary", number, **options) for number in (1, 2)]


def canary(**options):
    return [ComparedEngine("canary", number, **options) for number in (1, 2)]


def document(capsys, *arguments):
    result = commands.ended(capsys, "gate", "dev", *arguments, "--format", "json")
    assert result.errors == ""
    content = json.loads(result.output)
    assert content["exitCode"] == result.code
    jsonschema_rs.validate(schema.of_gate(), content)
    return content


def counted(content, gate, variant):
    (row,) = [row for row in content["services"][0]["gates"] if row["name"] == gate]
    return row[variant]["requests"], row[variant]["bad"]


def test_a_canary_that_is_not_worse_passes_with_the_numbers_that_the_engines_counted(service, capsys):
    engines = [*primary(per_minute=60), *canary(per_minute=60)]
    scrape(service, *engines)
    content = document(capsys)
    assert content["exitCode"] == 0
    for variant in ("primary", "canary"):
        of_variant = [engine.truth for engine in engines if engine.variant == variant]
        requests, bad = counted(content, "errors", variant)
        assert abs(requests - sum(truth.requests for truth in of_variant)) <= len(of_variant) * ONE_SCRAPE
        assert abs(bad - sum(truth.bad for truth in of_variant)) <= 3
        first_tokens, slow = counted(content, "ttft", variant)
        assert abs(first_tokens - sum(truth.first_tokens for truth in of_variant)) <= len(of_variant) * ONE_SCRAPE
        assert abs(slow - sum(truth.slow for truth in of_variant)) <= 3


def test_a_canary_that_is_worse_fails_and_both_are_told(service, capsys):
    scrape(service, *primary(), *canary(bad=0.2))
    result = commands.ended(capsys, "gate", "dev")
    assert (result.code, result.errors) == (8, "")
    assert "chat · worse" in result.output
    assert "ttft > 2500ms" in result.output


def test_a_canary_without_requests_is_undecided(service, capsys):
    scrape(service, *primary(), *canary(per_minute=0))
    content = document(capsys)
    assert content["exitCode"] == 6
    assert content["services"][0]["lacking"] == {"requests": 500, "minutes": None}


def test_a_canary_that_nobody_scrapes_is_not_measured(service, capsys):
    scrape(service, *primary())
    content = document(capsys)
    assert content["exitCode"] == 1
    assert "Prometheus scrapes no target of the variant" in {row["reason"] for row in content["services"][0]["gates"]}


def test_a_prometheus_that_does_not_answer_is_not_measured(service, capsys):
    service.server.answer = lambda *_: prometheus_server.json_answer({}, 503)
    content = document(capsys)
    assert content["exitCode"] == 1
    reasons = {row["reason"] for row in content["services"][0]["gates"]}
    assert reasons == {"Prometheus could not be read (it answered 503)"}


def test_restarts_and_a_gap_of_two_minutes_change_the_counts_by_what_nobody_scraped(service, capsys):
    engines = [
        *primary(per_minute=60, restarts=(700, 2000)),
        *canary(per_minute=60, restarts=(1300,)),
    ]
    scrape(service, *engines, gaps=((1000, 1120),))
    content = document(capsys)
    for variant, restarts in (("primary", 2), ("canary", 1)):
        truth = sum(engine.truth.requests for engine in engines if engine.variant == variant)
        requests, _ = counted(content, "errors", variant)
        assert abs(requests - truth) <= 2 * (1 + restarts) * ONE_SCRAPE
    assert content["exitCode"] in {0, 6}


def test_before_the_warm_up_is_over_nothing_is_counted(service, capsys):
    service.changed_at = math.floor(time.time()) - 60
    service.set_times()
    scrape(service, *primary(), *canary())
    content = document(capsys)
    assert content["exitCode"] == 6
    assert content["services"][0]["minutes"] == 0
    assert any("warm-up" in text for text in content["services"][0]["obstacles"])


def test_before_the_warm_up_is_over_a_prometheus_that_is_down_is_not_measured(service, capsys):
    service.changed_at = math.floor(time.time()) - 60
    service.set_times()
    service.server.answer = lambda *_: prometheus_server.json_answer({}, 503)
    assert document(capsys)["exitCode"] == 1


def test_a_pod_that_is_not_ready_leaves_nothing_to_compare(service, capsys):
    service.living.unready("chat-canary-decode")
    content = document(capsys)
    assert content["exitCode"] == 6
    assert content["services"][0]["reason"].endswith("is not ready")
    assert service.server.asked == []


def test_a_pod_of_the_primary_that_is_not_ready_and_a_failed_scrape_hide_no_failure(service, capsys):
    service.living.unready("chat-decode-75cd78877f-mr57b")
    scrape(service, *primary(), *canary(bad=0.3))
    for labels, samples in service.server.series:
        if labels["__name__"] == "up" and labels["variant"] == "primary":
            samples[60] = (samples[60][0], 0)
    assert document(capsys)["exitCode"] == 8


def test_a_weight_that_is_not_deployed_yet_is_told(service, capsys):
    service.write(weight=25)
    content = document(capsys)
    assert content["exitCode"] == 6
    assert content["services"][0]["reason"] == (
        "the route gives the canary 50 % of the requests, and the stack file 25 %"
    )


def test_a_cluster_that_cannot_be_read_is_not_measured(service, capsys):
    service.unread = {POD: Unknown("it answered 403")}
    content = document(capsys)
    assert content["exitCode"] == 1
    assert content["services"][0]["reason"] == (
        "the cluster tells nothing of Pod: it answered 403; "
        "bind the Roles that `python -m cli rights STACK --for gate` prints"
    )


def test_a_canary_that_gets_every_request_passes_without_a_comparison(service, capsys):
    service.write(weight=100)
    service.give(100)
    content = document(capsys)
    assert content["exitCode"] == 0
    assert service.server.asked == []


def served(service):
    """Return the service of the stack file."""
    return yaml.safe_load(service.path.read_text())["config"]["inference-stacks:stack"]["services"]["chat"]


def test_a_canary_that_gets_every_request_is_folded_into_its_service(service, capsys):
    image = "registry.example/vllm-openai:v0.31.0"

    def edit(stack):
        stack["services"]["chat"]["canary"]["engine"] = {"image": image}
        stack["services"]["chat"]["engine"] = {"image": image.replace("31", "30"), "args": ["--seed=1"]}

    service.write(edit, weight=100)
    service.give(100)
    before = served(service)
    content = document(capsys, "--propose")
    assert content["services"][0]["proposal"]["words"] == [
        "services.chat.canary is folded into services.chat in Pulumi.dev.yaml"
    ]
    engine = {"image": image, "args": ["--seed=1"]}
    assert served(service) == {key: value for key, value in before.items() if key != "canary"} | {"engine": engine}
    assert document(capsys, "--propose")["services"] == []


def test_a_canary_whose_keys_cannot_be_moved_is_left_as_it_is_with_the_way_to_fold_it_in(service, capsys):
    def edit(stack):
        stack["services"]["chat"]["canary"]["engine"] = {"args": ["--seed=7"]}
        stack["services"]["chat"]["engine"] = {"args": ["--enforce-eager"]}

    service.write(edit, weight=100)
    service.give(100)
    before = service.path.read_bytes()
    proposal = document(capsys, "--propose")["services"][0]["proposal"]
    assert (proposal["weight"], proposal["file"]) == (None, None)
    assert proposal["words"][0].startswith("fold the canary in: move the keys of services.chat.canary")
    assert service.path.read_bytes() == before


def test_a_query_of_the_user_is_a_gate(service, capsys):
    query = 'sum(increase(refusals_total{variant="$variant",pod=~"x$"}[$window]))'
    service.write(queries={"refusals": {"bad": query, "all": query.replace("refusals", "answers"), "worse": 1}})
    scrape(service, *primary(), *canary())
    for variant, bad in (("primary", 0), ("canary", 12)):
        text = query.replace("$variant", variant).replace("$window", "2m")
        service.server.values[text] = bad
        service.server.values[text.replace("refusals", "answers")] = 60
    content = document(capsys)
    assert content["exitCode"] == 8
    assert counted(content, "refusals", "primary") == (60 * 30, 0)
    assert counted(content, "refusals", "canary") == (60 * 30, 12 * 30)


def scrape_pickers(service, canary_errors):
    """Let the pickers count a request a second, and let some of a hundred of the canary's be errors."""
    moments = range(service.start - 600, service.start + SECONDS, 15)
    for variant, errors in (("primary", 1), ("canary", canary_errors)):
        labels = {"namespace": service.namespace, "inference_service": "chat", "variant": variant}
        labels |= {"job": "picker", "instance": f"10.0.0.{errors}:9090"}
        counts = {
            ("up", ""): [1] * len(moments),
            ("llm_d_epp_request_total", ""): [15 * number for number in range(len(moments))],
            ("llm_d_epp_request_error_total", "Internal"): [
                15 * number * errors / 100 for number in range(len(moments))
            ],
        }
        for (name, code), values in counts.items():
            more = {"__name__": name} | ({"error_code": code} if code else {})
            samples = list(zip(moments, values, strict=True))
            service.server.series.append((labels | more, samples))


@pytest.mark.parametrize(("canary_errors", "code"), [(2, 6), (30, 8), (1, 0)])
def test_a_picker_that_counts_is_enough_where_engines_are_not_scraped(service, capsys, canary_errors, code):
    def edit(stack):
        chat = stack["services"]["chat"]
        chat["slo"] = {"availability": 99.9, "source": "picker"}
        chat["metrics"] = {"decode": False}
        chat["canary"]["metrics"] = {"decode": False}
        del chat["canary"]["gates"]["worse"]["ttft"]

    service.write(edit)
    scrape_pickers(service, canary_errors)
    content = document(capsys)
    assert (content["exitCode"], content["services"][0]["obstacles"]) == (code, [])


def test_the_formats_tell_the_same(service, capsys):
    scrape(service, *primary(), *canary(bad=0.2))
    markdown = commands.ended(capsys, "gate", "dev", "--format", "markdown").output
    assert "### " in markdown
    assert "| errors |" in markdown
    assert commands.ended(capsys, "gate", "dev", "--format", "text").output.count("worse") >= 2


def edited(service, before):
    """Return the numbers that the stack file has in place of others."""
    after = service.path.read_text()
    return [(old, new) for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]


def test_a_pass_proposes_the_next_step_and_a_failure_0(service, capsys):
    service.write(weight=5, minRequests=50)
    service.give(5)
    scrape(service, *primary(per_minute=60), *canary(per_minute=60))
    before = service.path.read_text()
    content = document(capsys, "chat", "--propose", "Pulumi.dev.yaml")
    assert content["exitCode"] == 0
    assert edited(service, before) == [("          weight: 5", "          weight: 25")]
    assert content["services"][0]["proposal"]["weight"] == 25
    service.server.series.clear()
    service.give(25)
    scrape(service, *primary(), *canary(bad=0.3))
    before = service.path.read_text()
    assert document(capsys, "--propose")["exitCode"] == 8
    assert edited(service, before) == [("          weight: 25", "          weight: 0")]


def test_nothing_is_proposed_without_a_verdict(service, capsys):
    scrape(service, *primary(), *canary(per_minute=0))
    before = service.path.read_text()
    content = document(capsys, "--propose")
    assert content["services"][0]["proposal"] is None
    assert service.path.read_text() == before


def test_a_weight_that_cannot_be_edited_is_refused_after_the_verdict(service, capsys):
    scrape(service, *primary(), *canary(bad=0.3))
    text = service.path.read_text().replace("weight: 50", "weight: &w 50")
    service.path.write_text(text)
    result = commands.ended(capsys, "gate", "dev", "--propose")
    assert result.code == 2
    assert "chat · worse" in result.output
    assert "services.chat.canary.weight: is not written as a plain number in Pulumi.dev.yaml" in result.errors
    assert "write 0 by hand" in result.errors
    assert service.path.read_text() == text


def test_the_file_of_another_stack_is_refused(service, capsys):
    result = commands.ended(capsys, "gate", "dev", "--propose", "Pulumi.prod.yaml")
    assert (result.code, result.output) == (2, "")
    assert "is not the file of the stack (Pulumi.prod.yaml)" in result.errors


def test_a_base_file_is_edited_where_the_weight_was_written(service, capsys, tmp_path):
    whole = yaml.safe_load(service.path.read_text())
    stack = whole["config"]["inference-stacks:stack"]
    base = {"services": {"chat": {"canary": copy.deepcopy(stack["services"]["chat"]["canary"])}}}
    del stack["services"]["chat"]["canary"]["weight"]
    stack["extends"] = ["base.yaml"]
    service.path.write_text(yaml.safe_dump(whole))
    (tmp_path / "base.yaml").write_text(f"# a comment\n{yaml.safe_dump(base)}")
    scrape(service, *primary(), *canary(bad=0.3))
    before = service.path.read_text()
    assert document(capsys, "--propose")["services"][0]["proposal"]["file"] == "base.yaml"
    assert service.path.read_text() == before
    assert (tmp_path / "base.yaml").read_text() == f"# a comment\n{yaml.safe_dump(base)}".replace(
        "weight: 50", "weight: 0"
    )


def test_waiting_ends_with_a_verdict_and_says_how_far_it_is(service, capsys, monkeypatch):
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            service.server.series.clear()
            scrape(service, *primary(), *canary(bad=0.3))

    monkeypatch.setattr(command.time, "sleep", pause)
    scrape(service, *primary(), *canary(per_minute=0))
    result = commands.ended(capsys, "gate", "dev", "--wait")
    assert result.code == 8
    assert pauses == [30, 30]
    first, *lines = result.errors.splitlines()
    assert first.startswith("waits until")
    assert len(lines) == 2
    assert all(line.endswith("chat undecided: 500 requests more") for line in lines)


def test_waiting_ends_when_the_time_is_over_without_a_verdict(service, capsys, monkeypatch):
    service.write(worse={"errors": 0.01})
    scrape(service, *primary(), *canary())
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        raise AssertionError

    monkeypatch.setattr(command.time, "sleep", pause)
    result = commands.ended(capsys, "gate", "dev", "--wait")
    assert (result.code, pauses) == (6, [])
    assert "the time is over without a verdict; " in " ".join(result.output.split())
    assert "more" not in result.output
    (compared_service,) = document(capsys)["services"]
    assert (compared_service["isOver"], compared_service["lacking"]) == (True, None)


def test_a_window_has_an_end(service, capsys):
    service.changed_at -= 30 * 24 * 3600
    service.set_times()
    scrape(service, *primary(), *canary())
    for labels, samples in service.server.series:
        if labels["__name__"] == "up":
            samples.insert(0, (service.changed_at + 300, 1))
    content = document(capsys)
    assert content["services"][0]["minutes"] == BAKE + 24 * 60
    assert content["exitCode"] == 6


def test_a_window_whose_begin_is_no_longer_stored_is_not_measured(service, capsys):
    service.changed_at -= 3600
    service.set_times()
    scrape(service, *primary(), *canary(), before=0)
    content = document(capsys)
    assert content["exitCode"] == 1
    assert "from the begin of the comparison" in content["services"][0]["gates"][0]["reason"]


def test_waiting_ends_at_the_stated_time(service, capsys, monkeypatch):
    monkeypatch.setattr(command.time, "sleep", lambda _: None)
    monkeypatch.setattr(command._AskedGates, "deadline", lambda _: datetime.now(UTC))
    scrape(service, *primary(), *canary(per_minute=0))
    assert commands.ended(capsys, "gate", "dev", "--wait").code == 6


def mistake(capsys, *arguments):
    result = commands.ended(capsys, "gate", "dev", *arguments)
    assert (result.code, result.output) == (2, "")
    return result.errors


def without(*keys):
    def edit(stack):
        place = stack
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return edit


def test_what_lacks_is_told(service, capsys):
    assert "names no service of the stack (other)" in mistake(capsys, "other")
    service.write(without("observability", "prometheus"))
    assert "observability.prometheus.serverAddress: is missing" in mistake(capsys)
    assert commands.ended(capsys, "gate", "dev", "--prometheus", service.server.url).code in {1, 6}
    service.write(without("services", "chat", "canary", "gates"))
    assert "services.chat.canary.gates: is missing" in mistake(capsys, "chat")
    service.write(without("services", "chat", "canary"))
    assert "services.chat.canary: is missing" in mistake(capsys, "chat")
    service.write(without("services", "chat", "slo"))
    assert "services.chat.canary.gates: needs slo" in mistake(capsys, "chat")
    service.write(without("observability", "metrics"))
    assert "needs observability.metrics" in mistake(capsys, "chat")


@pytest.mark.parametrize("option", ["--propose", "--wait"])
def test_a_stack_without_gates_has_nothing_to_judge_and_asks_nobody(service, capsys, option):
    def edit(stack):
        without("services", "chat", "canary", "gates")(stack)
        without("observability", "prometheus")(stack)

    service.write(edit)
    result = commands.ended(capsys, "gate", "dev", option)
    assert (result.code, result.errors) == (0, "")
    assert result.output.endswith("dev: no canary has gates\n")
    assert document(capsys, option)["services"] == []


def test_a_weight_of_100_passes_only_if_the_route_gives_all_requests_to_the_canary(service, capsys):
    service.write(weight=100)
    service.give(100)
    assert document(capsys)["exitCode"] == 0
    for ref in service.living.of("HTTPRoute", "chat")["spec"]["rules"][0]["backendRefs"]:
        ref |= {"group": "", "kind": "Service", "name": "interceptor", "namespace": "elsewhere"}
    before = service.path.read_bytes()
    content = document(capsys, "--propose")
    assert content["exitCode"] == 6
    assert content["services"][0]["reason"].startswith("the route does not tell which share of the requests")
    assert service.path.read_bytes() == before


@pytest.mark.parametrize(("compared_weight", "present"), [(5, 0), (100, 0), (100, 25)])
def test_a_weight_that_changes_during_the_comparison_stays(service, capsys, monkeypatch, compared_weight, present):
    service.write(weight=compared_weight, minRequests=50)
    service.give(compared_weight)
    scrape(service, *primary(per_minute=60), *canary(per_minute=60))
    read = gates.judge

    def judge(*arguments):
        reports = read(*arguments)
        service.write(weight=present, minRequests=50)
        return reports

    monkeypatch.setattr(gates, "judge", judge)
    result = commands.ended(capsys, "gate", "dev", "--propose")
    assert result.code == 2
    assert "chat · not worse" in result.output
    words = f"is {present} in Pulumi.dev.yaml and was {compared_weight} during the comparison, so nothing was changed"
    assert f"services.chat.canary.weight: {words}; ask again" in result.errors
    assert f"weight: {present}\n" in service.path.read_text()


def test_the_token_is_neither_sent_to_a_server_of_the_stack_file_nor_shown(service, capsys, monkeypatch):
    monkeypatch.setenv(prometheus.TOKEN, "glsa_Zq7vK2mN8pR4tX6w")
    errors = mistake(capsys)
    assert "only the configuration names it" in errors
    assert "glsa" not in errors
    assert service.server.asked == []
    scrape(service, *primary(), *canary(bad=0.3))
    result = commands.ended(capsys, "gate", "dev", "--prometheus", service.server.url)
    assert result.code == 8
    assert "glsa" not in result.output
    assert {header for *_, header in service.server.asked} == {"Bearer glsa_Zq7vK2mN8pR4tX6w"}


def test_offline_nobody_is_asked(service, capsys):
    result = commands.ended(capsys, "gate", "dev", "--offline")
    assert result.code == 1
    assert service.server.asked == []


def test_a_pipe_cannot_be_proposed_into(service, tmp_path):
    with pytest.raises(proposals.ConfigError, match="is not the file of the stack"):
        proposals.check_file("/dev/stdin", str(service.path))
