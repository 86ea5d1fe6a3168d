"""A forge on loopback with comments on one change, that pages at 30, as GitHub's and GitLab's APIs do."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = 30
TOKEN = "t0ken-of-the-pipeline"
ACCOUNT = 41898282
STRANGER = 666
"""Accounts of the token, and of whoever wrote what is there before: `github-actions[bot]`, and somebody."""


class Server(ThreadingHTTPServer):
    """A forge with comments on one change."""

    def __init__(self, gitlab):
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments = {}
        self.authors = {}
        """Authors of comments by their number; a stranger where there is none."""
        refusal = (403, {"message": "Resource not accessible by integration"})
        viewer = (200, {"data": {"viewer": {"databaseId": ACCOUNT}}})
        self.questions = {
            True: {("GET", "/user"): (200, {"id": ACCOUNT})},
            False: {("GET", "/user"): refusal, ("POST", "/graphql"): viewer},
        }[gitlab]
        """Status and answer of questions for the account; as GitHub answers the token of a workflow."""
        self.requests = []
        self.status = 200
        self.elsewhere = ""
        self.list = (
            "/projects/group%2Fmodels/merge_requests/7/notes" if gitlab else "/repos/acme/models/issues/7/comments"
        )
        self.item = self.list if gitlab else "/repos/acme/models/issues/comments"
        self.author = "author" if gitlab else "user"
        self.method = "PUT" if gitlab else "PATCH"
        self.header = ("PRIVATE-TOKEN", TOKEN) if gitlab else ("Authorization", f"Bearer {TOKEN}")
        root = f"http://127.0.0.1:{self.server_port}"
        self.variables = {
            True: {
                "CI_API_V4_URL": root,
                "GITLAB_TOKEN": TOKEN,
                "CI_PROJECT_ID": "group/models",
                "CI_MERGE_REQUEST_IID": "7",
            },
            False: {
                "GITHUB_API_URL": root,
                "GITHUB_TOKEN": TOKEN,
                "GITHUB_REPOSITORY": "acme/models",
                "GITHUB_REF": "refs/pull/7/merge",
            },
        }[gitlab]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def handle_any(self):
        server = self.server
        url = urlsplit(self.path)
        server.requests.append((self.command, url.path))
        name, value = server.header
        length = int(self.headers.get("Content-Length") or 0)
        content = json.loads(self.rfile.read(length)) if length else {}
        if server.status != 200 or self.headers.get(name) != value:
            self.answer(401 if server.status == 200 else server.status, {"message": TOKEN})
        elif self.command == "GET" and url.path == server.list:
            self.page(int(parse_qs(url.query).get("page", ["1"])[0]))
        elif self.command == "POST" and url.path == server.list:
            number = len(server.comments) + 1
            server.comments[number] = content["body"]
            server.authors[number] = ACCOUNT
            self.answer(201, {})
        elif self.command == server.method and url.path.startswith(f"{server.item}/"):
            server.comments[int(url.path.rpartition("/")[2])] = content["body"]
            self.answer(200, {})
        elif (self.command, url.path) in server.questions:
            self.answer(*server.questions[self.command, url.path])
        else:
            self.answer(404, {})

    do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815, names of the base class

    def page(self, number):
        found = [
            {"id": key, "body": body, self.server.author: {"id": self.server.authors.get(key, STRANGER)}}
            for key, body in sorted(self.server.comments.items())
        ]
        start = (number - 1) * PAGE
        root = self.server.elsewhere or f"http://127.0.0.1:{self.server.server_port}"
        more = start + PAGE < len(found)
        link = (
            {"Link": f'<{root}{self.server.list}?page={number + 1}>; rel="next", <{root}/x>; rel="last"'}
            if more
            else {}
        )
        self.answer(200, found[start : start + PAGE], link)

    def answer(self, status, content, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())


@contextlib.contextmanager
def forge(*, gitlab: bool) -> Iterator[Server]:
    """Run a forge while the context lasts."""
    with Server(gitlab) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()
