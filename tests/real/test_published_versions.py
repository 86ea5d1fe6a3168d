"""State and lock of each published version, previewed with the program of today: the promise of docs/versioning.md."""

import pytest

from models.lock import file_name
from tests.support.cluster.upgrades import PUBLISHED, restore, stack

pytestmark = pytest.mark.real

HARMLESS = {"create", "update"}
CONFIG = 'Part("picker-config", (NAMESPACE,), "{suffix}")'


def losses(changes):
    """Return the steps that replace or delete something, by logical name."""
    return {name: op for name, op in changes.items() if op not in HARMLESS}


@pytest.mark.parametrize("name", PUBLISHED)
def test_state_and_lock_of_a_published_version_preview_without_a_replacement_and_a_deletion(name, deploy):
    deployment = deploy(stack(name))
    restore(name, deployment)
    before = deployment.changes()
    assert losses(before) == {}
    # Without its lock the stack fetches other weights, so the lock was read.
    lock = deployment.project / file_name("dev")
    text = lock.read_text(encoding="utf-8")
    lock.unlink()
    assert {"next-decode", "plain-decode"} <= deployment.changes().keys() - before.keys()
    lock.write_text(text, encoding="utf-8")
    # Another logical name without an alias loses an object, and another label in its selector loses a workload.
    pattern = CONFIG.replace("(", r"\(").replace(")", r"\)").format(suffix="config")
    deployment.replace("planning/ground/parts.py", pattern, CONFIG.format(suffix="settings"))
    deployment.replace("planning/ground/labels.py", r'(?m)^ROLE = f"\{_OURS\}/role"$', 'ROLE = f"{_OURS}/part"')
    lost = losses(deployment.changes())
    assert (lost["qwen-epp-config"], lost["qwen-decode"]) == ("delete", "replace")
