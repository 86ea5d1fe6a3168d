"""The shipped profiles: each model has one best on a cluster of one class, whatever is admitted."""

import pytest

from models.layers import Layer, Origin
from models.paths import Path
from planning.hardware import accelerators
from planning.selection import shipped
from planning.selection.catalogue import Declared, ProfileTable
from planning.selection.preferences import bandwidths
from planning.selection.records import Reason, Scope
from tests.support.stacks.profiles import facts, node, question, selection

DECLARED = [
    Declared(name, Scope.SHIPPED, Layer(tree, Origin(Path("profiles", name), file=document.file)))
    for document in shipped.files()
    for name, tree in document.tree["profiles"].items()
]
WHOLE = ProfileTable(DECLARED, accelerators.classes({}))
CLASSES = sorted({each.service["accelerator"] for each in DECLARED})
"""Classes of the shipped profiles."""


def of_one_class(name):
    products = [key for key, each in accelerators.classes({}).items() if each.product is not None]
    found = name if name in products or name == "cpu" else next(key for key in products if key.startswith(f"{name}-"))
    return facts([node(f"node-{number}", None if found == "cpu" else found) for number in range(8)])


@pytest.mark.parametrize("minimum", ["optimized", "unoptimized"])
@pytest.mark.parametrize("name", CLASSES)
def test_no_two_shipped_profiles_tie_on_a_cluster_of_one_class(name, minimum):
    known = of_one_class(name)
    for model in WHOLE.models:
        asked = question(minimumType=minimum).model_copy(update={"model": model})
        table = selection(WHOLE.candidates(model), asked, known)
        assert table.tied == (), model
        assert table.chosen is not None or all(row.rank is None for row in table.rows)


def test_every_shipped_profile_names_a_class_and_is_the_best_of_something():
    best = set[str]()
    for each in DECLARED:
        known = of_one_class(each.service["accelerator"])
        asked = question(minimumType="unoptimized").model_copy(update={"model": each.model, "profile": each.id})
        table = selection(WHOLE.candidates(str(each.model)), asked, known)
        assert not {row.reason for row in table.rows} & {Reason.UNKNOWN_CLASS}
        best |= {table.chosen.id} if table.chosen is not None else set()
    assert best == {each.id for each in DECLARED}


def test_shipped_files_are_read_in_the_order_of_their_names(tmp_path):
    for name in ("qwen3", "gpt-oss"):
        (tmp_path / f"{name}.yaml").write_text(f"profiles: {{{name}: {{}}}}\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("no profile", encoding="utf-8")
    found = shipped.files(tmp_path)
    assert [each.file for each in found] == [f"{tmp_path.name}/gpt-oss.yaml", f"{tmp_path.name}/qwen3.yaml"]
    assert [[*each.tree["profiles"]] for each in found] == [["gpt-oss"], ["qwen3"]]


UNSTATED = ["amd-mi300a", "amd-mi308x", "intel-flex-170"]
"""Classes whose bandwidth no page states, or whose memory is not known."""


def test_accelerators_are_preferred_in_the_order_of_their_bandwidth():
    found = list(bandwidths().values())
    assert found == sorted(found, reverse=True)
    classes = {name for name, each in accelerators.classes({}).items() if each.product is not None}
    assert classes - {*UNSTATED} == {*bandwidths()}
