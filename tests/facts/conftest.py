"""Nobody's credentials for all tests that ask sources."""

import pytest


@pytest.fixture(autouse=True)
def _nobody(nobody, files_of_clients):
    """Run as somebody without credentials, who is on no cloud's machine."""
