"""The outputs of a platform follow a contract, and no message shows the value of a secret."""

import pytest

from models.platform import PlatformOutputs, Reference, reference, source
from models.problems import ConfigError

STACK = "organization/platform/prod"
READ = Reference(STACK, "inferencePlatform", None)
GATEWAY = {"name": "gateway", "provider": "istio"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stack": STACK}, READ),
        (
            {"stack": STACK, "output": "serving", "kubeconfig": "admin"},
            Reference(STACK, "serving", "admin"),
        ),
        ({"stack": "platform/prod"}, None),
        ({"stack": STACK, "output": 5}, None),
        ({"stack": STACK, "kubeconfig": []}, None),
        (STACK, None),
        (None, None),
    ],
)
def test_a_malformed_reference_reads_nothing(value, expected):
    assert reference({"platform": value}) == expected


def test_the_layer_of_a_platform_has_the_keys_that_it_sets():
    values = {"contractVersion": 1, "gateway": GATEWAY, "cluster": None, "storageClassName": "nfs"}
    layer = source(READ, PlatformOutputs({"inferencePlatform": values}))
    assert (layer.file, layer.tree) == (STACK, {"gateway": GATEWAY, "storageClassName": "nfs"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, f"is no output of {STACK} (inferencePlatform); export it there, or name another output"),
        (
            "text",
            (
                f"is not a mapping (inferencePlatform of {STACK}); export contractVersion and gateway, cluster, "
                "observability, storageClassName there"
            ),
        ),
        ({}, f"has no contractVersion (inferencePlatform of {STACK}); export contractVersion: 1 there"),
        (
            {"contractVersion": 2},
            (
                f"follows version 2 of the contract (inferencePlatform of {STACK}); upgrade this program, or export "
                "version 1, which this program reads"
            ),
        ),
        (
            {"contractVersion": 0},
            (
                f"follows version 0 of the contract (inferencePlatform of {STACK}); export version 1, which this "
                "program reads"
            ),
        ),
        (
            {"contractVersion": "1"},
            (
                f"has a contractVersion that is no number (inferencePlatform of {STACK}); export version 1, which this "
                "program reads"
            ),
        ),
        (
            {"contractVersion": 1, "release": "a", "namespace": "b"},
            (
                f"has keys that a platform cannot set (namespace, release; inferencePlatform of {STACK}); known: "
                "gateway, cluster, observability, storageClassName"
            ),
        ),
    ],
)
def test_outputs_that_break_the_contract_are_refused(values, message):
    with pytest.raises(ConfigError) as error:
        source(READ, PlatformOutputs({"inferencePlatform": values}))
    assert str(error.value) == f"platform.output: {message}"


def test_a_secret_output_is_refused_and_an_absent_kubeconfig_beside_it():
    outputs = PlatformOutputs({"inferencePlatform": {"hunter2": 1}}, frozenset({"inferencePlatform"}))
    with pytest.raises(ConfigError) as error:
        source(READ._replace(kubeconfig="admin"), outputs)
    assert str(error.value).splitlines() == [
        f"platform.kubeconfig: is no output of {STACK} (admin); export it there, or name another output",
        (
            f"platform.output: is a secret (inferencePlatform of {STACK}); export it there in plain text, and export "
            "secrets, such as a kubeconfig, as separate outputs"
        ),
    ]


def test_the_kubeconfig_is_the_output_that_the_reference_names():
    outputs = PlatformOutputs({"admin": "kind: Config", "number": 5})
    named = [READ, *(READ._replace(kubeconfig=name) for name in ("admin", "number", "absent"))]
    assert [outputs.kubeconfig(reference) for reference in named] == [None, "kind: Config", None, None]
