"""Services restart in turns: the API server never has more of them with unready pods than may restart at once."""

import contextlib
import json
import os
import time

import pytest

from judging.report import events, summary
from judging.report.summary import ComposedStack
from local.errors import LocalError
from models.load import load
from planning.ground import labels
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.cluster.deployments import told
from tests.support.cluster.leader import READY, is_ready
from tests.support.cluster.server import read
from tests.support.cluster.turns import node, scene, service_of, watched
from tests.support.stacks import plan

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

SEEDS = range(int(os.environ["TURNS_SEEDS"])) if "TURNS_SEEDS" in os.environ else (6, 14)
"""Seeds of the scenes; by default of small ones, which have all kinds of services."""
BROKEN = [seed for seed in SEEDS if seed % 3 == 0]
"""Seeds of the scenes whose third service is broken for a run."""
CONTROL = 1024
"""Seed of a scene that is changed without a limit."""
H100 = "nvidia-h100-80gb"


@pytest.fixture(scope="module")
def wide_plane(lws_plane):
    """Return a control plane with a node that has room for all scenes."""
    document = json.dumps(node())
    lws_plane.kubectl("apply", "--server-side", "--filename=-", input=document)
    lws_plane.kubectl("apply", "--server-side", "--subresource=status", "--force-conflicts", "-f", "-", input=document)
    return lws_plane


def started(deploy, plane, found):
    """Deploy a scene with little patience, and scale some of the autoscaled services to zero."""
    deployed = deploy(found.stack(0), plane)
    deployed.alter("planning/ground/lifecycle.py", _MIN_FETCH=18, WAIT_MARGIN=5, _ENDPOINT_REMOVAL=1, _KILL_MARGIN=1)
    deployed.up()
    scaled = [key for key, service in found.services.items() if "autoscaling" in service]
    for key in scaled[::2]:
        plane.kubectl("scale", f"deployment/{key}-decode", "-n", found.namespace, "--replicas=0")
    settled(plane, found)
    return deployed


def settled(plane, found, seconds=120):
    """Wait until all pods are ready and none is about to go, and return them by service."""
    end = time.monotonic() + seconds
    while True:
        pods = read(plane, "pods", found.namespace)
        if all(is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods):
            return by_service(pods)
        assert time.monotonic() < end, [pod["metadata"]["name"] for pod in pods if not is_ready(pod)]
        time.sleep(0.2)


def by_service(pods):
    uids = {}
    for pod in pods:
        uids.setdefault(service_of(pod), set()).add(pod["metadata"]["uid"])
    return uids


def report(deployed, stack):
    """Return the report on the latest preview."""
    log = (deployed.engine.directory / "events.json").read_text(encoding="utf-8").splitlines()
    return summary.summarize(events.read(log), ComposedStack(load(stack).stack, plan(stack), NOTHING_READ))


def peak(found):
    (devices,) = (each.peak for each in found.capacity.classes if each.accelerator == H100)
    assert devices.low == devices.high
    return devices.high


def changed(deployed, plane, found, stack):
    """Preview and deploy a stack; return the report on the preview, what was watched, and how the run ended."""
    deployed.write(stack)
    deployed.foresee()
    foreseen = report(deployed, stack)
    with watched(plane, found.namespace) as pods:
        done, _ = deployed.attempt()
    assert len(pods.most) <= found.at_once or "upgrades" not in stack, (found.seed, found.at_once, pods.most)
    print(
        f"seed {found.seed}: {len(found.services)} services, {found.at_once} at once, most {len(pods.most)} unready, "
        f"devices {pods.devices} of {peak(foreseen)} previewed, exit code {done.returncode}"
    )
    return foreseen, pods, done


@pytest.mark.parametrize("seed", SEEDS)
def test_no_more_services_are_unready_than_may_restart_at_once(deploy, wide_plane, seed):
    found = scene(seed, least=5 if seed in BROKEN else 2)
    deployed = started(deploy, wide_plane, found)
    before = settled(wide_plane, found)
    foreseen, pods, done = changed(deployed, wide_plane, found, found.stack(1))
    assert done.returncode == 0, told(done)
    after = settled(wide_plane, found)
    assert {key for key in before if before[key] & after[key]} <= kept(found)
    assert [*foreseen.turns.services] == found.sequence
    assert (foreseen.turns.at_once, len(pods.most) > 0) == (found.at_once, True)
    assert pods.devices <= peak(foreseen)
    if found.at_once == 1:
        assert pods.devices >= peak(foreseen) - found.side_by_side
        assert pods.begun == [key for key in found.sequence if key in pods.begun]
    deployed.assert_plainly_unchanged()
    if seed in BROKEN:
        stop_and_go_on(deployed, wide_plane, found, after)


def test_without_a_limit_more_services_are_unready(deploy, wide_plane):
    """Negative control."""
    found = scene(CONTROL, least=4)
    deployed = started(deploy, wide_plane, found)
    stack = found.stack(1)
    del stack["upgrades"]
    _, pods, done = changed(deployed, wide_plane, found, stack)
    assert done.returncode == 0, told(done)
    assert len(pods.most) > found.at_once


def kept(found):
    """Return the services of which a change may leave a pod: pickers restart only with their own settings."""
    return {key for key, service in found.services.items() if service.get("change") != "picker"}


def stop_and_go_on(deployed, plane, found, before):
    """Break the third service, see that the run stops there, mend it, and see that the next run goes on."""
    third = found.sequence[2]
    _, _, failed = changed(deployed, plane, found, found.stack(2, broken=third))
    assert failed.returncode != 0
    assert f"{third}-decode" in told(failed)
    stopped = by_service(read(plane, "pods", found.namespace))
    later = found.sequence[2 + found.at_once :]
    assert later
    assert {key: stopped[key] for key in later} == {key: before[key] for key in later}
    mended = found.stack(2)
    if found.seed % 2:
        mended = found.stack(2, broken=third)
        make_ready(plane, found, third)
    _, pods, done = changed(deployed, plane, found, mended)
    assert done.returncode == 0, told(done)
    after = settled(plane, found)
    # Pods of an older generation may still go: those that a run deletes go at its end, which a failed run has not.
    assert all(after[key] <= stopped[key] for key in found.sequence[:2])
    assert all(engines(plane, found, key).isdisjoint(before[key]) for key in later)
    assert pods.begun
    if found.seed % 2 == 0:
        deployed.assert_in_step()


def engines(plane, found, key):
    """Return the UIDs of a service's engine pods."""
    return {pod["metadata"]["uid"] for pod in engine_pods(plane, found, key)}


def engine_pods(plane, found, key):
    return read(plane, "pods", found.namespace, f"{labels.SERVICE}={key}")


def make_ready(plane, found, key, seconds=120):
    """Make the pods of a service ready that never become ready by themselves; the pods before them go meanwhile."""
    body = json.dumps({"status": READY})
    end = time.monotonic() + seconds
    while waiting := [pod["metadata"]["name"] for pod in engine_pods(plane, found, key) if not is_ready(pod)]:
        assert time.monotonic() < end, waiting
        for name in waiting:
            at = (name, f"--namespace={found.namespace}", "--subresource=status")
            with contextlib.suppress(LocalError):
                plane.kubectl("patch", "pod", *at, "--type=strategic", "--patch", body)
