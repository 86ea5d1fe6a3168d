"""Nobody's credentials for all tests that ask sources."""

from functools import cache

import pytest
from botocore.loaders import JSONFileLoader


@pytest.fixture(autouse=True)
def _nobody(nobody):
    """Run as somebody without credentials, who is on no cloud's machine."""


@pytest.fixture(scope="session", autouse=True)
def _models_of_clients_are_read_once():
    """Share what boto reads of its own files: each question has a session of its own, as each run of the program."""
    read = cache(JSONFileLoader().load_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _loader, path: read(path))
        yield
