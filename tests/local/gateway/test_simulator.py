"""Model servers are simulated where Services find ready pods of ours, and nowhere else."""

from local.gateway import addresses, simulator

OURS = dict([simulator.SELECTED], app="qwen")


def pod(address, labels, *, ready=True):
    return {
        "metadata": {"name": "pod", "namespace": "models", "labels": labels},
        "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8000}]}]},
        "status": {"podIP": address, "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def service(selector, **port):
    spec = {"ports": [{"port": 80, **port}]}
    if selector is not None:
        spec["selector"] = selector
    return {"metadata": {"name": "service", "namespace": "models"}, "spec": spec}


def test_pods_are_found_by_the_ports_of_services():
    pods = [
        pod("127.0.0.1", OURS),
        pod("127.0.0.2", OURS, ready=False),
        pod("10.0.0.3", OURS),
        pod("127.0.0.4", {"app": "qwen"}),
    ]
    services = [
        service({"app": "qwen"}, targetPort="http"),
        service({"app": "qwen"}),
        service({"app": "qwen"}, targetPort="absent"),
        service({"app": "other"}, targetPort=1),
        service(None, targetPort=2),
    ]
    assert {*simulator._pods(addresses.Listing(0.0, services, pods))} == {("127.0.0.1", 8000), ("127.0.0.1", 80)}


def test_pods_for_which_engines_run_are_left_alone():
    listing = addresses.Listing(0.0, [service({"app": "qwen"})], [pod("127.0.0.1", OURS | {"role": "decode"})])
    assert simulator._pods(listing, [{"namespace": "other", "labels": {"role": "decode"}}])
    assert simulator._pods(listing, [{"namespace": "models", "labels": {"role": "prefill"}}])
    assert not simulator._pods(listing, [{"namespace": "models", "labels": {"role": "decode"}}])
