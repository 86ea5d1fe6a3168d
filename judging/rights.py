"""Rights that a user needs for a stack: to preview it, to deploy it, to see its status, or to compare its canaries.

Rights are rules of Roles and of a ClusterRole.

The source of the provider's requests is provider/pkg/await of pulumi-kubernetes (4.25): `await.go` has the requests for
all objects. `deployment.go` and `job.go` have the requests for pods, ReplicaSets and claims, which the provider reads
while it waits for a Deployment or a Job.
Reads of the API server's kinds and version need no rule, because every authenticated user has the ClusterRole
`system:discovery`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from judging import additions, ownership
from manifests.assembly import Component, objects
from models.paths import Path
from models.problems import Problem, gap, warning
from planning.ground import bundles, parts, snapshot
from planning.ground.api_groups import GATEWAY_GROUP, plural
from planning.ground.cluster_facts import IDENTITY, Permissions, Unknown
from planning.ground.needs import Needs

_Rule = Mapping[str, list[str]]
"""A rule in the form that it has in the manifest of a Role."""
_GATEWAY_KIND = "Gateway"
_RBAC = "rbac.authorization.k8s.io"
_SECRETS = "secrets"
_READ = ("get",)
_LIST = ("list",)
_WRITE = ("create", "patch")
_DELETE = ("delete", "watch")
_WAITED = ("list", "watch")
_OF_PODS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Deployment": (("", "persistentvolumeclaims"), ("", "pods"), ("apps", "replicasets")),
    "Job": (("", "pods"),),
}
"""Groups and resources that the provider reads while it waits for an object, and in a refresh, by the object's kind."""
_URLS = "/"
"""Value of a rule's `group` if its resources are URL paths of the API server."""
_CHECK = "the rights of this run"
_EVERYWHERE = ""
"""Value for a rule's namespace if the rule applies to the whole cluster."""


class Purpose(StrEnum):
    """Purpose for which a user needs rights."""

    PREVIEW = "preview"
    DEPLOY = "deploy"
    STATUS = "status"
    GATE = "gate"


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """A rule of a Role or ClusterRole."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Names of the objects; empty for all objects."""

    @property
    def manifest(self) -> dict[str, list[str]]:
        """Return the rule in the form that it has in the manifest of a Role."""
        if self.group == _URLS:
            return {"nonResourceURLs": list(self.resources), "verbs": list(self.verbs)}
        names = {}
        if self.names:
            names = {"resourceNames": list(self.names)}
        return {"apiGroups": [self.group], "resources": list(self.resources), **names, "verbs": list(self.verbs)}


@dataclass(frozen=True, slots=True)
class RoleRight:
    """Rights that a Role or ClusterRole of a stack gives. Only users who have these rights can create the Role."""

    namespace: str
    """Namespace of the Role; empty for a ClusterRole."""
    rule: Mapping[str, list[str]]
    """A rule in the form that it has in the manifest of a Role."""


@dataclass(frozen=True, slots=True)
class StackObjects:
    """Objects of a stack, and the rights that the stack's Roles and ClusterRoles give."""

    objects: frozenset[tuple[str, str]]
    """Kind (`apiVersion/Kind`) and namespace of the objects; the namespace of a cluster-scoped object is empty."""
    compared: frozenset[tuple[str, str]]
    """Kind and namespace of the objects that a preview compares with the cluster, or whose marks it reads."""
    role_rules: tuple[RoleRight, ...]
    bound: frozenset[str]
    """Names of ClusterRoles that the stack binds but does not create."""
    of_status: frozenset[str]
    """Namespaces of the objects that a status reads."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The smallest rules that suffice for a purpose, by namespace. An empty namespace stands for the ClusterRole."""

    rules: Mapping[str, tuple[Mapping[str, list[str]], ...]]


@dataclass(frozen=True, slots=True)
class Options:
    """Optional steps of a preview or of a status. Each step needs additional rights."""

    secrets: bool = False
    """Whether a preview checks that Secrets exist. The right that this check needs is the right to read their values,
    too."""
    dry_run: bool = False
    """Whether a preview sends dry runs to the API server. Dry runs need the verbs for writing."""
    logs: bool = False
    """Whether a status has the last lines of logs."""
    certificates: tuple[str, ...] = ()
    """Names of the Secrets of Gateways whose certificates a status reads. The right to read them is one to read their
    private keys, too."""


