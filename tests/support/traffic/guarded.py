"""A front of a registry on loopback: with TLS, and with a server of tokens that wants the login of a user."""

import base64
import json
import ssl
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.cluster import certificates

PASSWORD = "of-the-registry"
LOGIN = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
TOKEN = "of-the-server-of-tokens"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        authorization = self.headers.get("Authorization")
        self.server.asked.append((self.path.partition("?")[0], authorization))
        if self.path.startswith("/token"):
            allowed = authorization == f"Basic {LOGIN}"
            self._answer(200 if allowed else 401, {}, json.dumps({"token": TOKEN} if allowed else {}).encode())
        elif authorization != f"Bearer {TOKEN}":
            realm = f'Bearer realm="https://{self.server.host}/token",service="registry"'
            self._answer(401, {"WWW-Authenticate": realm}, b"")
        else:
            self._forward()

    def _forward(self):
        request = urllib.request.Request(f"http://{self.server.registry}{self.path}")
        request.add_header("Accept", self.headers.get("Accept", "*/*"))
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                self._answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.headers, error.read())

    def _answer(self, status, headers, body):
        self.send_response(status)
        for name in ("WWW-Authenticate", "Content-Type", "Docker-Content-Digest"):
            if name in headers:
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class GuardedRegistry:
    """The front of the registry at an address, and the files of a user who trusts it and can log in."""

    def __init__(self, folder, registry):
        certificates.make(folder)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server-key.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.asked = self._server.asked = list[tuple[str, str | None]]()
        self._server.host, self._server.registry = self.host, registry
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        (folder / "config.json").write_text(json.dumps({"auths": {self.host: {"auth": LOGIN}}}), encoding="utf-8")
        self.variables = {"SSL_CERT_FILE": str(folder / "ca.pem"), "DOCKER_CONFIG": str(folder)}

    def end(self):
        self._server.shutdown()
        self._server.server_close()
