"""The stand-in of tests does what the real interceptor did, and finds and remembers as it does."""

import contextlib
import dataclasses

import pytest

from planning.interceptor.resolution import Unresolved
from tests.support.traffic.billing import cases, engine, observed
from tests.support.traffic.interceptors import StandIn
from tests.support.traffic.lookups import Cache, Memory
from tests.support.waits import eventually

URL = "http://model.models.svc.cluster.local:8000"
CASES = cases()


@contextlib.contextmanager
def stand_in(found, address, **options):
    """Run a stand-in with what its search finds, and with where that leads."""
    server = StandIn(("127.0.0.1", 0), lambda _: found, lambda _: address, **options)
    try:
        yield server
    finally:
        server.end()


def rows(server):
    """Return the rows of its bill once it is through with its requests."""
    eventually(lambda: server.ended == server.begun)
    return [dataclasses.asdict(event) for event in server.events]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}, forced" if case.forces_usage else case.name)
def test_the_stand_in_answers_forwards_and_bills_as_the_interceptor_does(case):
    """See defects U4, U1. See phoebe 1.2, 1.4, 1.5, 5.5."""
    with engine(case) as model, stand_in(URL, model.server_address) as server:
        assert observed(server.server_port, model, case, lambda: rows(server)) == case.verdict


@pytest.mark.parametrize("bills_partial", [True, False])
def test_a_client_that_goes_is_billed_by_the_setting(bills_partial):
    """See phoebe 1.5."""
    (case,) = (item for item in CASES if item.name == "a stream whose client goes" and not item.forces_usage)
    with engine(case) as model, stand_in(URL, model.server_address, bills_partial=bills_partial) as server:
        bill = observed(server.server_port, model, case, lambda: rows(server))["bill"]
    assert bill == (case.verdict["bill"] if bills_partial else None)


@pytest.mark.parametrize(("found", "status"), [(None, 404), (URL, 502)])
def test_a_model_that_is_unknown_or_gone_is_not_billed(found, status):
    """See phoebe 3.6."""
    with engine(CASES[0]) as model, stand_in(found, None) as server:
        seen = observed(server.server_port, model, CASES[0], lambda: rows(server))
    assert (seen["status"], seen["engine"], seen["bill"]) == (status, None, None)


class Searches:
    """A search that says what it is told to, counts, and has a clock."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.count = 0
        self.now = 1000.0

    def __call__(self, _):
        self.count += 1
        return self.outcome

    def cache(self, **memory):
        return Cache(self, Memory(**memory), lambda: self.now)


def test_what_was_found_is_kept_for_five_minutes():
    """See phoebe 5.2. See defects U2."""
    search = Searches(URL)
    cache = search.cache()
    assert [cache("a") for _ in range(5)] == [URL] * 5
    search.outcome = "http://other"
    search.now = search.now + 300
    assert (cache("a"), search.count) == (URL, 1)
    search.now += 0.001
    assert (cache("a"), search.count) == ("http://other", 2)


def test_what_was_not_found_is_searched_for_again_after_ten_seconds():
    """See phoebe 5.2."""
    search = Searches(Unresolved.NOT_FOUND)
    cache = search.cache()
    assert [cache("a"), cache("a")] == [None, None]
    search.outcome = URL
    assert (cache("a"), search.count) == (None, 1)
    search.now += 10.001
    assert (cache("a"), search.count) == (URL, 2)


@pytest.mark.parametrize("error", [Unresolved.AMBIGUOUS, Unresolved.NO_PORT, 403])
def test_an_error_is_an_unknown_model_that_is_searched_for_at_once(error):
    """See phoebe 3.6, 5.2, 5.6."""
    search = Searches(error)
    cache = search.cache()
    assert cache("a") is None
    search.outcome = URL
    search.now = search.now + 0.001
    assert (cache("a"), search.count) == (URL, 2)


def test_an_error_takes_the_place_of_what_was_found():
    """See phoebe 5.6."""
    search = Searches(URL)
    cache = search.cache()
    assert cache("a") == URL
    search.outcome = 500
    search.now = search.now + 301
    assert cache("a") is None


def test_the_ids_of_longest_ago_are_forgotten():
    """See phoebe 3.7."""
    search = Searches(URL)
    cache = search.cache(size=2)
    for name in ("a", "b", "a", "c", "a", "b"):
        cache(name)
    assert search.count == 4
