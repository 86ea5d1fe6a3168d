"""Samples from a Prometheus on loopback, and from servers that are none."""

import json
import socket
import time

import pytest

from facts import hosts
from facts import prometheus as reader
from models.problems import ConfigError
from planning.ground.cluster_facts import Unknown
from planning.ground.time_series import Span
from tests.support.cluster import certificates
from tests.support.traffic import prometheus_server
from tests.support.traffic.prometheus_server import json_answer, matrix

SELECTOR = 'requests_total{variant="canary"}'
SPAN = Span(1_000_000, 1_003_600)
TOKEN = "glsa_Zq7vK2mN8pR4tX6w"


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(reader, "_PAUSE_SECONDS", 0)
    for name in (reader.TOKEN, reader.AUTHORITY, hosts.TRUSTED, hosts.OFFLINE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def played():
    with prometheus_server.playing() as server:
        yield server


def read(url, span=SPAN, seconds=20.0, **options):
    asked = reader.server(url, is_named_by_caller=True)
    return reader.samples(asked, [SELECTOR], span, seconds, **options)[SELECTOR]


def reason(url, **options):
    answer = read(url, **options)
    assert isinstance(answer, Unknown)
    return answer.reason


def answering(server, content, status=200):
    server.answer = lambda *_: json_answer(content, status)
    return reason(server.url)


def test_samples_are_those_of_the_selector_within_the_time(played):
    inside = [(SPAN.start + 1, 1), (SPAN.end, 5)]
    played.add("requests_total", [(SPAN.start, 0), *inside, (SPAN.end + 1, 6)], variant="canary", pod="a")
    played.add("requests_total", inside, variant="primary", pod="b")
    (series,) = read(played.url)
    assert series.labels == {"__name__": "requests_total", "variant": "canary", "pod": "a"}
    assert list(zip(series.times, series.values, strict=True)) == inside


def test_a_long_time_is_read_in_parts_whose_samples_are_those_of_the_whole(played):
    span = Span(SPAN.start, SPAN.start + 3 * 3600 + 1800)
    samples = [(moment, moment - span.start) for moment in range(span.start + 30, span.end + 1, 30)]
    played.add("requests_total", samples, variant="canary")
    (series,) = read(played.url, span)
    assert list(zip(series.times, series.values, strict=True)) == samples
    assert len(played.asked) == 4


def test_a_sample_at_a_border_that_comes_twice_counts_once(played):
    span = Span(SPAN.start, SPAN.start + 7200)
    middle = SPAN.start + 3600
    played.answer = lambda *_: matrix([{"metric": {}, "values": [[middle, "7"]]}])
    (series,) = read(played.url, span)
    assert (list(series.times), list(series.values)) == ([middle], [7])


def test_values_of_an_expression_are_read_at_the_end_of_each_step(played):
    expression = 'sum(increase(a_total{variant="canary"}[1m]))'
    played.values[expression] = 4
    asked = reader.server(played.url, is_named_by_caller=True)
    (series,) = reader.values(asked, [expression], Span(SPAN.start, SPAN.start + 185), 60)[expression]
    assert list(series.times) == [SPAN.start + 60, SPAN.start + 120, SPAN.start + 180]
    assert list(series.values) == [4, 4, 4]


def test_the_token_goes_to_the_server_that_the_caller_names(played, monkeypatch):
    monkeypatch.setenv(reader.TOKEN, f"{TOKEN}\n")
    read(played.url)
    assert {header for _, _, header in played.asked} == {f"Bearer {TOKEN}"}
    assert TOKEN not in repr(reader.server(played.url, is_named_by_caller=True))


def test_the_token_goes_to_no_server_that_only_the_configuration_names(played, monkeypatch):
    monkeypatch.setenv(reader.TOKEN, TOKEN)
    with pytest.raises(ConfigError, match="only the configuration names it") as error:
        reader.server(played.url, is_named_by_caller=False)
    assert TOKEN not in str(error.value)
    monkeypatch.setenv(hosts.TRUSTED, played.url)
    assert reader.server(played.url, is_named_by_caller=False).token == TOKEN
    monkeypatch.delenv(reader.TOKEN)
    monkeypatch.delenv(hosts.TRUSTED)
    assert reader.server(played.url, is_named_by_caller=False).token is None


def test_the_token_goes_nowhere_by_plain_http_but_to_this_machine(monkeypatch):
    monkeypatch.setenv(reader.TOKEN, TOKEN)
    with pytest.raises(ConfigError, match="by plain http"):
        reader.server("http://prometheus.monitoring:9090", is_named_by_caller=True)
    assert reader.server("https://prometheus.example", is_named_by_caller=True).token == TOKEN


@pytest.mark.parametrize("url", ["", "prometheus:9090", "ftp://a", "http://", "http://a:b:c", "http://[::1"])
def test_a_text_that_is_no_url_of_http_is_refused(url):
    with pytest.raises(ConfigError, match="is no URL of http or https"):
        reader.server(url, is_named_by_caller=True)


@pytest.mark.parametrize("url", ["http://me:secret@a", "http://a?token=secret", "http://a#secret"])
def test_a_url_with_credentials_is_refused_without_showing_them(url):
    with pytest.raises(ConfigError, match="has more than") as error:
        reader.server(url, is_named_by_caller=True)
    assert "secret" not in str(error.value)


def test_a_token_with_line_breaks_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv(reader.TOKEN, f"{TOKEN}\nHost: other")
    with pytest.raises(ConfigError, match="characters that no token has") as error:
        reader.server("https://a", is_named_by_caller=True)
    assert TOKEN not in str(error.value)


def test_a_server_that_is_not_there_is_unknown():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert reason(url) == "Prometheus could not be read (it opens no connection)"


def test_a_server_that_recovers_is_asked_again(played):
    statuses = iter([503, 500, 200])
    played.answer = lambda *_: matrix([]) if (status := next(statuses)) == 200 else json_answer({}, status)
    assert read(played.url) == []
    assert len(played.asked) == 3


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_does_not_recover_is_unknown(played, status):
    assert answering(played, {}, status) == f"Prometheus could not be read (it answered {status})"
    assert len(played.asked) == 3


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_wants_a_token_is_told_with_the_variable(played, status):
    assert answering(played, {}, status) == (
        f"Prometheus answered {status}; PROMETHEUS_TOKEN has the token of whoever may ask"
    )
    assert len(played.asked) == 1


def test_the_text_about_a_wrong_query_is_told_without_what_a_terminal_obeys(played, monkeypatch):
    monkeypatch.setenv(reader.TOKEN, TOKEN)
    text = f"parse error\x1b[2J {TOKEN} {'x' * 500}"
    words = answering(played, {"status": "error", "error": text}, 400)
    assert words.startswith("Prometheus answered 400: parse error?[2J … xxx")
    assert len(words) < 250


@pytest.mark.parametrize("length", range(180, 201))
def test_no_part_of_the_token_is_told_where_a_text_is_cut(played, monkeypatch, length):
    monkeypatch.setenv(reader.TOKEN, TOKEN)
    text = f"{'x' * length}{TOKEN}"
    words = answering(played, {"status": "error", "error": text}, 400)
    played.answer = lambda *_: matrix([], warnings=[text])
    assert TOKEN[:1] not in words.removeprefix("Prometheus answered 400")
    assert TOKEN[:1] not in reason(played.url).partition(": ")[2]


@pytest.mark.parametrize(
    "content",
    [
        *([], "text", None, 1, {}, {"status": "success"}, {"status": "success", "data": {"resultType": "vector"}}),
        {"status": "error", "data": {"resultType": "matrix", "result": []}},
    ],
)
def test_answers_that_no_prometheus_gives_are_unknown(played, content):
    assert answering(played, content) == "Prometheus answered with something else than samples"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"metric": {}, "values": [[1, "NaN"]]}, "a sample that is no number"),
        ({"metric": {}, "values": [[1, "+Inf"]]}, "a sample that is no number"),
        ({"metric": {}, "values": [[1, None]]}, "a sample that is no number"),
        ({"metric": {}, "values": [[1]]}, "a sample that is no number"),
        ({"metric": {}, "values": ["12"]}, "a sample that is no number"),
        ({"metric": {}, "values": [[1, "1e16"]]}, "a sample above 1e+15"),
        ({"metric": {}, "values": [[1, "-1e300"]]}, "a sample above 1e+15"),
        ({"metric": {}, "values": [[2, "1"], [1, "1"]]}, "samples in no order"),
        ({"values": []}, "a series that is no counter"),
        ({"metric": {}, "histograms": []}, "a series that is no counter"),
        ("text", "a series that is no counter"),
    ],
)
def test_series_that_are_no_counters_are_unknown(played, entry, words):
    played.answer = lambda *_: matrix([entry])
    assert reason(played.url) == f"Prometheus answered with {words}"