def of_components(components: Sequence[Component]) -> StackObjects:
    """Return the objects that a stack makes, and the rights that the stack gives."""
    items = list(objects(components))
    roles = [item for item in items if item.manifest["kind"] in {"Role", "ClusterRole"}]
    own_roles = {item.place[3] for item in roles if item.manifest["kind"] == "ClusterRole"}
    refs = (item.manifest["roleRef"] for item in items if "roleRef" in item.manifest)
    read = {(item.api, item.place[2]) for item in items if item.manifest["kind"] not in ownership.UNREAD}
    return StackObjects(
        objects=frozenset((item.api, item.place[2]) for item in items),
        compared=additions.kinds(components) | read,
        role_rules=tuple(RoleRight(item.place[2], rule) for item in roles for rule in item.manifest["rules"]),
        bound=frozenset(ref["name"] for ref in refs if ref["kind"] == "ClusterRole" and ref["name"] not in own_roles),
        of_status=frozenset(item.place[2] for item in items if item.id.part not in parts.DASHBOARDS) - {_EVERYWHERE},
    )


def rights(purpose: Purpose, stack_objects: StackObjects, needs: Needs, options: Options) -> Rights:
    """Return the rights that suffice for a purpose.

    The rules of namespaces that the stack creates are in the ClusterRole, because no Role can exist before its
    namespace.
    """
    if purpose is Purpose.STATUS:
        reads = _status_reads(stack_objects, needs, options)
        return Rights(_rules_by_place(_Verbs.of(reads, ())))
    if purpose is Purpose.GATE:
        return Rights(_rules_by_place(_Verbs.of(_variant_reads(stack_objects), ())))
    deploys = purpose is Purpose.DEPLOY
    reads_secrets = options.secrets or deploys
    writes = options.dry_run or deploys
    rules = [*_reads(needs, secrets=reads_secrets), *_comparisons(stack_objects)]
    rules += _object_rules(stack_objects, _READ + (_WRITE if writes else ()), secrets=reads_secrets)
    rules += _of_pods(stack_objects, _LIST)
    rules += _grants(stack_objects) if writes else ()
    if deploys:
        rules += [*_object_rules(stack_objects, _DELETE, secrets=True), *_waits(stack_objects)]
    return Rights(_rules_by_place(_Verbs.of(rules, needs.created)))


def judge(needed: Rights, permissions: Permissions | Unknown) -> Iterator[Problem]:
    """Yield a warning for each place in which a user lacks rights: a namespace, or the whole cluster.

    A missing right is no error, because a run uses some rights only after a failure.
    """
    if isinstance(permissions, Unknown):
        yield gap(Path(), _CHECK, permissions.reason)
        return
    for namespace, rules in needed.rules.items():
        texts = list(dict.fromkeys(_lacking(rules, permissions, namespace)))
        if texts and not permissions.is_complete:
            yield gap(Path(), _CHECK, "the API server does not list all rules")
            return
        if texts:
            where = "in the whole cluster"
            if namespace:
                where = f"in namespace {namespace}"
            what = f"this run is not allowed to {', '.join(texts)} {where}, so it may fail, or wait without end"
            yield warning(Path(), what, "bind the Roles that `python -m cli rights STACK --for deploy` prints")


def _lacking(needed: Iterable[_Rule], permissions: Permissions, namespace: str) -> Iterator[str]:
    """Yield verb and resource of each right that a user lacks."""
    allowed = (*permissions.rules[_EVERYWHERE], *permissions.rules.get(namespace, ()))
    for rule in needed:
        for group, resource, verb in product(rule.get("apiGroups", ()), rule.get("resources", ()), rule["verbs"]):
            if not any(_allows(other, group, resource, verb, rule.get("resourceNames", ())) for other in allowed):
                yield f"{verb} {resource}"


def _allows(rule: _Rule, group: str, resource: str, verb: str, names: Collection[str]) -> bool:
    """Tell whether a rule allows a verb on the objects called `names`, or on all objects if `names` is empty."""
    limit = rule.get("resourceNames")
    return (
        _has(rule.get("verbs", ()), verb)
        and _has(rule.get("apiGroups", ()), group)
        and _has(rule.get("resources", ()), resource)
        and (not limit or (len(names) > 0 and {*names} <= {*limit}))
    )


