"""Registries on loopback are asked for their newest releases; a silent or absent one counts as unknown."""

import time
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.traffic.servers import Server
from upstream import registries
from upstream.registries import ReleaseList

MODULE = ReleaseList("go", "example.org/Upper/module")
PACKAGE = ReleaseList("pypi", "vllm")
WHEELS = ("vllm-0.9.0", "vllm-0.10.1", "vllm-0.11.0rc1")


class Registry(Server):
    """A server with texts by path; all other paths are refused."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        self.asked = []
        self.delay = 0

    @property
    def url(self):
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers by the texts of the server."""

    def do_GET(self):
        """Answer one request."""
        self.server.asked.append(self.path)
        time.sleep(self.server.delay)
        body = self.server.answers.get(self.path)
        self.send_response(403 if body is None else 200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write((body or "").encode())

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def registry(monkeypatch):
    """Begin a server, to which all questions go."""
    server = Registry()
    server.begin()
    monkeypatch.setenv("GOPROXY", server.url)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.end()


def test_the_newest_release_of_a_module_is_told_by_its_numbers(registry):
    registry.answers["/example.org/!upper/module/@v/list"] = "v1.9.0\nv1.10.0\nv1.11.0-rc.1\nv1.2.3\n"
    assert registries.newest(MODULE) == "v1.10.0"


@pytest.mark.parametrize("separator", [",", "|"])
def test_a_proxy_that_refuses_is_followed_by_the_next(registry, monkeypatch, separator):
    registry.answers["/second/example.org/!upper/module/@v/list"] = "v0.1.0\n"
    proxies = [registry.url, "off", f"{registry.url}/second/", "direct"]
    monkeypatch.setenv("GOPROXY", separator.join(proxies))
    assert registries.newest(MODULE) == "v0.1.0"
    assert len(registry.asked) == 2


@pytest.mark.parametrize("proxies", ["direct", "off", "http://127.0.0.1:1"])
def test_a_module_without_a_proxy_that_answers_is_unknown(monkeypatch, proxies):
    monkeypatch.setenv("GOPROXY", proxies)
    assert registries.newest(MODULE) is None


@pytest.mark.parametrize("text", ["", "v1.0.0-rc.1\n", "<html>\n"])
def test_a_list_without_releases_is_unknown(registry, text):
    registry.answers["/example.org/!upper/module/@v/list"] = text
    assert registries.newest(MODULE) is None


def test_the_newest_release_of_a_package_is_told(registry):
    links = "".join(
        f'<a href="/files/{name}-py3-none-any.whl" data-core-metadata="true">{name}-py3-none-any.whl</a>'
        for name in WHEELS
    )
    registry.answers["/simple/vllm/"] = f"<!DOCTYPE html><html><body>{links}</body></html>"
    for name in WHEELS:
        _, _, version = name.partition("-")
        metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
        registry.answers[f"/files/{name}-py3-none-any.whl.metadata"] = metadata
    assert registries.newest(PACKAGE) == "0.10.1"


def test_a_package_that_the_index_lacks_is_unknown(registry):
    assert registries.newest(PACKAGE) is None
    assert registry.asked


@pytest.mark.parametrize("listing", [MODULE, PACKAGE], ids=str)
def test_a_registry_that_does_not_answer_in_time_is_unknown(registry, monkeypatch, listing):
    registry.delay = 20
    monkeypatch.setattr(registries, "SECONDS", 1)
    begun = time.monotonic()
    assert registries.newest(listing) is None
    assert time.monotonic() - begun < 15


def test_without_a_variable_the_go_command_names_the_proxies(registry, monkeypatch, tmp_path):
    registry.answers["/example.org/!upper/module/@v/list"] = "v1.2.3\n"
    go = tmp_path / "go"
    go.write_text(f"#!/bin/sh\necho {registry.url}\n", encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.delenv("GOPROXY")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert registries.newest(MODULE) == "v1.2.3"
    go.unlink()
    assert registries.newest(MODULE) is None
