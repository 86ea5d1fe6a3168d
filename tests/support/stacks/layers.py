"""Stacks that say little, and what becomes of them: shared by the tests of configuration layers."""

import pytest

from models.load import load
from models.problems import ConfigError
from tests.support.stacks import SERVICE

NULL = "is null, and there is no inherited value to remove"


def stack(*, defaults=None, **services):
    given = {"services": {key: SERVICE | service for key, service in services.items()}}
    return {"namespace": "models"} | given | ({} if defaults is None else {"defaults": defaults})


def messages(tree, *further):
    with pytest.raises(ConfigError) as error:
        load(tree).finish(further)
    return str(error.value).splitlines()


def service(tree, key="qwen"):
    return load(tree).finish().services[key]
