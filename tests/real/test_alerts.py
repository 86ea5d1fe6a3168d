"""Alerts as they are deployed, in a real Prometheus that scrapes what serves requests behind a real proxy and pickers.

Model servers are played; they count their answers as vLLM's server does.
"""

import http.client
from concurrent.futures import ThreadPoolExecutor

import pytest

from manifests.alert_rules import name
from planning.ground.ports import METRICS_PORT
from planning.network.monitoring import PICKER_SERIES, POD_SERIES
from planning.observing.metrics import NAMESPACE_LABEL
from tests.support.prometheus.server import Target, prometheus
from tests.support.stacks import tree
from tests.support.traffic.data_path import SERVER
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "alerted"
SERVICE = {
    "engine": {"image": "docker.io/vllm/vllm-openai:v0.33.0"},
    "slo": {"availability": 99.9},
    "endpointPicker": {"metricsAuth": False},
}
BURNS = name("availability-burns-fast")
LIMIT = 0.0144
"""Share of failures in an hour and in five minutes above which the alert pages."""
ERRORS = "inference_objective_request_error_total"
REQUESTS = "inference_objective_request_total"
BATCH = 100
"""Requests between two looks at the alerts."""
BATCHES = 20
PROBES = 4
"""Probes of a pod for each request."""


@pytest.fixture(scope="module")
def path(new_path):
    settings = {
        "namespace": NAMESPACE,
        "namespaceOptions": {"create": True},
        "release": "gie-1.3",
        "observability": {"metrics": {"type": "prometheus-operator"}, "rules": {}},
    }
    return new_path(tree(failing=SERVICE, refusing=SERVICE, calm=SERVICE) | settings)


@pytest.fixture(scope="module")
def watching(path, tools, tmp_path_factory):
    """Return a Prometheus with the rules of the API server; it evaluates them each second, not each half minute."""
    rules = path.listed("prometheusrules")
    groups = [{**group, "interval": "1s"} for manifest in rules for group in manifest["spec"]["groups"]]
    targets = [*pods(path), *pickers(path)]
    with prometheus(tools["prometheus"].path, tmp_path_factory.mktemp("prometheus") / "run", targets, groups) as server:
        eventually(lambda: server.scraped(len(targets)))
        yield server


def pods(path):
    """Yield the targets of the monitor for pods."""
    for pod in path.pods(SERVER):
        metadata = pod["metadata"]
        labels = {label: metadata["labels"][key] for key, label in POD_SERIES.items()}
        for server in path.servers[metadata["name"]]:
            address = "{}:{}".format(*server.server_address)
            yield Target(address, {NAMESPACE_LABEL: NAMESPACE, "pod": metadata["name"], **labels})


def pickers(path):
    """Yield the targets of the monitor for pickers."""
    for key, picker in path.pickers.items():
        labels = {label: picker.labels[key] for key, label in PICKER_SERIES.items()}
        yield Target(f"127.0.0.1:{picker.ports[METRICS_PORT]}", {NAMESPACE_LABEL: NAMESPACE, "pod": key, **labels})


def probe(server):
    """Ask a pod for its models, as a kubelet does."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=60)
    try:
        connection.request("GET", "/v1/models")
        assert connection.getresponse().status == http.HTTPStatus.OK
    finally:
        connection.close()


def load(path, watching, service):
    """Ask a service, probe its pod meanwhile, and return the statuses of the answers, once they are all scraped."""
    (server,) = path.of(service)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(path.ask, service, prompt=f"question {number}") for number in range(BATCH)]
        probed = [pool.submit(probe, server) for _ in range(BATCH * PROBES)]
        for end in probed:
            end.result()
        statuses = [answer.result().status for answer in asked]
    scraped = f'sum(http_requests_total{{inference_service="{service}"}}) == {server.counted.total()}'
    watching.eventually(scraped)
    return statuses


def refused(path, watching):
    """Ask the service that refuses, and return the statuses of the answers, once some of them are scraped."""
    counted = f'sum({ERRORS}{{inference_service="refusing"}})'
    before = sum(sample.value for sample in watching.query(counted))
    statuses = [path.ask("refusing").status for _ in range(BATCH // 4)]
    watching.eventually(f"{counted} > {before}")
    return statuses


def burning(server):
    """Return the services whose alert fires."""
    return {
        sample.labels["inference_service"]
        for sample in server.query(f'ALERTS{{alertname="{BURNS}",alertstate="firing"}}')
    }


def share(server, errors, requests):
    """Return the share of errors, of series that a simpler alert would compare; None if there is none."""
    samples = server.query(f"sum(rate({errors}[5m])) / sum(rate({requests}[5m]))")
    return samples[0].value if samples else None


def ask_until_it_fires(watching, service, ask):
    """Ask a service until its alert fires, and return the statuses of the answers."""
    statuses = []
    for _ in range(BATCHES):
        statuses += ask()
        if service in burning(watching):
            break
    eventually(lambda: service in burning(watching), 30)
    return statuses


def test_every_rule_is_evaluated_without_an_error(watching):
    eventually(lambda: all(rule["health"] == "ok" for rule in watching.rules()), state=watching.rules)
    assert BURNS in {rule["name"] for rule in watching.rules()}


def test_services_that_answer_everything_page_nobody(path, watching):
    for service in ("failing", "calm"):
        # A counter begins with its first sample, so that a rate has to wait for the second one.
        assert {status for _ in range(2) for status in load(path, watching, service)} == {200}
        watching.eventually(f'inference_stacks:requests:rate5m{{inference_service="{service}"}} > 0')
    assert burning(watching) == set()


def test_bounds_of_pickers_are_stored_with_a_point(watching):
    """Pickers write them without one. Prometheus 2 leaves it so."""
    pickers = '__name__=~"inference_.+_bucket"'
    assert watching.query(f'{{{pickers}, le=~"1(\\\\.0)?"}}')
    assert watching.query(f'{{{pickers}, le="1"}}') == []


def test_3_percent_of_failures_page_while_probes_go_on(path, watching):
    (server,) = path.of("failing")
    server.fails_every = 33
    statuses = ask_until_it_fires(watching, "failing", lambda: load(path, watching, "failing"))
    assert 0.02 < statuses.count(500) / len(statuses) < 0.04
    assert set(statuses) == {200, 500}
    assert burning(watching) == {"failing"}


def test_neither_the_pickers_errors_nor_all_answers_of_the_server_would_have_paged(watching):
    service = '{inference_service="failing"}'
    of_picker = f"inference_objective_request_error_total{service}", f"inference_objective_request_total{service}"
    assert share(watching, *of_picker) in (None, 0)
    (requests,) = watching.query(f"sum(rate({of_picker[1]}[5m]))")
    assert requests.value > 0
    diluted = share(
        watching, 'http_requests_total{inference_service="failing",status="5xx"}', f"http_requests_total{service}"
    )
    assert 0 < diluted < LIMIT


def test_a_picker_that_refuses_every_request_pages_though_no_engine_was_asked(path, watching):
    (server,) = path.of("refusing")
    path.tell(server.pod, ready=False)
    eventually(lambda: path.ask("refusing").status == 503)
    statuses = ask_until_it_fires(watching, "refusing", lambda: refused(path, watching))
    assert set(statuses) == {503}
    assert burning(watching) == {"failing", "refusing"}
    assert not [seen for seen in server.seen if seen["path"] != "/v1/models"]
    service = '{inference_service="refusing"}'
    errors, requests = (
        f"inference_objective_request_error_total{service}",
        f"inference_objective_request_total{service}",
    )
    assert watching.query(errors)
    assert share(watching, errors, requests) is None
