"""Affinity and spread of pods."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem, echo
from models.trees import mapping, sequence
from planning.refusals import selectors
from planning.refusals.tables import rules
from planning.refusals.values import Tree, between, one_of, trees

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HOSTNAME = "write the key of a label of nodes, such as kubernetes.io/hostname"


def affinity(at: Path, value: object) -> Iterator[Problem]:
    """Yield a problem for each rule that an affinity breaks."""
    yield from _node_affinity(at / "nodeAffinity", mapping(mapping(value).get("nodeAffinity")))
    for field in ("podAffinity", "podAntiAffinity"):
        rooms = mapping(mapping(value).get(field))
        for here, term in trees(at / field / _REQUIRED, rooms.get(_REQUIRED)):
            yield from _pod_term(here, term)
        for here, preference in trees(at / field / _PREFERRED, rooms.get(_PREFERRED)):
            yield from _weight(here, preference)
            yield from _pod_term(here / "podAffinityTerm", mapping(preference.get("podAffinityTerm")))


def topology_spread(at: Path, constraints: object) -> Iterator[Problem]:
    """Yield a problem for each rule that topology spread constraints break."""
    known = rules().scheduling
    pairs = dict[tuple[str, str], Path]()
    for here, constraint in trees(at, constraints):
        action = constraint.get("whenUnsatisfiable")
        key = constraint.get("topologyKey")
        yield from between(here / "maxSkew", constraint.get("maxSkew"), 1)
        yield from between(here / "minDomains", constraint.get("minDomains"), 1)
        yield from _topology_key(here / "topologyKey", key)
        yield from one_of(here / "whenUnsatisfiable", action, known.when_unsatisfiable)
        if constraint.get("minDomains") is not None and action != known.domains_with:
            what = f"is allowed only with whenUnsatisfiable: {known.domains_with} ({action})"
            yield Problem(here / "minDomains", what, f"remove it, or write {known.domains_with}")
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from one_of(here / field, constraint.get(field), known.policies)
        yield from selectors.label_selector(here / "labelSelector", constraint.get("labelSelector"))
        yield from _label_keys(here, constraint)
        # Values of other types have problems of their own.
        holder = pairs.setdefault((str(key), str(action)), here)
        if holder != here:
            what = f"has the topologyKey and whenUnsatisfiable of {holder} ({key}, {action})"
            yield Problem(here, what, "keep one of them")


def _node_affinity(at: Path, value: Tree) -> Iterator[Problem]:
    required = mapping(value.get(_REQUIRED))
    for here, term in trees(at / _REQUIRED / "nodeSelectorTerms", required.get("nodeSelectorTerms")):
        yield from selectors.node_term(here, term, strict=True)
    for here, preference in trees(at / _PREFERRED, value.get(_PREFERRED)):
        yield from _weight(here, preference)
        yield from selectors.node_term(here / "preference", mapping(preference.get("preference")), strict=False)


def _weight(at: Path, preference: Tree) -> Iterator[Problem]:
    yield from between(at / "weight", preference.get("weight"), 1, rules().scheduling.heaviest)


def _pod_term(at: Path, term: Tree) -> Iterator[Problem]:
    """Check a term that selects pods, and the topology in which these pods count."""
    for field in ("labelSelector", "namespaceSelector"):
        yield from selectors.label_selector(at / field, term.get(field))
    key = term.get("topologyKey")
    yield from _topology_key(at / "topologyKey", key)
    if key:
        yield from selectors.label_key(at / "topologyKey", key)
    yield from _label_keys(at, term)


def _topology_key(at: Path, key: object) -> Iterator[Problem]:
    if key == "":
        yield Problem(at, "is empty", _HOSTNAME)


def _label_keys(at: Path, term: Tree) -> Iterator[Problem]:
    """Check keys whose values Kubernetes takes from each pod. It adds them to the label selector."""
    selector = term.get("labelSelector")
    matching = sequence(term.get("matchLabelKeys"))
    differing = sequence(term.get("mismatchLabelKeys"))
    for field, names in (("matchLabelKeys", matching), ("mismatchLabelKeys", differing)):
        if names and selector is None:
            yield Problem(at / field, "needs a labelSelector", "add labelSelector, or remove it")
        for index, name in enumerate(names):
            yield from selectors.label_key(at / field / index, name)
    for index, name in enumerate(matching):
        here = at / "matchLabelKeys" / index
        if isinstance(name, str) and name in selectors.keys(selector):
            yield Problem(here, f"is in labelSelector as well{echo(here, name)}", "remove it from one of them")
        if name in differing:
            yield Problem(here, f"is in mismatchLabelKeys as well{echo(here, name)}", "remove it from one of them")
