"""Claims and their Jobs while kinds are unread."""

from judging.status import verdict
from judging.status.records import Link
from planning.ground.snapshot import CLAIM, EVENT, JOB
from tests.support.healthy import replaced, service, states

STORED = {
    "model": {"name": "org/model", "source": "hf://org/model@v1", "size": "16Gi"},
    "storage": {"type": "dedicated", "storageClassName": "fast"},
}


def pending(ready):
    """Return the snapshot with an unbound claim."""
    return replaced(ready, **{CLAIM: [claim | {"status": {"phase": "Pending"}} for claim in ready.of(CLAIM)]})


def test_a_pending_claim_has_no_state_while_events_are_unread():
    assert set(states(pending(service(**STORED)), Link.CLAIM)) == {"claim-waits"}
    assert set(states(pending(service(unread=[EVENT], **STORED)), Link.CLAIM)) == set()


def test_a_bound_claim_is_unknown_while_jobs_are_unread():
    (status,) = verdict.of(service(unread=[JOB], **STORED), {}).services
    (claim,) = [part for part in status.components if part.link is Link.CLAIM]
    assert claim.is_broken is None
