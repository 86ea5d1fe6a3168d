"""A claim of weights, and the Job that fills it."""

from manifests import storage
from planning.ground import parts
from tests.support.stacks import plan, tree

KEPT = {"model": {"name": "org/m", "source": "s3://bucket/m", "size": "1Gi"}, "storage": {"type": "dedicated"}}


def rendered(**more):
    variant = plan(tree(qwen=KEPT) | more).services[0].primary
    return {item.id.part: item for item in storage.objects(variant.storage, {"team": "search"}, {"note": "a"})}


def test_claim_and_job_have_one_name_and_the_user_s_labels():
    made = rendered()
    claim = made[parts.WEIGHTS_CLAIM]
    job = made[parts.FILL]
    assert claim.manifest["metadata"]["name"] == job.manifest["metadata"]["name"]
    assert claim.manifest["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "2Gi"}}}
    for item in (claim, job):
        assert item.manifest["metadata"]["labels"]["team"] == "search"
        assert item.manifest["metadata"]["annotations"]["note"] == "a"


def test_the_job_mounts_the_claim_and_its_number_of_runs_is_left_to_the_cluster():
    job = rendered()[parts.FILL]
    pod = job.manifest["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    claims = [volume["persistentVolumeClaim"] for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    assert [claim["claimName"] for claim in claims] == [job.manifest["metadata"]["name"]]
    assert job.wait.seconds
    assert job.ignore


def test_a_policy_for_the_job_comes_with_policies_of_the_stack():
    assert parts.FILL_NETWORK_POLICY not in rendered()
    assert parts.FILL_NETWORK_POLICY in rendered(networkPolicies={})
