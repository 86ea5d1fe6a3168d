"""Requests to servers of a configuration: no link-local address is asked, however it is named."""

import socket
import ssl
import urllib.error
import urllib.request

import pytest

from facts import transport as module
from facts.transport import RefusedAddressError, Run, Transport

METADATA = "169.254.169.254"


@pytest.fixture
def connections(monkeypatch):
    """Note which addresses are connected to. Names below `.example` lead to the addresses of `names`."""
    noted = []
    connect = socket.create_connection

    def create(address, *arguments):
        noted.append(address[0])
        if address[0] != "127.0.0.1":
            raise ConnectionRefusedError
        return connect(address, *arguments)

    monkeypatch.setattr(socket, "create_connection", create)
    return noted


@pytest.fixture
def names(monkeypatch):
    """Map names to addresses."""
    known, resolve = {}, socket.getaddrinfo

    def lookup(host, port, *arguments, **options):
        addresses = known.get(host)
        if addresses == []:
            raise socket.gaierror
        if addresses is None:
            return resolve(host, port, *arguments, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return known


def client(*, known=False):
    return Transport(Run(10), lambda _: known)


def get(url, transport):
    with transport.open(urllib.request.Request(url)) as answer:
        return answer.read()


@pytest.mark.parametrize(
    "host", [METADATA, "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "[fe80::1]", "[::ffff:169.254.169.254]"]
)
def test_an_address_is_refused_in_every_spelling(connections, host):
    """See defects H5."""
    with pytest.raises((RefusedAddressError, urllib.error.URLError)) as error:
        get(f"http://{host}/latest", client())
    assert isinstance(getattr(error.value, "reason", error.value), RefusedAddressError)
    assert connections == []


@pytest.mark.parametrize("addresses", [[METADATA], ["127.0.0.1", METADATA], [METADATA, "127.0.0.1"]])
def test_a_name_that_leads_to_such_an_address_is_refused(names, connections, addresses):
    """See defects H5."""
    names["metadata.example"] = addresses
    with pytest.raises(urllib.error.URLError) as error:
        get("http://metadata.example/latest", client())
    assert isinstance(error.value.reason, RefusedAddressError)
    assert connections == []


@pytest.mark.parametrize("target", [f"http://{METADATA}/latest", "http://metadata.example/latest", "ftp://127.0.0.1/"])
def test_a_redirect_to_such_an_address_is_refused(unknown_server, names, connections, target):
    """See defects H5."""
    names["metadata.example"] = [METADATA]
    unknown_server.answer = lambda *_: (302, {"Location": target}, b"")
    with pytest.raises((RefusedAddressError, urllib.error.URLError)):
        get(unknown_server.url, client())
    assert connections == ["127.0.0.1"]


def test_reasons_are_told_of_public_and_known_servers_alone(names, connections):
    """See defects H5."""
    names |= {"public.example": ["8.8.8.8"], "private.example": ["10.0.0.1"], "both.example": ["8.8.8.8", "10.0.0.1"]}
    names["absent.example"] = []
    telling = {}
    for name in ("public.example", "private.example", "both.example", "absent.example"):
        for known in (False, True):
            transport = client(known=known)
            with pytest.raises(urllib.error.URLError):
                get(f"https://{name}", transport)
            telling[name, known] = transport.is_telling
    assert {name for (name, known), is_telling in telling.items() if is_telling and not known} == {"public.example"}
    assert all(is_telling for (_, known), is_telling in telling.items() if known)


def test_what_a_private_server_hides_stays_hidden(unknown_server, names, connections):
    """See defects H5. A redirect from a private server to a public one is no excuse."""
    names["public.example"] = ["8.8.8.8"]
    unknown_server.answer = lambda *_: (302, {"Location": "http://public.example/"}, b"")
    transport = client()
    with pytest.raises(urllib.error.URLError):
        get(unknown_server.url, transport)
    assert connections == ["127.0.0.1", "8.8.8.8"]
    assert not transport.is_telling


def test_all_questions_of_a_run_share_one_tls_context(monkeypatch, connections, names):
    """See defects H5."""
    made, create = [], ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda **more: made.append(1) or create(**more))
    names["private.example"] = ["10.0.0.1"]
    run = Run(10)
    for _ in range(3):
        with pytest.raises(urllib.error.URLError):
            get("https://private.example", Transport(run, lambda _: False))
    assert len(made) == 1


def test_a_proxy_of_the_environment_is_used_and_changes_no_judgement(unknown_server, monkeypatch):
    """See defects H5. Behind a proxy no server is known to be public."""
    monkeypatch.setenv("http_proxy", unknown_server.url)
    unknown_server.answer = lambda *_: (200, {}, b"here")
    transport = client()
    assert get("http://public.example/x", transport) == b"here"
    assert not transport.is_telling
    with pytest.raises(RefusedAddressError):
        get(f"http://{METADATA}/latest", client())
    assert [path for path, _ in unknown_server.seen] == ["http://public.example/x"]


def test_nothing_is_sent_after_the_end(unknown_server):
    with pytest.raises(TimeoutError):
        get(unknown_server.url, Transport(Run(0), lambda _: False))
    assert unknown_server.seen == []


def test_the_wait_for_a_connection_is_short_and_that_for_an_answer_lasts_until_the_end(unknown_server, monkeypatch):
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.01)
    waits, connect = [], socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda at, wait: waits.append(wait) or connect(at, 5))
    unknown_server.answer = lambda *_: (200, {}, b"here")
    assert get(unknown_server.url, client()) == b"here"
    assert waits == [0.01]
