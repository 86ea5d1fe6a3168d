"""A profile whose devices hold no context of its model is dropped, with the reason."""

from planning.selection.records import Reason
from tests.support.stacks.profiles import among, profile

LARGE, SMALL = ({"model": {"source": f"hf://Qwen/{name}"}} for name in ("Qwen3-235B-A22B", "Qwen3-8B"))
UNKNOWN = {"model": {"source": "hf://org/unknown"}}


def reasons(**services):
    """Return the reason of each profile, all of which have one device of 44 GiB."""
    named = {name: profile("nvidia-l40s", 1, service=service) for name, service in services.items()}
    return {row.candidate.id: row for row in among(named).rows}


def test_a_model_that_its_devices_do_not_hold_is_dropped_with_the_bytes():
    found = reasons(large=LARGE, small=SMALL, unknown=UNKNOWN)
    assert (found["large"].stage, found["large"].reason) == ("fit", Reason.FIT)
    assert found["large"].detail.startswith("weights take 437.9Gi, overhead ")
    assert found["large"].detail.endswith("of a device of nvidia-l40s")
    assert {found[name].stage for name in ("small", "unknown")} == {"comparison"}


def test_a_context_that_a_service_may_shorten_is_no_reason():
    service = {**SMALL, "engine": {"gpuMemoryUtilization": 0.4}}
    assert reasons(tight=service)["tight"].stage == "comparison"
