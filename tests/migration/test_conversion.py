"""Documents and the readers of their kinds."""

import pytest

from migration import conversion, fields
from migration.files import RawDocument

SERVICE = {"apiVersion": "model.otterscale.io/v1alpha1", "kind": "ModelService", "metadata": {"name": "chat"}}
OPERATOR = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}}


def raw(*trees):
    return [RawDocument(f"{number}.yaml", tree) for number, tree in enumerate(trees)]


def test_a_kind_decides_the_reader():
    result = conversion.convert(raw(SERVICE))
    assert [service.key for service in result.services] == ["chat"]
    assert [service.source for service in result.services] == ["modelservice"]


def test_the_version_of_a_kind_decides_nothing():
    assert len(conversion.convert(raw({**SERVICE, "apiVersion": "model.otterscale.io/v1"})).services) == 1


def test_a_document_of_an_unknown_kind_makes_a_note():
    result = conversion.convert(raw(SERVICE, POD))
    assert [str(note) for note in result.strangers] == ["1.yaml: cannot be carried: no reader knows this kind"]


@pytest.mark.parametrize("trees", [[SERVICE, OPERATOR], [OPERATOR, SERVICE]])
def test_a_companion_may_stand_among_the_others(trees):
    result = conversion.convert(raw(*trees))
    assert (len(result.services), len(result.documents), result.strangers) == (1, 2, ())


def test_a_companion_alone_is_of_no_use():
    result = conversion.convert(raw(OPERATOR))
    assert (result.services, result.documents, len(result.strangers)) == ((), (), 1)


def test_every_reader_has_its_tables():
    for reader in conversion.READERS.values():
        for kind, name in {**reader.TABLES, **reader.COMPANIONS}.items():
            assert fields.table(name).kind in {kind, ""}


def test_names_for_from_are_those_without_a_kind():
    assert not any("/" in name for name in conversion.chart_names())
    assert "model.otterscale.io/ModelService" in conversion.kinds()


def test_a_companion_without_a_service_is_no_stranger():
    config = {"apiVersion": "serving.kserve.io/v1alpha2", "kind": "LLMInferenceServiceConfig"}
    (note,) = conversion.convert(raw(config)).strangers
    assert note.reason == "no service of its system is among the files before --with"
