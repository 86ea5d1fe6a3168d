"""Facts about a cluster: their digest covers what a stack needs."""

from planning.ground.cluster_facts import ClusterFacts, Served, Unknown

NEEDED = ["inference.networking.k8s.io/v1/InferencePool", "v1/Service"]


def test_the_digest_of_facts_ignores_what_the_stack_does_not_need():
    facts = ClusterFacts(Served(frozenset({"v1/Service"})))
    more = ClusterFacts(Served(frozenset({"v1/Service", "example.com/v1/Widget"})))
    pool = ClusterFacts(Served(frozenset(NEEDED)))
    assert facts.digest(NEEDED) == more.digest(NEEDED) != pool.digest(NEEDED)
    assert ClusterFacts(Unknown("x")).digest(NEEDED) is None
