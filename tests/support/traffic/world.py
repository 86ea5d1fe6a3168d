"""Stand-ins on loopback of all servers that commands may ask, which note whom they are asked by.

There is a port with TLS and one without; the header Host says which server is meant.
"""

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.cluster import certificates
from tests.support.traffic.registries import KIT, MANIFEST, modelkit, sha256

BUCKET = "models.s3.eu-central-1.amazonaws.com"
NAMES = (
    *("huggingface.co", "hub.example", "hub.acme.example", BUCKET, "minio.example", "minio.acme.example"),
    *("registry.acme.example", "tokens.acme.example", "registry.example", "tokens.example", "layers.example"),
    "images.example",
    *("cluster.acme.example", "api.github.com", "gitlab.acme.example", "prometheus.acme.example"),
)
METADATA = "169.254.169.254"
_BUCKET = {"source": "s3://models/llama", "region": "eu-central-1"}
_HUB = {"source": "hf://org/model", "size": "1Gi"}
MODELS: Mapping[str, Mapping[str, Any]] = {
    "aws": _BUCKET,
    "ours": {**_BUCKET, "endpoint": "https://minio.acme.example"},
    "theirs": {**_BUCKET, "endpoint": "https://minio.example"},
    "kit": {"source": "kit://registry.acme.example/org/kit:v1"},
    "public": {"source": "kit://registry.example/org/kit:v1"},
    "hub": _HUB,
    "mirror": {**_HUB, "endpoint": "https://hub.acme.example"},
    "strange": {**_HUB, "endpoint": "https://hub.example"},
    "image": {"source": "image://images.example/org/server:v1"},
    "elsewhere": {"source": "kit://elsewhere.example:5000/org/kit:v1"},
    "metadata": {"source": f"kit://{METADATA}/org/kit:v1", "insecure": True},
}
"""Models, one for each kind of server. The last two are on no stand-in."""
IDENTITY = {
    "HF_TOKEN": "hf_mine",
    "HF_ENDPOINT": "https://hub.acme.example",
    "AWS_ACCESS_KEY_ID": "AKIAMINE",
    "AWS_SECRET_ACCESS_KEY": "of-my-key",
    "AWS_SESSION_TOKEN": "of-my-session",
    "AWS_ENDPOINT_URL_S3": "https://minio.acme.example",
    "GITHUB_TOKEN": "ghs_mine",
    "PROMETHEUS_TOKEN": "glsa_mine",
}
"""Variables of a user with an identity for everything."""
LOGIN = base64.b64encode(b"me:mine").decode()
IDENTITIES = {
    "hf_mine": "`HF_TOKEN`",
    "AKIAMINE": "AWS identity",
    "of-my-session": "AWS session token",
    "of-my-key": "AWS secret key",
    LOGIN: "Docker's credentials",
    "of-tokens.acme.example": "token that Docker's credentials got",
    "of-tokens.example": "token that anybody gets",
    "of-my-kubeconfig": "token of the kubeconfig",
    "ghs_mine": "`GITHUB_TOKEN`",
    "glpat_mine": "`GITLAB_TOKEN`",
    "glsa_mine": "`PROMETHEUS_TOKEN`",
}
"""Words for secrets. Every request is searched for all of them."""
_CONFIG = json.dumps({"model_type": "qwen3", "num_hidden_layers": 28}).encode()
_COMMIT = "a" * 40
_LISTING = f"""<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated>
<Contents><Key>llama/config.json</Key><Size>{len(_CONFIG)}</Size><ETag>"e"</ETag></Contents></ListBucketResult>"""
Answer = tuple[int, Mapping[str, str], bytes]


_ACCOUNTS = {
    "/graphql": b'{"data": {"viewer": {"databaseId": 1}}}',
    "/api/v4/user": b'{"id": 1}',
}
"""Answers of forges to the question whose token it is, by path."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        host = str(self.headers["Host"]).partition(":")[0]
        text = "\n".join([self.path, *self.headers.values(), body.decode()])
        identities = {word for secret, word in IDENTITIES.items() if secret in text}
        if not identities and self.headers.get("Authorization"):
            identities = {"an unknown identity"}
        self.server.seen.setdefault(host, set()).update(identities or {"nobody"})
        status, headers, content = _answer(host, urlsplit(self.path).path, self.headers.get("Authorization"))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), "Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815, the name that the base class calls

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    seen: dict[str, set[str]]

    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over clients that end a connection."""


def _answer(host: str, path: str, authorization: str | None) -> Answer:
    if path.startswith("/v2/"):
        return _registry(host, path, authorization)
    if path.startswith("/api/models/"):
        siblings = [{"rfilename": "config.json", "size": len(_CONFIG)}]
        return 200, {}, json.dumps({"sha": _COMMIT, "siblings": siblings}).encode()
    if path.endswith("/config.json"):
        return 200, {}, _CONFIG
    if path in _ACCOUNTS:
        return 200, {}, _ACCOUNTS[path]
    bodies = {
        **dict.fromkeys((BUCKET, "minio.example", "minio.acme.example"), _LISTING.encode()),
        **{name: json.dumps({"token": f"of-{name}"}).encode() for name in NAMES if name.startswith("tokens.")},
        "layers.example": next(iter(_kit()[1].values())),
        "api.github.com": b"[]",
        "gitlab.acme.example": b"[]",
        "prometheus.acme.example": b'{"status": "success", "data": {"resultType": "matrix", "result": []}}',
    }
    return (200, {}, bodies[host]) if host in bodies else (404, {}, b"{}")


def _registry(host: str, path: str, authorization: str | None) -> Answer:
    """Answer as a registry whose layers lie elsewhere, and that wants a token."""
    if authorization is None and host != "images.example":
        realm = f"https://tokens.{host.removeprefix('registry.')}/token"
        return 401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="registry"'}, b""
    if "/blobs/" in path:
        return 307, {"Location": "https://layers.example/blob"}, b""
    body = _kit()[0]
    return 200, {"Content-Type": MANIFEST, "Docker-Content-Digest": sha256(body)}, body


def _kit() -> tuple[bytes, Mapping[str, bytes]]:
    return modelkit([(f"{KIT}.model.v1.tar", 1000)])


def files(folder: Path, authority: Path) -> Mapping[str, str]:
    """Write the files of a user who trusts the stand-ins, and return the variables that name the files."""
    auths = {"auths": {"registry.acme.example": {"auth": LOGIN}}}
    (folder / "config.json").write_text(json.dumps(auths), encoding="utf-8")
    return {
        "SSL_CERT_FILE": str(authority),
        "AWS_CA_BUNDLE": str(authority),
        "AWS_CONFIG_FILE": str(folder / "aws"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "aws"),
        "DOCKER_CONFIG": str(folder),
    }


class World:
    """The stand-ins, and the identities that they have seen."""

    def __init__(self, folder: Path) -> None:
        self._certificates = certificates.make(folder, NAMES)
        self.authority = folder / "ca.pem"
        self.seen = dict[str, set[str]]()
        """Identities by name of the server."""
        plain, secure = (_Server(("127.0.0.1", 0), _Handler) for _ in range(2))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server-key.pem")
        secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
        self._servers = plain, secure
        for server in self._servers:
            server.seen = self.seen
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.ports = {"80": plain.server_port, "443": secure.server_port, "6443": secure.server_port}

    def end(self) -> None:
        """End the servers."""
        for server in self._servers:
            server.shutdown()
            server.server_close()


@contextmanager
def serve(folder: Path) -> Iterator[World]:
    """Serve until the end of the block. The certificates lie in a folder."""
    world = World(folder)
    try:
        yield world
    finally:
        world.end()
