"""Reader of repositories on a Hugging Face hub: their commit, size in bytes and configuration.

If the environment variable HF_TOKEN is set, requests to huggingface.co and to the server of HF_ENDPOINT carry its value
as the token. The requests follow huggingface_hub 1.25: `HfApi.model_info`
(/api/models/<name>/revision/<revision>?blobs=true) and `hf_hub_url` (/<name>/resolve/…).
"""

import fnmatch
import http
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, cast

from facts import hosts
from facts.transport import Transport
from models.source import hub
from planning.fit.configs import architecture
from planning.ground.cluster_facts import Unknown
from planning.weights.contents import Content
from planning.weights.sizes import Unusable, Wanted

_DEFAULT_REVISION = "main"
_CONFIG = "config.json"
_LARGEST = 64 * 2**20
"""Maximum size of an answer in bytes. Answers about the largest repositories, of some 10,000 files, are smaller."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DENIED = frozenset({http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN})


def ask(question: Wanted, transport: Transport) -> Content | Unusable | Unknown:
    """Return the commit, size and architecture of a repository, or why they are unknown or the source is unusable.

    The size is None if the size of any file that pods fetch is unknown. Raises OSError or ValueError if the hub's
    answer cannot be read.
    """
    name, revision = hub(question.source)
    base = (question.endpoint or hosts.HUB).rstrip("/")
    place = f"{base}/api/models/{name}/revision/{urllib.parse.quote(revision or _DEFAULT_REVISION, safe='')}"
    try:
        answer = cast("dict[str, Any]", json.loads(_get(f"{place}?blobs=true", transport)))
    except urllib.error.HTTPError as error:
        with error:
            return _refusal(question, base, error, is_telling=transport.is_telling)
    commit = str(answer.get("sha"))
    files = _files(answer)
    if _COMMIT.fullmatch(commit) is None:
        return question.unknown("the hub names no commit")
    sizes = [size for path, size in files.items() if not _is_ignored(path, question.ignored)]
    config = None
    if _CONFIG in files:
        config = _config(f"{base}/{name}/resolve/{commit}/{_CONFIG}", transport)
    total = None
    if None not in sizes:
        total = sum(size or 0 for size in sizes)
    return Content(f"hf://{name}@{commit}", bytes=total or None, architecture=architecture(config), origin=base)


def _files(answer: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the sizes of a repository's files in bytes, by the path of the file. None stands for an unknown size."""
    return {str(entry["rfilename"]): entry.get("size") for entry in answer.get("siblings") or ()}


def _is_ignored(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether pods leave out a file when they fetch its repository: whether a pattern matches the file's path.

    A pattern that ends with a slash matches all files in that folder, as in huggingface_hub (`filter_repo_objects`).
    """
    return any(fnmatch.fnmatch(path, re.sub("/$", "/*", pattern)) for pattern in patterns)


def _config(url: str, transport: Transport) -> object:
    """Return the configuration of a model; None if it cannot be read."""
    try:
        return json.loads(_get(url, transport))
    except (OSError, ValueError):
        return None


def _get(url: str, transport: Transport) -> bytes:
    """Return the body of the answer to a GET request. If the request is redirected, the new request has no token."""
    request = urllib.request.Request(url)  # noqa: S310, the endpoint is a URL of http or https
    token = os.environ.get("HF_TOKEN")
    if token and hosts.gets_hub_token(url):
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    with transport.open(request) as response:
        body = response.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise ValueError("the answer is too long")
    return body


def _refusal(question: Wanted, base: str, error: urllib.error.HTTPError, *, is_telling: bool) -> Unusable | Unknown:
    """Return the result for an error status.

    A hub answers 401 for a private repository, and for a repository that does not exist. The remedy covers both. If
    failures must not be told, the 404 of a server without a hub's header is no answer (`hf_raise_for_status`).
    """
    status = error.code
    if status == http.HTTPStatus.NOT_FOUND and (is_telling or "X-Error-Code" in error.headers):
        return Unusable("source", f"is not on its hub ({question.source})", "correct the name or the revision")
    if status in _DENIED and not hosts.gets_hub_token(base):
        reason = f"access was denied to an anonymous request; HF_TOKEN goes to {hosts.HUB} and HF_ENDPOINT, by https"
        return question.unknown(reason)
    if status in _DENIED:
        return question.unknown("access was denied to the user of this program; set HF_TOKEN, or correct the name")
    return question.unknown(f"the hub answered {status}")
