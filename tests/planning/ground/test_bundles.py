from planning.ground.bundles import all_bundles, versioned_definitions


def test_every_set_of_definitions_says_what_it_serves_and_how_it_is_installed():
    bundles = all_bundles()
    kinds = [kind for bundle in bundles for kind in bundle.kinds]
    assert "gateway.networking.k8s.io/v1/HTTPRoute" in kinds
    assert len(kinds) == len(set(kinds))
    assert all(bundle.install and bundle.source and bundle.version for bundle in bundles)


def test_definitions_with_a_version_belong_to_their_set():
    assert len(versioned_definitions()) == sum(bundle.definition is not None for bundle in all_bundles())
