"""Command lines of the picker are read as its flag library reads them."""

import pytest

from planning.picker import command_line
from planning.releases import channel

POOL = "--pool-name=qwen"


def judged(*arguments, release="llm-d-0.10"):
    return [str(problem) for problem in command_line.read(arguments, channel(release)).problems]


@pytest.mark.parametrize(
    "arguments",
    [
        (POOL, "--v", "4"),
        (POOL, "-v4"),
        (POOL, "-v=4", "hello"),
        (POOL, "--secure-serving", "false"),
        (POOL, "--drain-timeout", "5s", "--drain-timeout=1m"),
        (POOL, "--", "--bogus"),
        ("--endpoint-selector=app in (a,b),!c", "--endpoint-target-ports=8000,8001"),
    ],
)
def test_what_the_picker_reads_is_accepted(arguments):
    assert judged(*arguments) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((POOL, "--drain-timeout"), "--drain-timeout: has no value; write the value after an equals sign"),
        ((POOL, "--v=debug"), "--v: is not a whole number; write a number without a fraction"),
        ((POOL, "--grpc-port=9003"), "--grpc-port: is the same as grpc-health-port; write another value"),
        (
            ("--endpoint-selector=a=b", "--endpoint-target-ports=1,2,3,4,5,6,7,8,9"),
            "--endpoint-target-ports: has more than 8 entries beside endpoint-selector; remove some",
        ),
        ((), "--pool-name: is missing beside endpoint-selector; add it"),
        (
            (POOL, "--tls-min-version=1.2"),
            "--tls-min-version: is not VersionTLS10 or VersionTLS11 or VersionTLS12 or VersionTLS13; write one of them",
        ),
    ],
)
def test_what_the_picker_refuses_is_named(arguments, expected):
    assert judged(*arguments) == [expected]
