"""Addresses of runbooks."""

import pytest
from pydantic import ValidationError

from models.monitoring import AlertRules

WIKI = "https://wiki.example.com/inference"


@pytest.mark.parametrize("address", [WIKI, f"{WIKI}#{{alert}}", f"{WIKI}/{{alert}}", f"{WIKI}?page={{alert}}"])
def test_an_address_may_have_the_alert_anywhere(address):
    assert AlertRules.model_validate({"runbooks": address}).runbooks == address


@pytest.mark.parametrize(
    ("address", "what"),
    [
        (f"{WIKI}#{{}}", "another placeholder"),
        (f"{WIKI}#{{id}}", "another placeholder"),
        (f"{WIKI}#{{alert", "without its other half"),
        (f"{WIKI}#alert}}", "without its other half"),
        ("https://user:secret@wiki.example.com", "not the address"),
        ("wiki.example.com", "not the address"),
    ],
)
def test_an_address_that_cannot_be_filled_is_refused(address, what):
    with pytest.raises(ValidationError, match=what):
        AlertRules.model_validate({"runbooks": address})
