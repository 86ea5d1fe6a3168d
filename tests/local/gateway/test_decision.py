"""A choice is explained by the scores of its request."""

import json

from local.gateway import decision


def test_a_choice_is_explained_by_the_scores_of_its_request(tmp_path):
    def line(pod, plugin, score, identity="a"):
        endpoint = {"name": pod, "namespace": "models"}
        return {
            "msg": "Calculated score", "x-request-id": identity, "plugin": plugin, "endpoint": endpoint, "score": score
        }  # fmt: skip

    lines = [
        line("idle", "queue-scorer/queue-scorer", 1),
        line("busy-rank-0", {"Type": "queue-scorer", "Name": "queue-scorer"}, 0.25),
        line("idle", "prefix/prefix", 0),
        line("busy-rank-0", "prefix/prefix", 0.5),
        line("idle", "prefix/prefix", 1, "b"),
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(["no record", *map(json.dumps, lines), '{"msg": "Calculated']))
    config = "  - pluginRef: queue-scorer\n    weight: 2\n  - pluginRef: prefix\n    weight: 3\n"
    assert decision.CandidateScores.of(log, config, "a").lines() == [
        "idle  2.00 = 3 × 0.00 prefix + 2 × 1.00 queue-scorer",
        "busy  2.00 = 3 × 0.50 prefix + 2 × 0.25 queue-scorer",
    ]
    assert decision.CandidateScores.of(log, config, "c").lines() == []