def test_a_series_without_samples_is_left_out(played):
    played.answer = lambda *_: matrix([{"metric": {}, "values": []}])
    assert read(played.url) == []


def test_an_answer_that_may_lack_series_is_unknown(played):
    played.answer = lambda *_: matrix([], warnings=["store eu\nis down"])
    assert reason(played.url) == "Prometheus warns that its answer may be incomplete: store eu?is down"
    played.answer = lambda *_: matrix([], infos=["PromQL info: metric might not be a counter"])
    assert read(played.url) == []


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe", b"[" * 100_000, b'{"status": '])
def test_answers_that_are_no_json_are_unknown(played, body):
    played.answer = lambda *_: (200, {}, body)
    assert reason(played.url) == "Prometheus answered with something else than JSON"


def test_half_an_answer_is_unknown(played):
    status, headers, body = matrix([])
    played.answer = lambda *_: (status, headers | {"Content-Length": str(2 * len(body))}, body)
    assert reason(played.url) == "Prometheus could not be read (IncompleteRead)"


def test_a_huge_answer_is_unknown_and_is_not_read_to_its_end(played, monkeypatch):
    monkeypatch.setattr(reader, "_LARGEST", 2**20)
    played.answer = lambda *_: (200, {}, b" " * (2**20 + 2))
    assert reason(played.url) == "Prometheus answered with more than 1 MiB"


def test_too_many_samples_are_unknown(played, monkeypatch):
    monkeypatch.setattr(reader, "_MOST_SAMPLES", 9)
    played.add("requests_total", [(SPAN.start + second, 1) for second in range(1, 11)], variant="canary")
    assert reason(played.url) == "Prometheus has more than 9 samples of the time"


def test_a_redirect_to_another_server_is_not_followed(played, monkeypatch):
    monkeypatch.setenv(reader.TOKEN, TOKEN)
    with prometheus_server.playing() as other:
        played.answer = lambda *_: (302, {"Location": f"{other.url}/api/v1/query"}, b"")
        assert reason(played.url) == "Prometheus could not be read (it sends requests to another server)"
        assert other.asked == []


def test_a_redirect_in_a_circle_is_unknown(played):
    played.answer = lambda *_: (302, {"Location": f"{played.url}/api/v1/query"}, b"")
    assert reason(played.url).startswith("Prometheus answered 302")


def test_a_slow_server_ends_with_the_deadline(played):
    played.drips = True
    played.answer = lambda *_: (200, {"Content-Length": "1000000"}, b"")
    start = time.monotonic()
    assert reason(played.url, seconds=0.5) == "Prometheus did not answer within 0.5 seconds"
    assert time.monotonic() - start < 10


def test_offline_nobody_is_asked(played, monkeypatch):
    monkeypatch.setenv(hosts.OFFLINE, "true")
    assert reason(played.url) == "this run is offline"
    assert played.asked == []


def test_a_server_with_tls_needs_the_authority_of_the_variable(tmp_path, monkeypatch):
    pems = certificates.make(tmp_path)
    with prometheus_server.playing() as server:
        server.socket = pems.server_context().wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        assert reason(url) == "Prometheus could not be read (SSLCertVerificationError)"
        authority = tmp_path / "authority.pem"
        authority.write_bytes(pems.data("ca"))
        monkeypatch.setenv(reader.AUTHORITY, str(authority))
        assert read(url) == []


def test_a_file_of_certificates_that_is_none_is_refused(tmp_path, monkeypatch):
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    for path in (str(empty), str(tmp_path / "missing.pem")):
        monkeypatch.setenv(reader.AUTHORITY, path)
        with pytest.raises(ConfigError, match="is no file with certificates in PEM"):
            reader.server("https://a", is_named_by_caller=True)


def test_the_path_of_a_server_behind_a_proxy_comes_before_that_of_the_api(played):
    read(f"{played.url}/prometheus/")
    assert {path for path, _, _ in played.asked} == {"/prometheus/api/v1/query"}


def test_questions_have_the_selector_as_it_is_written(played):
    read(played.url)
    assert [query["query"] for _, query, _ in played.asked] == [f"{SELECTOR}[3600s]"]
    assert json.dumps(played.asked).count(str(SPAN.end)) == 1
