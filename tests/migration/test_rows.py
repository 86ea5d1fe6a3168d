"""Each leaf of the schemas, alone in a document: its reader knows what becomes of it."""

import copy
import re
from functools import cache
from pathlib import Path as File
from typing import Any

import pytest
import yaml

from migration import aim, conversion
from migration.fields import table
from migration.files import RawDocument, documents
from models.paths import Path

SCHEMAS = File(__file__).with_name("schemas")
VALUES = {"integer": 1, "number": 1, "boolean": True, "int-or-string": "1", "object": {"a": "b"}}
"""Values by type. All others are texts."""
KUBERNETES = frozenset({"PodSpec", "Container"})
KSERVE = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: a, namespace: b}
spec:
  model: {uri: "hf://a/b", name: c}
  router: {route: {}, gateway: {refs: [{name: g}]}, scheduler: {}}
  scaling: {keda: {advanced: {scalingModifiers: {formula: f}}}}
  prefill: {scaling: {keda: {advanced: {scalingModifiers: {formula: f}}}}}
  template: {initContainers: [{name: n, image: "a/b:1"}]}
"""
CHART = """
modelArtifacts: {name: a/b}
prefill: {replicas: 1, monitoring: {podmonitor: {enabled: true}}}
decode: {acceleratorTypes: {labelKey: k}, monitoring: {podmonitor: {enabled: true}}}
"""
AIM = File(__file__).with_name("samples") / "aim.yaml"
WHOLE = ("model", "lora", "adapters")
"""Path of a leaf of KServe's schema that is a list of objects."""
_PARTS = re.compile(r"\[\]|[^.\[\]]+")


def _tree(parts: list[str], value: object) -> Any:
    """Return a tree with a value at a path. Items of lists have names."""
    if not parts:
        return value
    inner = _tree(parts[1:], value)
    if parts[0] == "[]":
        return [{"name": "n", **inner} if isinstance(inner, dict) else inner]
    return {"k" if parts[0] == "*" else parts[0]: inner}


def _merge(tree: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    for key, value in further.items():
        both = (tree.get(key), value)
        if all(isinstance(side, dict) for side in both):
            _merge(tree[key], value)
        elif all(isinstance(side, list) and side and isinstance(side[0], dict) for side in both):
            _merge(tree[key][0], value[0])
        else:
            tree[key] = value
    return tree


def _unread(schema: str, base: str, origin: str | None, prefix: str) -> list[str]:
    """Return the leaves that the reader of a source leaves behind."""
    leaves = yaml.safe_load((SCHEMAS / f"{schema}.yaml").read_text(encoding="utf-8"))["leaves"]
    unread = list[str]()
    for leaf, kind in leaves.items():
        parts = _PARTS.findall(prefix + leaf)
        if kind in KUBERNETES or parts[0] in {"apiVersion", "kind", "metadata", "status"} or tuple(parts[1:]) == WHOLE:
            continue
        tree = _merge(yaml.safe_load(base), _tree(parts, VALUES.get(kind, "x")))
        (original, *_) = conversion.convert([RawDocument("f", tree)], [], origin).documents
        place = Path(*(0 if part == "[]" else "k" if part == "*" else part for part in parts))
        if original.table.row(place) is None and original.table.leads_to_rows(place):
            continue
        notes = [note for note in original.notes() if note.path.is_within(place)]
        unread += [leaf for note in notes if re.search("has no key for the value|does not know", note.reason)]
    return unread


@pytest.mark.parametrize(
    ("schema", "base", "origin", "prefix"),
    [
        ("kserve", KSERVE, None, ""),
        ("pod-spec", KSERVE, None, "spec.template."),
        ("modelservice-chart", CHART, "llm-d-modelservice", ""),
    ],
)
def test_no_leaf_is_left_behind(schema: str, base: str, origin: str | None, prefix: str) -> None:
    """A row that says carried has a reader that takes the value."""
    opaque = {"decode.containers[].env", "decode.imagePullSecrets", "decode.tolerations"}
    opaque |= {name.replace("decode", "prefill") for name in opaque}
    opaque |= {"decode.volumes[]", "prefill.volumes[]"}
    assert set(_unread(schema, base, origin, prefix)) - opaque == set()


@cache
def _aim() -> list[RawDocument]:
    return documents(AIM.read_text(encoding="utf-8"), AIM.name)


def _with_leaf(kind: str, parts: list[str], value: object) -> list[RawDocument]:
    """Return the objects of a sample, in which the object of a kind has a value at a path."""
    raws = list(_aim())
    (index,) = [number for number, raw in enumerate(raws) if raw.kind == kind]
    raws[index] = RawDocument(raws[index].file, _merge(copy.deepcopy(dict(raws[index].tree)), _tree(parts, value)))
    return raws


@pytest.mark.parametrize(
    ("kind", "name"),
    # What is said of models and templates of a namespace holds of those of the cluster, too.
    [(kind, name) for kind, name in {**aim.TABLES, **aim.COMPANIONS}.items() if "cluster" not in name],
)
def test_no_leaf_of_aim_is_left_behind(kind: str, name: str) -> None:
    """Beside what the sample has, each leaf of a kind has a reader that takes the value, or a row that says why not."""
    leaves = yaml.safe_load((SCHEMAS / f"{name}.yaml").read_text(encoding="utf-8"))["leaves"]
    unread = list[str]()
    for leaf, form in leaves.items():
        parts = _PARTS.findall(leaf)
        place = Path(*(0 if part == "[]" else "k" if part == "*" else part for part in parts))
        row = table(name).row(place)
        if row is None or row.path in {"apiVersion", "kind", "metadata", "status"}:
            continue
        converted = conversion.convert(_with_leaf(kind, parts, VALUES.get(form, "x")))
        (original,) = [document for document in converted.documents if document.kind == kind]
        notes = [note for note in original.notes() if note.path.is_within(place)]
        unread += [leaf for note in notes if re.search("has no key for the value|does not know", note.reason)]
    assert len(leaves) > 20
    assert unread == []
