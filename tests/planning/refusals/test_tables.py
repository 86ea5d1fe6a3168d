from planning.refusals import tables


def test_every_rule_has_a_source_and_a_proof():
    rules = tables.rules()
    assert rules.resources.source
    assert rules.resources.proof in {"binary", "source"}
    assert rules.selectors.labels["In"] == "several"
    assert rules.selectors.labels["Exists"] == "none"
