"""`make try`: the stack as it is tried."""

import pytest

from local import trial


@pytest.mark.parametrize(
    ("description", "others"),
    [
        ({"release": "llm-d-0.9"}, {}),
        (
            {"ownReleases": {"chat": "llm-d-0.9", "qwen.canary": "llm-d-0.8"}},
            {"services.chat.release": "gie-1.3", "services.qwen.canary.release": "gie-1.3"},
        ),
    ],
)
def test_all_services_and_canaries_are_tried_with_the_release_of_the_picker(description, others):
    """One picker runs on this machine. The configuration of a picker of another release might not start it."""
    assert trial._settings("gie-1.3", description) == {"release": "gie-1.3", **others}
