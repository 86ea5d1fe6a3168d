"""Comments on a change in a forge: GitHub's pull requests and GitLab's merge requests, by their HTTP APIs."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from cli import documents
from models.trees import at, mapping

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

_SECONDS = 30
"""Timeout of a request in seconds."""
_LONGEST = 65_536
"""Maximum size of a comment in bytes. GitHub takes as many characters, GitLab more (`cli.summary_blocks.LONGEST`)."""
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="next"')
"""Link to the next page (RFC 8288), which both forges send."""


class ForgeError(Exception):
    """A forge refused a request, or did not answer."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request or merge request."""

    id: int
    author: int | None
    """Number of the account that wrote the comment; None for an account that is gone."""
    body: str


class Forge(Protocol):
    """Comments on one pull request or merge request."""

    def account(self) -> int:
        """Return the number of the account that the token belongs to."""
        ...

    def comments(self) -> Iterator[Comment]:
        """Yield all comments, the oldest first."""
        ...

    def create(self, body: str) -> None:
        """Add a comment."""
        ...

    def update(self, comment: Comment, body: str) -> None:
        """Replace the text of a comment."""
        ...


@dataclass(frozen=True, slots=True)
class _Api:
    """An HTTP API that answers with JSON."""

    root: str
    """Address of the API, without a slash at its end."""
    headers: Mapping[str, str]
    """Headers of every request, including the header with the token."""

    def send(self, method: str, url: str, content: Mapping[str, str] | None = None) -> tuple[Any, str | None]:
        """Send a request. `content` is sent as JSON; None for a request without content.

        Return the JSON of the answer, and the address of the next page; the address is None after the last page.
        """
        import urllib.error  # noqa: PLC0415, the import is slow, and other commands do not need it
        import urllib.request  # noqa: PLC0415, as above

        data = None
        if content is not None:
            data = json.dumps(content).encode()
        request = urllib.request.Request(url, data, {**self.headers, "Content-Type": "application/json"}, method=method)  # noqa: S310, the command checks the scheme
        try:
            with _opener().open(request, timeout=_SECONDS) as answer:
                following = None
                if link := _NEXT.search(answer.headers.get("Link", "")):
                    following = link[1]
                return json.load(answer), following
        except urllib.error.HTTPError as error:
            raise ForgeError(f"{method} {urlsplit(url).path}: the forge answered {error.code}") from None
        except (OSError, ValueError) as error:
            raise ForgeError(f"{method} {urlsplit(url).path}: no answer ({type(error).__name__})") from None

    def pages(self, path: str) -> Iterator[Any]:
        """Yield the items of all pages of a list."""
        url: str | None = f"{self.root}{path}"
        while url is not None:
            items, following = self.send("GET", url)
            yield from items
            if following is not None and urlsplit(following)[:2] != urlsplit(self.root)[:2]:
                raise ForgeError(f"the next page of {path.partition('?')[0]} is on another host")
            url = following


@cache
def _opener() -> "OpenerDirector":
    """Return the sender of requests. It refuses redirects, because they would send the token to another address."""
    from urllib.request import HTTPRedirectHandler, build_opener  # noqa: PLC0415, as above

    class Unredirected(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401, as in the base class
            """Return None, so that a redirect becomes an error."""

    return build_opener(Unredirected)


@dataclass(frozen=True, slots=True)
class _Comments:
    """Comments at a path of an API. GitHub and GitLab differ in paths, in the method of an update and in the author."""

    api: _Api
    path: str
    """Path of the list. New comments are posted to it."""
    item: str
    """Path of one comment, without its number."""
    order: str
    """Query that puts the oldest comment first."""
    method: str
    """HTTP method of an update."""
    author: str
    """Key of the author in a comment."""
    account: Callable[[], int]
    """Asks for the number of the account that the token belongs to."""

    def comments(self) -> Iterator[Comment]:
        """Yield all comments, the oldest first."""
        for item in self.api.pages(f"{self.path}?per_page=100{self.order}"):
            author = mapping(item.get(self.author))
            yield Comment(int(item["id"]), author.get("id"), str(item.get("body") or ""))

    def create(self, body: str) -> None:
        """Add a comment."""
        self.api.send("POST", f"{self.api.root}{self.path}", {"body": body})

    def update(self, comment: Comment, body: str) -> None:
        """Replace the text of a comment."""
        self.api.send(self.method, f"{self.api.root}{self.item}/{comment.id}", {"body": body})


def github(root: str, token: str, repository: str, number: int) -> Forge:
    """Return the comments on a pull request (GitHub REST API, Issue comments).

    The account is asked by GraphQL: the token of a workflow or of an app may not `GET /user`, which answers 403, but
    learns its `viewer`, such as `github-actions[bot]` (actions/create-github-app-token#258, fullsend-ai/fullsend#1953).
    The address of GraphQL has no version: `/api/v3` and `/api/graphql` on a server of one's own.
    """
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    api = _Api(root.rstrip("/"), headers)
    base = f"/repos/{quote(repository)}/issues"

    def account() -> int:
        answer, _ = api.send("POST", f"{api.root.removesuffix('/v3')}/graphql", {"query": "{viewer{databaseId}}"})
        return _account(answer, "data", "viewer", "databaseId")

    return _Comments(api, f"{base}/{number}/comments", f"{base}/comments", "", "PATCH", "user", account)


def gitlab(root: str, token: str, project: str, number: int) -> Forge:
    """Return the comments on a merge request (GitLab REST API, Notes; Users, the current user)."""
    api = _Api(root.rstrip("/"), {"PRIVATE-TOKEN": token})
    path = f"/projects/{quote(project, safe='')}/merge_requests/{number}/notes"

    def account() -> int:
        answer, _ = api.send("GET", f"{api.root}/user")
        return _account(answer, "id")

    return _Comments(api, path, path, "&sort=asc", "PUT", "author", account)


def _account(answer: object, *keys: str) -> int:
    """Return the number of an account at a path of an answer. Raises `ForgeError` if there is none."""
    number = at(answer, *keys)
    if not isinstance(number, int):
        raise ForgeError("the forge did not say which account the token belongs to")
    return number


def publish(forge: Forge, environment: str, report: str) -> bool:
    """Publish the report of an environment in the environment's only comment. Return whether the comment is new.

    The text of the comment begins with the name of the environment in an HTML comment, which readers do not see. Only a
    comment of the token's own account counts: whoever wrote another one could change the report after its publication.
    """
    mark = f"<!-- inference-stacks report: {environment} -->"
    body = f"{mark}\n{documents.cut(report, _LONGEST - documents.size(mark) - 1)}"
    account = forge.account()
    comments = (comment for comment in forge.comments() if comment.author == account)
    earlier = next((comment for comment in comments if comment.body.startswith(mark)), None)
    if earlier is None:
        forge.create(body)
    elif earlier.body.replace("\r\n", "\n").strip() != body.strip():
        forge.update(earlier, body)
    return earlier is None
