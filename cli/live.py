"""Documents of `convert` with the objects, the status and the digests of a live cluster.

Only objects that documents refer to are read, one by one, and the pods of images without a version. What cannot be read
becomes a note.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from facts import named_objects
from facts.kubeconfig import KubeAccess
from facts.named_objects import Forbidden, Manifest
from manifests import rbac
from migration import conversion, files, references, running
from migration.accounts import Original
from migration.converted import Converted
from migration.files import RawDocument
from migration.notes import Note
from migration.references import LabelSelection, ObjectPlace, ObjectReference
from models.paths import Path
from models.problems import ConfigError
from models.trees import mapping
from planning.ground import yaml_text
from planning.ground.api_groups import plural
from planning.ground.cluster_facts import Unknown

CLUSTER = "the cluster"
"""Name of the cluster in notes, in place of a file."""
_DEADLINE_SECONDS = 15
_ROUNDS = 4
"""Maximum length of a chain of references, such as that of a service, its template and its model."""
_UNREADABLE = "the object is nested too deeply, or has values that no file has"
_ROLE = "inference-stacks-convert"
"""Name of the Roles and of the ClusterRole."""
_NO_LABELS = "its pods cannot be told from others, so that the digests that run are not known"


@dataclass
class LiveDocuments:
    """Documents with what a cluster adds to them."""

    sources: list[RawDocument]
    companions: list[RawDocument]
    notes: list[Note] = field(default_factory=list[Note])
    """Notes about what could not be read."""
    taken: list[str] = field(default_factory=list[str])
    """The objects that were read."""


class _Cluster:
    """A cluster that is read within one deadline."""

    def __init__(self, access: KubeAccess, notes: list[Note]) -> None:
        self._access = access
        self._notes = notes
        self._end = time.monotonic() + _DEADLINE_SECONDS
        self.is_unknown = False
        """Whether nothing more is read, because the cluster does not answer."""

    def objects(self, searched: Sequence[ObjectReference]) -> dict[ObjectReference, Manifest]:
        """Return the objects that exist. A note says what is missing, and what may not be read."""
        if self.is_unknown:
            return {}
        places = {reference: reference.places for reference in searched}
        answers = named_objects.objects(self._access, places, self._seconds)
        manifests = dict[ObjectReference, Manifest]()
        for reference, answer in answers.items():
            if isinstance(answer, Mapping):
                manifests[reference] = answer
            elif answer is None and reference.empty:
                manifests[reference] = _empty(reference.places[-1])
            elif answer is None:
                self._note_absence(reference)
            else:
                self._note(answer, optional=reference.optional)
        return manifests

    def lists(self, selections: Sequence[LabelSelection]) -> dict[LabelSelection, Sequence[Manifest]]:
        """Return the objects of some lists. A note says which lists may not be read."""
        if self.is_unknown:
            return {}
        answers = named_objects.lists(self._access, {selection: selection for selection in selections}, self._seconds)
        results = dict[LabelSelection, Sequence[Manifest]]()
        for selection, answer in answers.items():
            if isinstance(answer, Forbidden | Unknown):
                self._note(answer, optional=False)
            else:
                results[selection] = answer
        return results

    @property
    def _seconds(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def _note_absence(self, reference: ObjectReference) -> None:
        if not reference.optional:
            self._notes.append(Note(CLUSTER, Path(), "ask", f"it has no {' and no '.join(map(str, reference.places))}"))

    def _note(self, answer: Forbidden | Unknown, *, optional: bool) -> None:
        if isinstance(answer, Unknown):
            self.is_unknown = True
            note = Note(CLUSTER, Path(), "ask", self._reason(answer))
        else:
            note = Note(CLUSTER, Path(), "differs" if optional else "ask", _lack(answer))
        if note not in self._notes:
            self._notes.append(note)

    def _reason(self, answer: Unknown) -> str:
        if time.monotonic() >= self._end:
            return f"did not answer within {_DEADLINE_SECONDS} seconds"
        return answer.reason.removeprefix(f"{CLUSTER} ")


def complete(
    sources: Sequence[RawDocument],
    companions: Sequence[RawDocument],
    origin: str | None,
    access: KubeAccess,
    namespace: str,
) -> LiveDocuments:
    """Return documents with what a cluster adds to them. The first arguments are those of `conversion.convert`.

    `namespace` is that of documents that name none.
    """
    documents = LiveDocuments(list(sources), list(companions))
    cluster = _Cluster(access, documents.notes)
    _add_status(documents, cluster, namespace)
    _add_objects(documents, cluster, namespace)
    _add_lists(documents, cluster)
    _add_digests(documents, cluster, origin, namespace)
    return documents


def roles(
    sources: Sequence[RawDocument], companions: Sequence[RawDocument], origin: str | None, namespace: str
) -> Iterator[str]:
    """Yield the manifests of the Roles and of the ClusterRole that suffice for `complete`, as YAML."""
    for place, rules in references.rights([*sources, *companions], origin, namespace).items():
        if place:
            manifest = rbac.role({"name": _ROLE, "namespace": place}, rules)
        else:
            manifest = rbac.cluster_role({"name": _ROLE}, rules)
        yield f"---\n{yaml_text.with_blocks(manifest)}"


def _add_status(documents: LiveDocuments, cluster: _Cluster, namespace: str) -> None:
    """Give the documents of files the status and the UID of their objects. An object may be absent."""
    for group in (documents.sources, documents.companions):
        lacking = dict(references.without_status(group, namespace))
        searched = {ObjectReference((place,), optional=True): number for number, place in lacking.items()}
        for reference, manifest in cluster.objects(list(searched)).items():
            number = searched[reference]
            answer = _read_document(documents, manifest)
            if answer is None:
                continue
            group[number] = replace(group[number], tree=_with_status(group[number].tree, answer.tree))
            if mapping(answer.tree.get("status")):
                documents.taken.append(f"status of {reference.places[0]}")


def _with_status(tree: Manifest, manifest: Manifest) -> Manifest:
    """Return the object of a file with the status and the UID of that of the cluster."""
    metadata = dict(mapping(tree.get("metadata")))
    metadata.setdefault("uid", manifest["metadata"].get("uid"))
    return {**tree, "metadata": metadata, "status": dict(mapping(manifest.get("status")))}


def _add_objects(documents: LiveDocuments, cluster: _Cluster, namespace: str) -> None:
    """Add the objects that documents refer to, and those that these refer to."""
    asked = set[ObjectReference]()
    for _ in range(_ROUNDS):
        open_references = references.open_references([*documents.sources, *documents.companions], namespace)
        new = [reference for reference in open_references if reference not in asked]
        if not new:
            return
        asked.update(new)
        for manifest in cluster.objects(new).values():
            _add(documents, manifest)


def _add_lists(documents: LiveDocuments, cluster: _Cluster) -> None:
    selections = references.lists([*documents.sources, *documents.companions])
    for manifests in cluster.lists(selections).values():
        for manifest in manifests:
            _add(documents, manifest)


def _empty(place: ObjectPlace) -> Manifest:
    """Return an object without values, which stands for one that the cluster does not have."""
    version, _, kind = place.api.rpartition("/")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": place.name}}


def _add(documents: LiveDocuments, manifest: Manifest) -> None:
    """Add an object. One without a spec and without data has nothing that counts, so that nobody is told of it."""
    document = _read_document(documents, manifest)
    if document is None:
        return
    documents.companions.append(document)
    place = references.place_of(document, document.namespace)
    if document.tree.keys() & {"spec", "data"}:
        documents.taken.append(str(place or document.file.removeprefix(f"{CLUSTER} ")))


def _read_document(documents: LiveDocuments, manifest: Manifest) -> RawDocument | None:
    """Return the document of an object, with the limits of files. A note says which object exceeds them."""
    file = f"{CLUSTER} {manifest['kind']}/{manifest['metadata']['name']}"
    try:
        (document,) = files.documents(json.dumps(manifest), file)
    except (ConfigError, RecursionError, ValueError):
        documents.notes.append(Note(file, Path(), "ask", _UNREADABLE))
        return None
    return document


def _add_digests(documents: LiveDocuments, cluster: _Cluster, origin: str | None, namespace: str) -> None:
    """Give documents the digests that run of their images without a version."""
    converted = conversion.convert(documents.sources, documents.companions, origin)
    lacking = {_identity(service.documents[0]) for service in converted.services if _has_unversioned_images(service)}
    selections = dict[int, list[LabelSelection]]()
    for number, document in enumerate(documents.sources):
        if _identity(document) in lacking:
            selections[number] = references.pods(document, origin, namespace)
            if not selections[number]:
                documents.notes.append(Note(document.file, Path(), "ask", _NO_LABELS))
    pods = cluster.lists(list(dict.fromkeys(entry for entries in selections.values() for entry in entries)))
    for number, entries in selections.items():
        manifests = [manifest for entry in entries for manifest in pods.get(entry, ())]
        documents.sources[number] = replace(documents.sources[number], running=running.of_pods(manifests))
    everything = running.union(document.running for document in documents.sources)
    documents.companions = [replace(document, running=everything) for document in documents.companions]


def _has_unversioned_images(service: Converted) -> bool:
    return any(document.unversioned for document in service.documents)


def _identity(document: Original | RawDocument) -> tuple[str, str, str, str]:
    """Return what tells the main document of a service from others."""
    return document.file, document.kind, document.namespace, document.name


def _lack(answer: Forbidden) -> str:
    """Return the right that a user lacks, as the end of a sentence."""
    version, _, kind = answer.api.rpartition("/")
    group = version.rpartition("/")[0]
    resource = f"{plural(kind)}.{group}".removesuffix(".")
    where = f"in namespace {answer.namespace}" if answer.namespace else "in the whole cluster"
    name = f" {answer.name}" if answer.name else ""
    right = f"the right to {answer.verb} {resource} {where} is missing"
    return f"{resource}{name} may not be read: {right} (--rights prints the Roles)"