def _has(values: Collection[str], value: str) -> bool:
    return "*" in values or value in values


def _variant_reads(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for reading the variants of a stack's services, their pods and their shares."""
    for namespace in _namespaces(stack_objects):
        yield from ((namespace, _rule(kind, _LIST)) for kind in snapshot.KINDS_OF_VARIANTS)


def _namespaces(stack_objects: StackObjects) -> Sequence[str]:
    return sorted(stack_objects.of_status)


def _status_reads(stack_objects: StackObjects, needs: Needs, options: Options) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for reading the status of a stack (`facts.status`), and for its optional steps."""
    namespaces = _namespaces(stack_objects)
    for kind in snapshot.KINDS:
        if kind in snapshot.CLUSTER_SCOPED:
            yield _EVERYWHERE, _rule(kind, _LIST)
        elif kind == snapshot.SERVICE:
            yield from ((namespace, _rule(kind, _LIST)) for namespace in sorted(needs.metered))
            proxies = sorted(needs.proxies)
            yield from ((namespace, Rule("", ("services",), _READ, (name,))) for namespace, name in proxies)
        elif kind != snapshot.GATEWAY:
            yield from ((namespace, _rule(kind, _LIST)) for namespace in namespaces)
    for namespace in sorted(needs.interceptors):
        yield from ((namespace, _rule(kind, _LIST)) for kind in (snapshot.DEPLOYMENT, snapshot.POD))
    if options.logs:
        yield from ((namespace, Rule("", ("pods/log",), _READ)) for namespace in namespaces)
    yield from _gateway_reads(needs)
    if options.certificates:
        yield from _certificate_reads(needs, options.certificates)


def _certificate_reads(needs: Needs, secrets: tuple[str, ...]) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for reading the certificates of a stack's Gateways."""
    for gateway in sorted(needs.gateways):
        if (gateway.group, gateway.kind) == (GATEWAY_GROUP, _GATEWAY_KIND):
            yield gateway.namespace, Rule("", (_SECRETS,), _READ, secrets)
            yield gateway.namespace, _rule(snapshot.CERTIFICATE, _LIST)


def _gateway_reads(needs: Needs) -> Iterator[tuple[str, Rule]]:
    for gateway in sorted(needs.gateways):
        if (gateway.group, gateway.kind) == (GATEWAY_GROUP, _GATEWAY_KIND):
            yield gateway.namespace, Rule(GATEWAY_GROUP, ("gateways",), _READ, (gateway.name,))


def _reads(needs: Needs, *, secrets: bool) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for reading cluster facts."""
    if needs.namespaces:
        yield _EVERYWHERE, Rule("", ("namespaces",), _READ, tuple(sorted({*needs.namespaces, IDENTITY})))
    yield from _gateway_reads(needs)
    if needs.gateways:
        yield _EVERYWHERE, Rule(GATEWAY_GROUP, ("httproutes",), _LIST)
        names = tuple(sorted(bundles.versioned_definitions()))
        yield _EVERYWHERE, Rule("apiextensions.k8s.io", ("customresourcedefinitions",), _READ, names)
    yield from ((namespace, Rule("", ("services",), _LIST)) for namespace in sorted(needs.metered))
    if needs.storage_classes:
        yield _EVERYWHERE, Rule("storage.k8s.io", ("storageclasses",), _LIST)
    if needs.priority_classes:
        yield _EVERYWHERE, Rule("scheduling.k8s.io", ("priorityclasses",), _LIST)
    yield from _capacity_reads(needs)
    for reference in needs.secrets if secrets else ():
        yield reference.namespace, Rule("", (_SECRETS,), _READ, (reference.name,))


def _capacity_reads(needs: Needs) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for reading facts about devices."""
    if needs.nodes:
        yield _EVERYWHERE, Rule("", ("nodes",), _LIST)
    for namespace in sorted(needs.quotas):
        yield namespace, Rule("", ("resourcequotas",), _LIST)
    if needs.slices:
        yield _EVERYWHERE, Rule("resource.k8s.io", ("resourceslices",), _LIST)


def _comparisons(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
    for api, namespace in sorted(stack_objects.compared):
        yield namespace, _rule(api, _LIST)


def _object_rules(stack_objects: StackObjects, verbs: tuple[str, ...], *, secrets: bool) -> Iterator[tuple[str, Rule]]:
    for api, namespace in sorted(stack_objects.objects):
        rule = _rule(api, verbs)
        if secrets or rule.resources != (_SECRETS,):
            yield namespace, rule


def _waits(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for the objects that the provider watches while it waits."""
    for api, namespace in sorted(stack_objects.objects):
        yield namespace, _rule(api, _WAITED)
    yield from _of_pods(stack_objects, _WAITED)


def _of_pods(stack_objects: StackObjects, verbs: tuple[str, ...]) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for the pods, ReplicaSets and claims that the provider reads together with a Deployment or a Job.

    Without these rules, a refresh counts Deployments and Jobs as unhealthy, and shows an update.
    """
    for api, namespace in sorted(stack_objects.objects):
        for group, resource in _OF_PODS.get(api.rpartition("/")[2], ()):
            yield namespace, Rule(group, (resource,), verbs)


def _grants(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
    """Yield rules with the rights that a stack's Roles give, and a rule for binding existing ClusterRoles."""
    for role_rule in stack_objects.role_rules:
        rule = role_rule.rule
        for group in rule.get("apiGroups", ()):
            names = tuple(rule.get("resourceNames", ()))
            yield role_rule.namespace, Rule(group, tuple(rule["resources"]), tuple(rule["verbs"]), names)
        if "nonResourceURLs" in rule:
            yield _EVERYWHERE, Rule(_URLS, tuple(rule["nonResourceURLs"]), tuple(rule["verbs"]))
    if stack_objects.bound:
        yield _EVERYWHERE, Rule(_RBAC, ("clusterroles",), ("bind",), tuple(sorted(stack_objects.bound)))


def _rule(api: str, verbs: tuple[str, ...]) -> Rule:
    version, _, kind = api.rpartition("/")
    return Rule(version.rpartition("/")[0], (plural(kind),), verbs)


@dataclass(frozen=True, slots=True)
class _Verbs:
    """Verbs by place, group, resource and names."""

    verbs: Mapping[tuple[str, str, str, tuple[str, ...]], Collection[str]]

    @classmethod
    def of(cls, rules: Iterable[tuple[str, Rule]], created: Collection[str]) -> "_Verbs":
        """Collect the verbs of rules. A rule for a namespace in `created` is widened to the whole cluster."""
        verbs = dict[tuple[str, str, str, tuple[str, ...]], set[str]]()
        for namespace, rule in rules:
            place = namespace
            if namespace in created:
                place = _EVERYWHERE
            for resource in rule.resources:
                verbs.setdefault((place, rule.group, resource, rule.names), set()).update(rule.verbs)
        return cls(verbs)

    def minimal(self) -> Iterator[tuple[tuple[str, str, str, tuple[str, ...]], tuple[str, ...]]]:
        """Yield the verbs that no wider rule has. Rules without names and rules for the whole cluster are wider."""
        for (place, group, resource, names), verbs in sorted(self.verbs.items()):
            wider = {(place, group, resource, ()), (_EVERYWHERE, group, resource, ())}
            wider -= {(place, group, resource, names)}
            missing = set(verbs).difference(*(self.verbs.get(key, ()) for key in wider))
            if missing:
                yield (place, group, resource, names), tuple(sorted(missing))


def _rules_by_place(verbs_by_rule: _Verbs) -> dict[str, tuple[Mapping[str, list[str]], ...]]:
    """Return the rules of each namespace. Resources of one group share a rule if verbs and names are the same."""
    alike = dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[str]]()
    for (place, group, resource, names), verbs in verbs_by_rule.minimal():
        alike.setdefault((place, group, verbs, names), []).append(resource)
    rules = dict[str, list[Mapping[str, list[str]]]]()
    for (place, group, verbs, names), resources in alike.items():
        rules.setdefault(place, []).append(Rule(group, tuple(resources), verbs, names).manifest)
    return {place: tuple(rules[place]) for place in sorted(rules)}
