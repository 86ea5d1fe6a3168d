"""Command `facts`: what it could not read is named, and so is what differs from an earlier file."""

import json
import os
import subprocess
import sys

from planning.ground.bundles import versioned_definitions
from planning.ground.cluster_facts import PARTS
from tests.support.cluster import loopback
from tests.support.cluster.loopback import discovery

DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{min(versioned_definitions())}"
READ_WITH_THE_KINDS = {"metrics"}


def facts(kubeconfig, *options):
    """Run the command for a cluster that serves Services, and tells nothing else."""
    answers = {"/api": discovery(("", "v1", "Service")), "/apis": discovery()}
    with loopback.serve(answers, authorization=None) as server:
        server.refused = {DEFINITION}
        context = {"name": "here", "context": {"cluster": "here"}}
        cluster = {"name": "here", "cluster": {"server": server.url}}
        kubeconfig.write_text(json.dumps({"current-context": "here", "contexts": [context], "clusters": [cluster]}))
        command = [sys.executable, "-m", "cli", "facts", *options]
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "NO_PROXY": "127.0.0.1"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def test_every_part_that_could_not_be_read_is_named_and_so_is_what_differs(tmp_path):
    earlier = tmp_path / "facts.json"
    earlier.write_text(json.dumps({"apis": ["v1/Pod"]}))
    done = facts(tmp_path / "kubeconfig", "--secrets", "--previewed", str(earlier))
    *unread, gone, new = done.stderr.splitlines()
    reasons = dict.fromkeys(PARTS.keys() - READ_WITH_THE_KINDS, "the cluster could not be read (it answered 404)")
    reasons["bundles"] = "the cluster could not be read (it answered 403)"
    assert dict(line.split(": ", 1) for line in unread) == reasons
    assert (gone, new) == ("apis: v1/Pod is gone", "apis: v1/Service is new")
    assert json.loads(done.stdout)["apis"] == ["v1/Service"]
