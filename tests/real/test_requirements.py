"""A cluster that lacks what a stack needs is told at preview, in a line for each lack, with the remedy."""

import re

import pytest

from tests.support.cluster.deployments import in_namespace

pytestmark = pytest.mark.real

OLDER = "gateway.networking.k8s.io/bundle-version=v1.2.1"
INSTALL = r"install Gateway API v1\.4\.0: kubectl apply --server-side -f https://\S+"
EXTENSION = r"install Gateway API Inference Extension v1\.5\.0: kubectl apply --server-side -f https://\S+"


@pytest.fixture
def bare(new_plane):
    """Return a control plane with an older Gateway API, and without the inference extension."""
    plane = new_plane(crds=("gateway-api",))
    plane.kubectl("annotate", "crd", "httproutes.gateway.networking.k8s.io", "--overwrite", OLDER)
    return plane


def said(done, line):
    """Return how many lines of a run say this."""
    return sum(re.search(line, text) is not None for text in (done.stdout + done.stderr).splitlines())


def test_what_a_cluster_lacks_is_told_at_preview_before_anything_is_changed(deploy, bare):
    """See defects A15."""
    done = deploy(in_namespace("lacking", qwen={}), bare).preview()
    assert done.returncode != 0
    older = (
        r"httproutes\.gateway\.networking\.k8s\.io: is of Gateway API v1\.2\.1, and release llm-d-0\.10 needs v1\.3\.0"
    )
    assert said(done, rf"{older} or newer; {INSTALL}") == 1
    pool = r"inference\.networking\.k8s\.io/v1/InferencePool: the cluster does not serve it"
    assert said(done, rf"{pool}; {EXTENSION}") == 1
    assert "Traceback" not in done.stdout + done.stderr


def test_a_gateway_that_asks_one_picker_for_two_pools_is_told_at_preview(deploy):
    """See defects A1."""
    stack = in_namespace("one-picker", qwen={"canary": {"weight": 10}})
    stack["gateway"] |= {"version": "1.31.1"}
    done = deploy(stack).preview()
    assert done.returncode == 0, done.stdout + done.stderr
    line = (
        r"services\.qwen\.canary\.weight: no endpoint picker chooses among the canary's pods, because Istio 1\.31\.1 "
        r"asks the primary's picker alone; set gateway\.version if the gateway runs \S+, \S+, \S+, 1\.32\.0 or newer"
    )
    assert said(done, line) >= 1
