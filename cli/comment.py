"""Command `comment`: publishes the report of an environment as a comment on a pull request or a merge request.

Each environment has one comment of the token's own account. A later report replaces the earlier report in this comment;
comments of others are left alone, whatever they begin with. The token and the number
of the pull or merge request come from environment variables of GitHub Actions or GitLab CI.
"""

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from cli import forges
from cli.forges import Forge, ForgeError
from facts import hosts
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem

HELP = "publish a report as a comment on a pull or merge request"
_ENVIRONMENT = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_PULL = re.compile(r"refs/pull/(\d+)/")
"""Value of the variable GITHUB_REF in a workflow that runs for a pull request."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("file", metavar="FILE", help="the report, as `summarize` prints it")
    parser.add_argument("--environment", metavar="NAME", required=True, help="name of the environment, such as prod")


def run(options: Namespace) -> int:
    """Publish a report and return the exit code: 0, or 1 if the forge refuses it. Raises `ConfigError` as `publish`."""
    try:
        publish(options.environment, options.file, os.environ)
    except ForgeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def publish(environment: str, file: str, variables: Mapping[str, str]) -> None:
    """Publish the report that `file` contains, as the comment of an environment.

    Raises `ConfigError` for a mistake of the user, and `ForgeError` if the forge refuses the comment.
    """
    if hosts.is_offline():
        raise _mistake(hosts.OFFLINE, "forbids requests, which publish a comment", "unset it for this command")
    if not _ENVIRONMENT.fullmatch(environment):
        raise _mistake("--environment", "is no name of an environment", "write letters, digits, '.', '_' and '-'")
    try:
        report = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"could not be read ({type(error).__name__})"
        raise _mistake(file, what, "name the file that python -m cli summarize wrote") from None
    if not report.strip():
        raise _mistake(file, "is empty", "name the file that python -m cli summarize wrote")
    forges.publish(forge(variables), environment, report)


def forge(variables: Mapping[str, str]) -> Forge:
    """Return the client for comments on the pull request or merge request for which this pipeline runs.

    In a pipeline of GitLab, comments go to GitLab. In all other pipelines, comments go to GitHub.
    """
    if "CI_API_V4_URL" in variables:
        names = ("CI_API_V4_URL", "GITLAB_TOKEN", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID")
        root, token, project, number = (_value(name, variables) for name in names)
        return forges.gitlab(_address("CI_API_V4_URL", root), token, project, _number("CI_MERGE_REQUEST_IID", number))
    root = variables.get("GITHUB_API_URL") or "https://api.github.com"
    pull = _PULL.match(variables.get("GITHUB_REF", ""))
    if pull is None:
        raise _mistake("GITHUB_REF", "names no pull request", "run this in a workflow on pull_request")
    token, repository = (_value(name, variables) for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY"))
    return forges.github(_address("GITHUB_API_URL", root), token, repository, int(pull[1]))


def _value(name: str, variables: Mapping[str, str]) -> str:
    value = variables.get(name, "")
    if not value:
        raise _mistake(name, "is not set", "set this variable in the pipeline")
    return value


def _address(name: str, root: str) -> str:
    if not root.startswith(("https://", "http://")):
        raise _mistake(name, "is no address", "write one that begins with https://")
    return root


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise _mistake(name, "is no number", "run this in a pipeline of a merge request")
    return int(text)


def _mistake(at: str, what: str, remedy: str) -> ConfigError:
    return ConfigError([Problem(ConfigPath(at), what, remedy)])
