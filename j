diff --git a/judging/__init__.py b/judging/__init__.py
new file mode 100644
index 00000000..dae09e4b
--- /dev/null
+++ b/judging/__init__.py
@@ -0,0 +1,6 @@
+"""Judging: pure functions that compare plans and rendered objects with schemas, clusters and earlier runs."""
+
+from judging.situation import Situation
+from judging.verdicts import announce, judge
+
+__all__ = ["Situation", "announce", "judge"]
diff --git a/judging/additions.py b/judging/additions.py
new file mode 100644
index 00000000..f06f6a25
--- /dev/null
+++ b/judging/additions.py
@@ -0,0 +1,195 @@
+"""Additions: items and keys that somebody added, in the cluster, to a list or map of an object.
+
+This module looks only at lists and maps that every writer sets as a whole, such as the rules of a Role. Pulumi's
+provider compares only the items and keys that a manifest has (`pruneSlice` and `pruneMap` in
+provider/pkg/provider/util.go of pulumi-kubernetes, 4.25 to 4.32), so neither a preview nor a refresh shows additions. A
+run therefore sets an annotation that names the additions. Because this annotation differs, the provider applies the
+manifest again, and the manifest's list or map replaces the list or map in the cluster.
+"""
+
+import json
+from collections.abc import Iterable, Iterator, Mapping, Sequence
+from dataclasses import dataclass, replace
+from typing import Any, cast
+
+from manifests.assembly import Component
+from manifests.objects import Manifest, Rendered
+from models.paths import Path
+from models.problems import Problem, warning
+from models.trees import EMPTY
+from planning.ground import labels
+from planning.ground.cluster_facts import FieldOwner, LiveObject, LiveObjects, Unknown
+
+_UNREAD = frozenset({"ConfigMap", "Job", "Namespace", "PersistentVolumeClaim", "Secret", "ServiceAccount"})
+"""Kinds that are not read from the cluster. Some hold secrets. The others have no list or map that writers set as a
+whole and that somebody could change."""
+_Tree = Mapping[str, Any]
+
+
+@dataclass(frozen=True, slots=True)
+class Addition:
+    """Items or keys that somebody added to a field."""
+
+    field: str
+    """Path of the list or map in the object."""
+    writer: str
+    time: str
+
+    def __str__(self) -> str:
+        return f"{self.field} by {self.writer} at {self.time}"
+
+
+def kinds(components: Iterable[Component]) -> frozenset[tuple[str, str]]:
+    """Return kind (`apiVersion/Kind`) and namespace of the objects that are compared with the cluster."""
+    places = ((rendered.api, rendered.place) for component in components for rendered in component.objects)
+    return frozenset((api, namespace) for api, (_, kind, namespace, _) in places if kind not in _UNREAD)
+
+
+def judge(components: Iterable[Component], live: LiveObjects) -> Iterator[Problem]:
+    """Yield a warning for each addition to the components' objects.
+
+    There is another warning for each list item whose identifying keys somebody changed, because no run can restore
+    these keys.
+    """
+    for component in components:
+        for rendered in component.objects:
+            current = live.objects.get(rendered.place)
+            if current is not None:
+                yield from _problems(rendered, current)
+
+
+def take_back(components: tuple[Component, ...], live: LiveObjects | Unknown) -> tuple[Component, ...]:
+    """Return the components; each object with additions has an annotation, so that the run removes the additions.
+
+    If the objects in the cluster could not be read, return the components unchanged.
+    """
+    if isinstance(live, Unknown):
+        return components
+    return tuple(
+        replace(component, objects=tuple(_annotate(rendered, live) for rendered in component.objects))
+        for component in components
+    )
+
+
+def _problems(rendered: Rendered, live: LiveObject) -> Iterator[Problem]:
+    _, kind, namespace, name = rendered.place
+    at = Path(f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}")
+    for addition in additions(rendered.manifest, live):
+        what = f"{addition.writer} added entries to {addition.field} ({addition.time}); this run removes them"
+        yield warning(at, what)
+    for owner, field, _, item in _owned_fields(rendered.manifest, live, moved=True):
+        what = f"{owner.name} changed the keys that identify {field} ({owner.time}), and no run can restore them"
+        yield warning(at, what, f"restore the keys of {item['name']}, or delete the object and run with --refresh")
+
+
+def _annotate(rendered: Rendered, live: LiveObjects) -> Rendered:
+    """Return an object with an annotation that names its additions.
+
+    An object without additions keeps the annotation that it has in the cluster.
+    """
+    current = live.objects.get(rendered.place)
+    if current is None:
+        return rendered
+    names = "; ".join(map(str, additions(rendered.manifest, current)))
+    text = names or current.content["metadata"].get("annotations", EMPTY).get(labels.TAKEN_BACK)
+    if text is None:
+        return rendered
+    metadata = rendered.manifest["metadata"]
+    annotations = {**metadata.get("annotations", EMPTY), labels.TAKEN_BACK: text}
+    return replace(rendered, manifest={**rendered.manifest, "metadata": {**metadata, "annotations": annotations}})
+
+
+def additions(manifest: Manifest, live: LiveObject) -> Iterator[Addition]:
+    """Yield the additions to fields that a manifest states and that another writer has set as a whole."""
+    for owner, field, stated, value in _owned_fields(manifest, live):
+        if _exceeds(value, stated):
+            yield Addition(field, owner.name, owner.time)
+
+
+def _owned_fields(
+    manifest: Manifest, live: LiveObject, *, moved: bool = False
+) -> Iterator[tuple[FieldOwner, str, Any, Any]]:
+    """Yield owner, path, stated value and cluster value of stated fields that other writers have set as a whole.
+
+    With `moved`, yield list items instead, each with None as its stated value. Such an item has the name of a stated
+    item, but differs from that item in the keys by which the API server identifies items.
+    """
+    for owner in live.others:
+        # An empty set of fields means no field, not the whole object.
+        if owner.fields:
+            for field, stated, value in _fields(owner.fields, manifest, live.content, ""):
+                if moved == (stated is None):
+                    yield owner, field, stated, value
+
+
+def _fields(
+    owned: Mapping[str, Any],
+    stated: Any,  # noqa: ANN401, any JSON
+    value: Any,  # noqa: ANN401, any JSON
+    at: str,
+) -> Iterator[tuple[str, Any, Any]]:
+    if not owned:
+        yield at, stated, value
+        return
+    for key, below in owned.items():
+        kind, _, name = key.partition(":")
+        if kind == "f" and _has_key(stated, name) and _has_key(value, name):
+            yield from _fields(below, stated[name], value[name], f"{at}.{name}" if at else name)
+        elif kind == "k":
+            yield from _item_fields(json.loads(name), below, stated, value, at)
+
+
+def _item_fields(
+    keys: Mapping[str, Any],
+    owned: Mapping[str, Any],
+    stated: Sequence[Mapping[str, Any]],
+    value: Sequence[Mapping[str, Any]],
+    at: str,
+) -> Iterator[tuple[str, Any, Any]]:
+    stated_item = _item(stated, keys)
+    item = _item(value, keys)
+    if item is None:
+        return
+    if stated_item is not None:
+        yield from _fields(owned, stated_item, item, f"{at}[{', '.join(map(str, keys.values()))}]")
+    elif "name" in item and _item(stated, {"name": item["name"]}):
+        yield f"{at}[{item['name']}]", None, item
+
+
+def _has_key(tree: Any, key: str) -> bool:  # noqa: ANN401, any JSON
+    return isinstance(tree, Mapping) and key in tree
+
+
+def _item(items: Iterable[Mapping[str, Any]], keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
+    """Return the item of a list with these keys and values; None if there is none.
+
+    A key that an item omits counts as equal, because the item then has the key's default.
+    """
+    return next((item for item in items if all(item.get(key, value) == value for key, value in keys.items())), None)
+
+
+def _exceeds(value: Any, stated: Any) -> bool:  # noqa: ANN401, any JSON
+    """Tell whether a value of the cluster has keys or items that the manifest does not state."""
+    if isinstance(value, Mapping) and isinstance(stated, Mapping):
+        keys = cast("_Tree", value)
+        stated_keys = cast("_Tree", stated)
+        return bool(keys.keys() - stated_keys.keys()) or any(_exceeds(keys[key], stated_keys[key]) for key in keys)
+    return _has_more_items(value, stated)
+
+
+def _has_more_items(value: Any, stated: Any) -> bool:  # noqa: ANN401, any JSON
+    """Tell whether a list of the cluster has more items than the manifest's list.
+
+    Keys of items do not count, because the API server adds some.
+    """
+    if isinstance(value, list) and isinstance(stated, list):
+        items = cast("list[Any]", value)
+        stated_items = cast("list[Any]", stated)
+        if len(items) == len(stated_items):
+            return any(map(_has_more_items, items, stated_items))
+        return len(items) > len(stated_items)
+    if isinstance(value, Mapping) and isinstance(stated, Mapping):
+        keys = cast("_Tree", value)
+        stated_keys = cast("_Tree", stated)
+        return any(_has_more_items(keys[key], stated_keys[key]) for key in keys.keys() & stated_keys.keys())
+    return False
diff --git a/judging/admission.py b/judging/admission.py
new file mode 100644
index 00000000..56ba29a4
--- /dev/null
+++ b/judging/admission.py
@@ -0,0 +1,78 @@
+"""Checks of pods for mistakes that no schema detects.
+
+Pods with these mistakes are rejected by the API server (`judging.pod_rules`), or by the Pod Security level of their
+namespace (`judging.pod_security`).
+"""
+
+from collections.abc import Collection, Iterable, Iterator
+
+from judging import pod_rules, pod_security
+from manifests import pod_templates
+from manifests.objects import Manifest
+from manifests.pod_templates import PodTemplate, containers, mappings
+from models.paths import Path
+from models.problems import Problem
+from planning.ground import labels
+
+
+def restricted_namespaces(manifests: Iterable[Manifest]) -> frozenset[str]:
+    """Return the names of the Namespaces in `manifests` that enforce the level `restricted`."""
+    return frozenset(
+        manifest["metadata"]["name"]
+        for manifest in manifests
+        if manifest["kind"] == "Namespace"
+        and labels.POD_SECURITY.items() <= manifest["metadata"].get("labels", {}).items()
+    )
+
+
+def problems(manifest: Manifest, restricted: Collection[str]) -> Iterator[Problem]:
+    """Yield the problems of an object's pods, with paths in the object.
+
+    `restricted` are the namespaces that enforce the level `restricted`.
+    """
+    for violation in pod_rules.deployment(manifest):
+        yield Problem(violation.at, violation.what, violation.remedy)
+    namespace = manifest["metadata"].get("namespace", "")
+    for template in pod_templates.templates(manifest):
+        yield from _unknown_names(template)
+        privileges = []
+        if namespace in restricted:
+            privileges = list(_privileges(template, namespace))
+        yield from privileges
+        refused = {problem.path for problem in privileges}
+        for violation in pod_rules.violations(template):
+            path = Path(*template.at, *violation.at)
+            # What the level refuses has to go, whatever else it would need.
+            if path not in refused:
+                yield Problem(path, violation.what, violation.remedy)
+
+
+def _privileges(template: PodTemplate, namespace: str) -> Iterator[Problem]:
+    """Yield a problem for each setting that the newest rules of the level `restricted` refuse."""
+    for finding in pod_security.findings(template):
+        if finding.excess.is_refused(None):
+            what = f"is not admitted in namespace {namespace}, which is restricted ({finding.excess.text})"
+            yield Problem(Path(*template.at, *finding.at), what, finding.remedy)
+
+
+def _unknown_names(template: PodTemplate) -> Iterator[Problem]:
+    """Yield a problem for each container without an image, or with the name of another, and for each unknown volume."""
+    pod = template.spec
+    volumes = [str(volume.get("name")) for volume in mappings(pod.get("volumes"))]
+    of_pod = tuple(containers(pod))
+    names = [container.get("name") for _, container in of_pod]
+    for number, (container_at, container) in enumerate(of_pod):
+        place = Path(*template.at, "spec", *container_at)
+        if not container.get("image"):
+            images = ", ".join(str(other.get("name")) for _, other in of_pod if other.get("image"))
+            what = f"is no container of this pod, and a new container needs an image ({container.get('name')})"
+            remedy = f"use the name of a container ({images}), or add an image"
+            yield Problem(place, what, remedy)
+        elif names[number] in names[:number]:
+            what = f"has the name of another container of this pod ({names[number]})"
+            yield Problem(place, what, "choose another name")
+        for index, mount in enumerate(mappings(container.get("volumeMounts"))):
+            if mount.get("name") not in volumes:
+                what = f"mounts a volume that the pod does not have ({mount.get('name')})"
+                remedy = f"add it to volumes, or mount one of {', '.join(volumes)}"
+                yield Problem(place / "volumeMounts" / index, what, remedy)
diff --git a/judging/constraints.yaml b/judging/constraints.yaml
new file mode 100644
index 00000000..8aff04f9
--- /dev/null
+++ b/judging/constraints.yaml
@@ -0,0 +1,65 @@
+# What the API server demands of single fields of built-in kinds beyond their schema: ranges, words, lengths.
+# Each key is a definition of the schema, with its fields and their keywords of JSON Schema.
+# Source: k8s.io/kubernetes v1.36.3, pkg/apis/core/validation/validation.go, pkg/apis/apps/validation/validation.go;
+# k8s.io/apimachinery v0.36.1, pkg/util/validation/validation.go (ports, users and groups).
+io.k8s.api.apps.v1.DeploymentSpec:
+  minReadySeconds: {minimum: 0}
+  progressDeadlineSeconds: {minimum: 1}
+  replicas: {minimum: 0}
+  revisionHistoryLimit: {minimum: 0}
+io.k8s.api.apps.v1.DeploymentStrategy:
+  type: {enum: [RollingUpdate, Recreate]}
+io.k8s.api.core.v1.AppArmorProfile:
+  localhostProfile: {minLength: 1, maxLength: 4095}
+  type: {enum: [RuntimeDefault, Localhost, Unconfined]}
+io.k8s.api.core.v1.Container:
+  name: {pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
+  imagePullPolicy: {enum: [Always, IfNotPresent, Never]}
+  terminationMessagePolicy: {enum: [File, FallbackToLogsOnError]}
+io.k8s.api.core.v1.ContainerPort:
+  containerPort: {minimum: 1, maximum: 65535}
+  hostPort: {minimum: 0, maximum: 65535}
+  protocol: {enum: [TCP, UDP, SCTP]}
+io.k8s.api.core.v1.EnvVar:
+  name: {minLength: 1}
+io.k8s.api.core.v1.ExecAction:
+  command: {minItems: 1}
+io.k8s.api.core.v1.GRPCAction:
+  port: {minimum: 1, maximum: 65535}
+io.k8s.api.core.v1.HTTPGetAction:
+  port: {minimum: 1, maximum: 65535}
+  scheme: {enum: [HTTP, HTTPS]}
+io.k8s.api.core.v1.PodOS:
+  name: {enum: [linux, windows]}
+io.k8s.api.core.v1.PodSecurityContext:
+  fsGroup: {minimum: 0, maximum: 2147483647}
+  fsGroupChangePolicy: {enum: [OnRootMismatch, Always]}
+  runAsGroup: {minimum: 0, maximum: 2147483647}
+  runAsUser: {minimum: 0, maximum: 2147483647}
+  seLinuxChangePolicy: {enum: [MountOption, Recursive]}
+  supplementalGroups: {items: {type: integer, minimum: 0, maximum: 2147483647}}
+  supplementalGroupsPolicy: {enum: [Merge, Strict]}
+io.k8s.api.core.v1.PodSpec:
+  activeDeadlineSeconds: {minimum: 1, maximum: 2147483647}
+  dnsPolicy: {enum: [ClusterFirst, ClusterFirstWithHostNet, Default, None]}
+  preemptionPolicy: {enum: [PreemptLowerPriority, Never]}
+  restartPolicy: {enum: [Always, OnFailure, Never]}
+io.k8s.api.core.v1.Probe:
+  failureThreshold: {minimum: 0}
+  initialDelaySeconds: {minimum: 0}
+  periodSeconds: {minimum: 0}
+  successThreshold: {minimum: 0}
+  terminationGracePeriodSeconds: {minimum: 1}
+  timeoutSeconds: {minimum: 0}
+io.k8s.api.core.v1.SeccompProfile:
+  type: {enum: [RuntimeDefault, Localhost, Unconfined]}
+io.k8s.api.core.v1.SecurityContext:
+  procMount: {enum: [Default, Unmasked]}
+  runAsGroup: {minimum: 0, maximum: 2147483647}
+  runAsUser: {minimum: 0, maximum: 2147483647}
+io.k8s.api.core.v1.TCPSocketAction:
+  port: {minimum: 1, maximum: 65535}
+io.k8s.api.core.v1.VolumeMount:
+  mountPath: {minLength: 1}
+  mountPropagation: {enum: [None, HostToContainer, Bidirectional]}
+  recursiveReadOnly: {enum: [Disabled, IfPossible, Enabled]}
diff --git a/judging/losses/__init__.py b/judging/losses/__init__.py
new file mode 100644
index 00000000..7819daf0
--- /dev/null
+++ b/judging/losses/__init__.py
@@ -0,0 +1,5 @@
+"""Losses: running services that a run would delete or replace as a whole, and objects of another cluster.
+
+Pulumi shows such a run as any other run. Therefore the program refuses it, unless `allow` in the configuration has the
+word for its cause.
+"""
diff --git a/judging/losses/causes.py b/judging/losses/causes.py
new file mode 100644
index 00000000..6b518c8d
--- /dev/null
+++ b/judging/losses/causes.py
@@ -0,0 +1,20 @@
+"""Causes for which a run loses running services. Each cause has a word that lets the run pass."""
+
+from enum import StrEnum
+
+
+class Cause(StrEnum):
+    """A cause. Its value is the word in `allow`."""
+
+    CLUSTER = "cluster"
+    """The run leads to another cluster than earlier runs."""
+    NAME = "name"
+    """A service gets another name, and therefore other objects."""
+    NAMESPACE = "namespace"
+    """A service gets another namespace, or the namespace of a service is deleted."""
+    RELEASE = "release"
+    """Another release channel replaces all serving pods of a service."""
+    REMOVAL = "removal"
+    """The configuration does not contain the service."""
+    TAKEOVER = "takeover"
+    """Objects of the stack are in the state of another Pulumi stack."""
diff --git a/judging/losses/clusters.py b/judging/losses/clusters.py
new file mode 100644
index 00000000..00eec2c9
--- /dev/null
+++ b/judging/losses/clusters.py
@@ -0,0 +1,116 @@
+"""Check of the cluster: whether a run leads to the cluster in which the objects of Pulumi's state are.
+
+The name and the address of a cluster are no identity: each workstation may have its own. The identity is the UID of the
+namespace kube-system. If the state lacks it, the UIDs of the objects in the state show the cluster.
+"""
+
+from collections.abc import Collection
+from enum import Enum
+
+from judging.losses.causes import Cause
+from judging.losses.matching import Matches, is_live
+from models.paths import Path
+from models.problems import Problem, gap, warning
+from planning.ground.cluster_facts import LiveObjects, Unknown
+from planning.ground.recorded import ClusterRecord, RecordedObject
+
+_AT = Path("cluster")
+_CHECK = "whether earlier runs deployed to this cluster"
+_STAY = "lead this run to that cluster (KUBECONFIG, cluster.context)"
+_GO = "`pulumi stack init` makes a stack for this one; to move this stack, write allow: [cluster]"
+
+
+class ClusterRelation(Enum):
+    """Relation of a cluster to the cluster of earlier runs."""
+
+    FIRST = "first"
+    """There was no earlier run."""
+    SAME = "same"
+    ANOTHER = "another"
+    UNKNOWN = "unknown"
+
+
+def verdict(earlier: ClusterRecord | None, matches: Matches, live: LiveObjects | Unknown) -> ClusterRelation:
+    """Return the relation of the cluster with the objects `live` to the cluster of earlier runs.
+
+    `earlier` is that cluster, as the state has it; None if the state lacks it.
+    """
+    if earlier is None and not matches.by_identity:
+        return ClusterRelation.FIRST
+    if isinstance(live, Unknown):
+        return ClusterRelation.UNKNOWN
+    is_known = earlier is not None and live.cluster is not None
+    is_same = any(is_live(state_object, live) for state_object in matches.by_identity.values())
+    if earlier is not None and live.cluster is not None:
+        is_same = earlier.uid == live.cluster
+    if is_same:
+        return ClusterRelation.SAME
+    if is_known or _absent(matches, live):
+        return ClusterRelation.ANOTHER
+    return ClusterRelation.UNKNOWN
+
+
+def problems(
+    earlier: ClusterRecord, matches: Matches, live: LiveObjects | Unknown, name: str, allowed: Collection[str]
+) -> list[Problem]:
+    """Return an error if a run leads to another cluster, and a warning if that is unknown or allowed.
+
+    `name` is the name of the cluster to which the run leads. The UID of `earlier` is empty if it is unknown.
+    """
+    known = earlier if earlier.uid else None
+    match verdict(known, matches, live):
+        case ClusterRelation.FIRST | ClusterRelation.SAME:
+            return []
+        case ClusterRelation.UNKNOWN:
+            reason = "the API server refused to list the objects"
+            if isinstance(live, Unknown):
+                reason = live.reason
+            return [gap(_AT, _CHECK, reason)]
+        case ClusterRelation.ANOTHER:
+            assert not isinstance(live, Unknown)  # noqa: S101, an unknown cluster has the verdict UNKNOWN
+            return [_another(earlier, matches, live, name, allowed)]
+
+
+def _another(
+    earlier: ClusterRecord, matches: Matches, live: LiveObjects, name: str, allowed: Collection[str]
+) -> Problem:
+    here = _words(ClusterRecord(live.cluster or "", name))
+    there = _words(earlier)
+    absent = _absent(matches, live)
+    if Cause.CLUSTER not in allowed:
+        number = len(matches.by_identity)
+        objects = ""
+        if number:
+            objects = f", where this stack has {_count(number)}"
+        what = f"this run leads to another cluster ({here}) than earlier runs ({there}{objects})"
+        return Problem(_AT, what, f"{_STAY}; {_GO}")
+    if absent:
+        verb = "are"
+        if len(absent) == 1:
+            verb = "is"
+        what = (
+            f"{_count(len(absent))} of the state {verb} not in this cluster ({here}), but in an earlier one ({there})"
+        )
+        return Problem(_AT, what, "run `pulumi refresh` first: it takes them out of the state, and leaves them there")
+    what = f"this stack moves to another cluster ({here}); its objects in the earlier one ({there}) stay there"
+    return warning(_AT, what)
+
+
+def _absent(matches: Matches, live: LiveObjects) -> list[RecordedObject]:
+    """Return the objects of the state that do not exist in the cluster, among those whose kinds were listed there."""
+    return [
+        state_object
+        for state_object in matches.by_identity.values()
+        if state_object.place[:3] in live.listed and not is_live(state_object, live)
+    ]
+
+
+def _words(cluster: ClusterRecord) -> str:
+    uid = ""
+    if cluster.uid:
+        uid = f"kube-system has the UID {cluster.uid}"
+    return ", ".join(filter(None, (cluster.name, uid))) or "unknown"
+
+
+def _count(number: int) -> str:
+    return f"{number} object{'' if number == 1 else 's'}"
diff --git a/judging/losses/continuity.py b/judging/losses/continuity.py
new file mode 100644
index 00000000..17519d18
--- /dev/null
+++ b/judging/losses/continuity.py
@@ -0,0 +1,110 @@
+"""Comparison of compositions with Pulumi's state: that a run leaves in place what earlier runs deployed."""
+
+from collections.abc import Callable, Collection, Iterable, Mapping
+from dataclasses import dataclass, field
+
+from judging.losses import clusters, matching, takeovers
+from judging.losses.causes import Cause
+from judging.losses.matching import Matches, PlannedObject
+from manifests.assembly import Component
+from models.paths import Path
+from models.problems import Problem, gap
+from planning.ground.cluster_facts import LiveObjects, Routes, Unknown
+from planning.ground.instances import Instance
+from planning.ground.marks import Identity as Owner
+from planning.ground.order import Id
+from planning.ground.recorded import NOTHING_RECORDED, ClusterRecord, Recorded
+
+State = Callable[[], Recorded | Unknown]
+"""Function that returns Pulumi's state. It waits until the state has been read."""
+_CHECK = "whether this run ends running services"
+
+
+def nothing_recorded() -> Recorded:
+    """Return the state of a run without Pulumi, such as `cli render`."""
+    return NOTHING_RECORDED
+
+
+@dataclass(frozen=True, slots=True)
+class Continuity:
+    """Relation of an inference stack to Pulumi's state."""
+
+    recorded: Recorded = NOTHING_RECORDED
+    aliases: Mapping[Id, str] = field(default_factory=dict[Id, str])
+    """Former URNs of the objects whose URNs change."""
+    instance_alias: str | None = None
+    """URN of the inference stack in the state. It differs from the present one if the inference stack gets another
+    parent; the engine then derives the former URNs of all that the inference stack contains."""
+    provider_alias: str | None = None
+    """URN of the provider in the state."""
+    cluster: ClusterRecord | None = None
+    """The cluster of this run; None if its UID is unknown, and no earlier run knew one."""
+    problems: tuple[Problem, ...] = ()
+    """Problems of the cluster and of takeovers."""
+    used: frozenset[Cause] = frozenset()
+    """Causes of which `allow` lets this inference stack pass."""
+    owner: Owner | None = None
+    """The stack, without earlier names of which it shows that they are names of other stacks. None if nothing was
+    compared."""
+
+
+def compare(  # noqa: PLR0913, PLR0917 - what an inference stack is compared with
+    components: Collection[Component],
+    state: Recorded | Unknown,
+    live: LiveObjects | Unknown,
+    routes: Routes | Unknown,
+    instance: Instance,
+    owner: Owner,
+    cluster_name: str,
+    allowed: Collection[str],
+) -> Continuity:
+    """Compare the components of an inference stack with Pulumi's state and with the objects in the cluster.
+
+    `routes` are the HTTPRoutes of all namespaces. `cluster_name` is the name of the cluster of this run. `allowed` are
+    the words in `allow`.
+    """
+    if isinstance(state, Unknown):
+        return Continuity(problems=(gap(Path(), _CHECK, state.reason),))
+    objects = planned_objects(components)
+    matches = matching.in_cluster(matching.match(objects, state), live)
+    earlier = state.clusters.get(instance.name)
+    provider = matching.provider_alias(matches, state, instance.provider_name, instance.prefix)
+    former = earlier or ClusterRecord("", "" if provider is None else state.providers[provider])
+    places = {state_object.place for state_object in state.objects}
+    of_cluster = clusters.problems(former, matches, live, cluster_name, allowed)
+    planned = {planned_object.place for planned_object in objects}
+    strangers = takeovers.strangers(planned, places, live, routes, owner)
+    taken = [*takeovers.problems(planned, places, live, owner), *takeovers.living(strangers)]
+    returned = takeovers.returns(planned, places, live, owner)
+    problems = (*of_cluster, *(taken if Cause.TAKEOVER not in allowed else ()), *returned)
+    causes = {Cause.CLUSTER: of_cluster, Cause.TAKEOVER: taken}
+    used = frozenset(cause for cause, of_cause in causes.items() if of_cause)
+    present = _cluster(earlier, live, cluster_name)
+    former_urn = state.instances.get(instance.name)
+    aliases = _aliases(components, matches)
+    names = takeovers.without_living(owner, strangers)
+    return Continuity(state, aliases, former_urn, provider, present, problems, used, names)
+
+
+def planned_objects(components: Iterable[Component]) -> list[PlannedObject]:
+    """Return the objects of components with their identities and places."""
+    return [
+        PlannedObject(component.identity(rendered), rendered.place)
+        for component in components
+        for rendered in component.objects
+    ]
+
+
+def _aliases(components: Iterable[Component], matches: Matches) -> dict[Id, str]:
+    """Return the former URNs of the objects that keep their place, and get another identity."""
+    identities = (
+        (rendered.id, component.identity(rendered)) for component in components for rendered in component.objects
+    )
+    return {object_id: matches.by_place[name].urn for object_id, name in identities if name in matches.by_place}
+
+
+def _cluster(earlier: ClusterRecord | None, live: LiveObjects | Unknown, name: str) -> ClusterRecord | None:
+    """Return the record of the cluster of this run. In the same cluster, the first name stays."""
+    if isinstance(live, Unknown) or live.cluster is None or (earlier is not None and earlier.uid == live.cluster):
+        return earlier
+    return ClusterRecord(live.cluster, name)
diff --git a/judging/losses/matching.py b/judging/losses/matching.py
new file mode 100644
index 00000000..cc7ddf9d
--- /dev/null
+++ b/judging/losses/matching.py
@@ -0,0 +1,90 @@
+"""Matching of planned objects with objects of Pulumi's state, so that no object is lost by a logical name.
+
+Pulumi identifies an object by its URN, which contains logical names. If the URN of an object changes, a run creates the
+object, which takes over the existing object, and then deletes the object under its former URN. An alias with the former
+URN prevents that.
+"""
+
+from collections.abc import Iterable, Mapping
+from dataclasses import dataclass, replace
+
+from planning.ground.cluster_facts import LiveObjects, Place, Unknown
+from planning.ground.instances import PROVIDER_TYPE
+from planning.ground.recorded import Recorded, RecordedIdentity, RecordedObject, identity
+
+
+@dataclass(frozen=True, slots=True)
+class PlannedObject:
+    """An object of an inference stack, with its identity in Pulumi's state and its place in the cluster."""
+
+    identity: RecordedIdentity
+    place: Place
+
+
+@dataclass(frozen=True, slots=True)
+class Matches:
+    """Objects of Pulumi's state that are planned, by their planned identity."""
+
+    places: Mapping[RecordedIdentity, Place]
+    """Place of each planned object."""
+    by_identity: Mapping[RecordedIdentity, RecordedObject]
+    """Objects that keep their identity in the state. Their place in the cluster may be another one."""
+    by_place: Mapping[RecordedIdentity, RecordedObject]
+    """Objects that keep their place in the cluster, and get another identity in the state."""
+
+    @property
+    def staying(self) -> frozenset[str]:
+        """Return the URNs of the objects that keep their place in the cluster."""
+        unmoved = (
+            state_object.urn
+            for name, state_object in self.by_identity.items()
+            if self.places[name] == state_object.place
+        )
+        return frozenset((*unmoved, *(state_object.urn for state_object in self.by_place.values())))
+
+
+def match(planned: Iterable[PlannedObject], recorded: Recorded) -> Matches:
+    """Match planned objects with objects of the state: by their identity, or else by their place."""
+    places = {planned_object.identity: planned_object.place for planned_object in planned}
+    known = {state_object.identity: state_object for state_object in recorded.objects}
+    others = {
+        state_object.place: state_object for state_object in recorded.objects if state_object.identity not in places
+    }
+    return Matches(
+        places,
+        {name: known[name] for name in places if name in known},
+        {name: others[place] for name, place in places.items() if name not in known and place in others},
+    )
+
+
+def in_cluster(matches: Matches, live: LiveObjects | Unknown) -> Matches:
+    """Return the matches without objects of another cluster.
+
+    Objects that match by place belong to another cluster if this cluster has none of them.
+    """
+    if isinstance(live, Unknown) or not any(is_live(state_object, live) for state_object in matches.by_place.values()):
+        return replace(matches, by_place={})
+    return matches
+
+
+def is_live(state_object: RecordedObject, live: LiveObjects) -> bool:
+    """Tell whether an object of the state exists in the cluster: whether the object at its place has the same UID."""
+    current = live.objects.get(state_object.place)
+    return current is not None and current.content["metadata"].get("uid") == state_object.uid
+
+
+def provider_alias(matches: Matches, recorded: Recorded, name: str, prefix: str) -> str | None:
+    """Return the former URN of the provider called `name`; None if the state has no such provider.
+
+    If the state has no provider of this name, the objects that match by place show the former prefix of logical names.
+    `prefix` is the present one.
+    """
+    urns = {identity(urn).name: urn for urn in recorded.providers if identity(urn).type == PROVIDER_TYPE}
+    if name in urns:
+        return urns[name]
+    for planned, state_object in matches.by_place.items():
+        tail = planned.name.removeprefix(prefix)
+        former = state_object.identity.name
+        if former.endswith(tail):
+            return urns.get(former.removesuffix(tail) + name.removeprefix(prefix))
+    return None
diff --git a/judging/losses/services.py b/judging/losses/services.py
new file mode 100644
index 00000000..69e5b370
--- /dev/null
+++ b/judging/losses/services.py
@@ -0,0 +1,209 @@
+"""Check of running services: whether a run would delete or replace one of them as a whole."""
+
+from collections.abc import Collection, Iterable, Mapping, Sequence
+from dataclasses import dataclass
+from typing import NamedTuple
+
+from judging.losses.causes import Cause
+from judging.losses.matching import Matches
+from judging.report import running
+from models.paths import Path
+from models.problems import Problem
+from planning.ground import labels
+from planning.ground.cluster_facts import Place
+from planning.ground.recorded import Recorded, RecordedObject, ServiceRecord, WorkloadName
+from planning.plans import ServicePlan
+
+_NO_RECORD = ServiceRecord("", "")
+
+
+class ServiceName(NamedTuple):
+    """Name of a service in the cluster."""
+
+    namespace: str
+    name: str
+    """Name in the labels of pods, which is also the name of the service's Service."""
+
+    def __str__(self) -> str:
+        return f"{self.namespace}/{self.name}"
+
+
+@dataclass(frozen=True, slots=True)
+class PlannedService:
+    """A planned service, and the path of its configuration in messages."""
+
+    key: str
+    release: str
+    name: ServiceName
+    path: Path
+
+    @classmethod
+    def of(cls, plan: ServicePlan, release: str, top: Path) -> "PlannedService":
+        """Return the service of a plan. `top` is the path of its inference stack."""
+        names = plan.primary.names
+        return cls(plan.key, release, ServiceName(names.namespace, names.service), Path(*top, "services", plan.key))
+
+
+@dataclass(frozen=True, slots=True)
+class Loss:
+    """A running service that a run would lose."""
+
+    cause: Cause
+    path: Path
+    reason: str
+    """Why the service would be lost, as a clause."""
+    remedy: str
+    name: ServiceName
+    pods: int
+    devices: int
+
+    @property
+    def problem(self) -> Problem:
+        """Return the loss as an error."""
+        devices = ""
+        if self.devices:
+            devices = f" with {_count(self.devices, 'device')}"
+        what = f"this run would end all of {self.name} ({_count(self.pods, 'pod')}{devices}): {self.reason}"
+        return Problem(self.path, what, f"{self.remedy}, or write allow: [{self.cause}] for one run")
+
+
+def losses(recorded: Recorded, matches: Matches, planned: Sequence[PlannedService]) -> list[Loss]:
+    """Return the running services of Pulumi's state that a run would delete or replace as a whole.
+
+    `matches` are the objects of the state that the inference stacks of the program plan, and `planned` are the services
+    of these inference stacks.
+    """
+    staying = matches.staying
+    deleted = frozenset(
+        state_object.place[3]
+        for state_object in recorded.objects
+        if state_object.place[1] == "Namespace" and state_object.urn not in staying
+    )
+    running_services = _workloads(recorded)
+    fates = [
+        _Fate(name, workloads, _record(workloads, recorded), staying, name.namespace in deleted)
+        for name, workloads in sorted(running_services.items())
+    ]
+    fronts = frozenset(state_object.place for state_object in recorded.objects if state_object.urn in staying)
+    # A service that runs already is not a service into which another one changes, even if both have the same key.
+    new = [service for service in planned if service.name not in running_services]
+    losses_or_none = (_loss(fate, fronts, fate.of_key(planned), fate.of_key(new)) for fate in fates)
+    return [loss for loss in losses_or_none if loss is not None]
+
+
+@dataclass(frozen=True, slots=True)
+class _Fate:
+    """A running service, and what a run does to it."""
+
+    name: ServiceName
+    workloads: Sequence[RecordedObject]
+    record: ServiceRecord
+    staying: Collection[str]
+    """URNs of all objects that stay."""
+    namespace_ends: bool
+    """Whether the namespace of the service is deleted."""
+
+    def of_key(self, services: Iterable[PlannedService]) -> list[PlannedService]:
+        """Return the services with the key of this service."""
+        return [service for service in services if service.key == self.record.key]
+
+    @property
+    def keeps_pods(self) -> bool:
+        """Tell whether a workload stays."""
+        return any(workload.urn in self.staying for workload in self.workloads)
+
+    def loss(self, cause: Cause, path: Path, reason: str, remedy: str) -> Loss:
+        """Return the loss of the service."""
+        sizes = [_size(workload) for workload in self.workloads]
+        pods = sum(size.pods for size in sizes)
+        devices = sum(size.devices for size in sizes)
+        return Loss(cause, path, reason, remedy, self.name, pods, devices)
+
+
+def _loss(
+    fate: _Fate, fronts: Collection[Place], same_key: Sequence[PlannedService], successors: Sequence[PlannedService]
+) -> Loss | None:
+    """Return the loss of a service; None if the service stays.
+
+    `same_key` are the planned services with the key of the service, and `successors` those of them that do not run yet.
+    A service whose Service stays keeps answering requests: new pods are ready before the former pods end.
+    """
+    if fate.namespace_ends:
+        return _lost_namespace(fate, same_key, successors)
+    if fate.keeps_pods:
+        return None
+    if ("", "Service", fate.name.namespace, fate.name.name) in fronts:
+        return _replaced_by_release(fate, same_key)
+    return _moved_or_removed(fate, successors)
+
+
+def _lost_namespace(fate: _Fate, same_key: Sequence[PlannedService], successors: Sequence[PlannedService]) -> Loss:
+    """Return the loss of a service whose namespace is deleted, with everything in it."""
+    namespace = fate.name.namespace
+    if any(service.name == fate.name for service in same_key):
+        reason = f"it would delete namespace {namespace}, which the state has and the configuration does not create"
+        return fate.loss(Cause.NAMESPACE, Path("namespaceOptions", "create"), reason, "keep it true")
+    return _moved_or_removed(fate, successors)
+
+
+def _replaced_by_release(fate: _Fate, same_key: Sequence[PlannedService]) -> Loss | None:
+    """Return the loss of all pods of a service to another release channel; None if the channel is the same."""
+    former = fate.record.release
+    for service in same_key:
+        if former and service.release != former:
+            reason = f"release {service.release} replaces all pods of release {former}, which run beside them meanwhile"
+            return fate.loss(Cause.RELEASE, service.path, reason, f"keep release: {former}")
+    return None
+
+
+def _moved_or_removed(fate: _Fate, successors: Sequence[PlannedService]) -> Loss:
+    """Return the loss of a service that gets other objects, or none."""
+    for service in successors:
+        namespace, name = service.name
+        if namespace != fate.name.namespace:
+            reason = f"its namespace becomes {namespace}"
+            remedy = f"keep namespace: {fate.name.namespace}"
+            return fate.loss(Cause.NAMESPACE, service.path, reason, remedy)
+        if name != fate.name.name:
+            reason = f"its name becomes {name}"
+            remedy = f"keep name: {fate.name.name}"
+            return fate.loss(Cause.NAME, service.path, reason, remedy)
+    key = fate.record.key or fate.name.name
+    remedy = f"if its key was renamed, write name: {fate.name.name} below the new key"
+    return fate.loss(Cause.REMOVAL, Path("services", key), "the configuration does not have it", remedy)
+
+
+def _record(workloads: Iterable[RecordedObject], recorded: Recorded) -> ServiceRecord:
+    """Return the record of the service to which workloads belong."""
+    names = (WorkloadName(place[2], place[1], place[3]) for place in (workload.place for workload in workloads))
+    return next((recorded.services[name] for name in names if name in recorded.services), _NO_RECORD)
+
+
+def _workloads(recorded: Recorded) -> Mapping[ServiceName, list[RecordedObject]]:
+    """Return the workloads with serving pods of each service."""
+    groups = dict[ServiceName, list[RecordedObject]]()
+    for state_object in recorded.objects:
+        _, kind, namespace, _ = state_object.place
+        if kind in running.WORKLOADS and state_object.content:
+            name = running.leader_labels(kind, state_object.content).get(labels.SERVICE)
+            if name is not None:
+                groups.setdefault(ServiceName(namespace, name), []).append(state_object)
+    return groups
+
+
+class _Size(NamedTuple):
+    pods: int
+    devices: int
+
+
+def _size(workload: RecordedObject) -> _Size:
+    """Return the pods and devices of a workload. The state has the number of replicas of the last run."""
+    pods = running.of_object(workload.place[1], workload.content, {})
+    if pods is None:
+        return _Size(0, 0)
+    number = (pods.replicas or 0) * pods.pods_per_replica
+    return _Size(number, number * pods.devices_per_pod)
+
+
+def _count(number: int, noun: str) -> str:
+    return f"{number} {noun}{'' if number == 1 else 's'}"
diff --git a/judging/losses/takeovers.py b/judging/losses/takeovers.py
new file mode 100644
index 00000000..e8d6927a
--- /dev/null
+++ b/judging/losses/takeovers.py
@@ -0,0 +1,125 @@
+"""Check of objects that exist in the cluster, and not in Pulumi's state.
+
+If another Pulumi stack has them in its state, both stacks could change and delete them. If they have the mark of this
+stack, the state lost them: a run was killed, or a refresh led to another cluster. If they have an earlier name of this
+stack, and this stack does not plan them either, the name is that of a stack that lives on.
+"""
+
+from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
+from dataclasses import replace
+
+from judging.losses.causes import Cause
+from models.paths import Path
+from models.problems import Problem, warning
+from planning.ground import marks
+from planning.ground.api_groups import GATEWAY_GROUP
+from planning.ground.cluster_facts import LiveObjects, Place, Routes, Unknown
+from planning.ground.marks import NO_MARK, Identity, Mark, Verdict
+
+_AT = Path("formerly")
+_ROUTE = "HTTPRoute"
+_RUNNING = frozenset({"Deployment", "InferencePool", "LeaderWorkerSet", _ROUTE})
+"""Kinds of objects that a stack has while it lives. Objects of other kinds may stay after a stack has ended."""
+
+
+def problems(
+    places: Iterable[Place],
+    recorded: Collection[Place],
+    live: LiveObjects | Unknown,
+    identity: Identity,
+) -> Iterator[Problem]:
+    """Yield an error if objects have an earlier name of the stack in their mark, and are not in the stack's state.
+
+    `places` are the planned objects, and `recorded` those of the state. After `pulumi stack rename` the state has the
+    objects. Without it, they are in the state of the earlier stack.
+    """
+    if isinstance(live, Unknown):
+        return
+    owners = {
+        place: mark.owner
+        for place in places
+        if place not in recorded and (mark := live.marks.get(place)) is not None and _is_of_earlier_name(mark, identity)
+    }
+    if owners:
+        owner = owners[min(owners)]
+        what = f"{_words([*owners])} with the mark of {owner}, whose state has them, too, and can delete them"
+        remedy = (
+            f"rename that stack (pulumi stack rename {identity.name}), or write allow: [{Cause.TAKEOVER}] for one run"
+        )
+        yield Problem(_AT, what, remedy)
+
+
+def returns(
+    places: Iterable[Place], recorded: Collection[Place], live: LiveObjects | Unknown, identity: Identity
+) -> Iterator[Problem]:
+    """Yield a warning if objects have the mark of this stack, and are not in the stack's state."""
+    if isinstance(live, Unknown):
+        return
+    names = {str(identity.name), identity.name.label}
+    lost = [place for place in places if place not in recorded and live.marks.get(place, NO_MARK).owner in names]
+    if lost:
+        what = f"{_words(lost)} in the cluster, but not in the state; this run takes them back as they are"
+        yield warning(Path(), what)
+
+
+def strangers(
+    planned: Collection[Place],
+    recorded: Collection[Place],
+    live: LiveObjects | Unknown,
+    routes: Routes | Unknown,
+    identity: Identity,
+) -> dict[Place, Mark]:
+    """Return the marks of running objects with an earlier name of the stack that are neither planned nor in its state.
+
+    After `pulumi stack rename`, the state has all objects of the earlier stack.
+    """
+    running = dict[Place, Mark]()
+    if not isinstance(live, Unknown):
+        contents = {place: live_object.content for place, live_object in live.objects.items() if place[1] in _RUNNING}
+        running |= {place: marks.read(content["metadata"]) for place, content in contents.items()}
+    if not isinstance(routes, Unknown):
+        running |= {(GATEWAY_GROUP, _ROUTE, route.namespace, route.name): route.mark for route in routes.routes}
+    return {
+        place: mark
+        for place, mark in running.items()
+        if place not in planned and place not in recorded and _is_of_earlier_name(mark, identity)
+    }
+
+
+def living(others: Mapping[Place, Mark]) -> Iterator[Problem]:
+    """Yield an error if there are objects of `strangers`."""
+    if others:
+        owner = others[min(others)].owner
+        whose = "neither this stack nor its state has"
+        pronoun = "them"
+        if len(others) == 1:
+            pronoun = "it"
+        what = f"{_words([*others])} with the mark of {owner}, which is another stack: {whose} {pronoun}"
+        some = f"write allow: [{Cause.TAKEOVER}] for one run that takes other objects of that stack"
+        yield Problem(_AT, what, f"remove {owner} from formerly, or {some}")
+
+
+def without_living(identity: Identity, others: Mapping[Place, Mark]) -> Identity:
+    """Return the identity of a stack without the earlier names that marks of `strangers` have."""
+    present = replace(identity, formerly=())
+    names = [
+        name
+        for name in identity.formerly
+        if all(replace(present, formerly=(name,)).verdict(mark) is not Verdict.OURS for mark in others.values())
+    ]
+    return replace(present, formerly=tuple(names))
+
+
+def _words(places: Sequence[Place]) -> str:
+    """Return the first place in words, and the number of the others."""
+    (_, kind, *name) = min(places)
+    others = len(places) - 1
+    first = f"{kind} {'/'.join(filter(None, name))}"
+    if not others:
+        return f"{first} exists"
+    return f"{first} and {others} further object{'' if others == 1 else 's'} exist"
+
+
+def _is_of_earlier_name(mark: Mark, identity: Identity) -> bool:
+    """Tell whether a mark has an earlier name of the stack."""
+    return identity.verdict(mark) is Verdict.OURS and mark.owner not in {str(identity.name), identity.name.label}
diff --git a/judging/needs.py b/judging/needs.py
new file mode 100644
index 00000000..3d78fa39
--- /dev/null
+++ b/judging/needs.py
@@ -0,0 +1,125 @@
+"""Needs of a stack: what its objects refer to, such as Secrets and classes, and the Pod Security levels of its pods."""
+
+from collections.abc import Iterable, Iterator, Mapping
+from typing import Any, NamedTuple
+
+from judging import pod_security
+from manifests import pod_templates
+from manifests.objects import Rendered
+from manifests.pod_templates import PodTemplate
+from models import origins
+from models.paths import Path
+from models.trees import EMPTY
+from planning.ground import labels
+from planning.ground.needs import NameReference, Needs, PodPrivileges
+from planning.plans import StackPlan
+from planning.routes import acceptance
+
+_Name = tuple[Path, str]
+"""A name in an object, after the path of the name in the object."""
+
+
+class _Item(NamedTuple):
+    """A rendered object, and the section of the configuration that decides about it."""
+
+    rendered: Rendered
+    section: Path
+
+    def reference(self, at: Path, name: str) -> NameReference:
+        """Return the reference that has its name at a path of the object."""
+        origin = origins.locate(self.rendered.origins, at)
+        return NameReference(name, self.rendered.place[2], origin or self.section)
+
+
+def of(objects: Iterable[Rendered], plan: StackPlan) -> Needs:
+    """Return what the rendered objects of a plan need from a cluster."""
+    items = [_Item(rendered, plan.section(rendered.id)) for rendered in objects]
+    manifests = [item.rendered.manifest for item in items]
+    created = frozenset(manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == "Namespace")
+    namespaces = frozenset(item.rendered.place[2] for item in items) - {""}
+    pods = [(item, template) for item in items for template in pod_templates.templates(item.rendered.manifest)]
+    own_secrets = {item.rendered.place[2:] for item in items if item.rendered.manifest["kind"] == "Secret"}
+    secrets = _distinct((item, at, name) for item, template in pods for at, name in _secrets(template))
+    return Needs(
+        kinds=frozenset(item.rendered.api for item in items),
+        gateways=frozenset(acceptance.gateways(plan.routes)),
+        namespaces=namespaces | created,
+        created=created,
+        secrets=tuple(secret for secret in secrets if (secret.namespace, secret.name) not in own_secrets),
+        metered=frozenset(item.rendered.place[2] for item in items if _is_metered(item.rendered.manifest)),
+        storage_classes=_distinct(
+            (item, at, name)
+            for item, names in (
+                *((item, _class_of_claim(item.rendered.manifest)) for item in items),
+                *((item, _classes_of_volumes(template)) for item, template in pods),
+            )
+            for at, name in names
+        ),
+        priority_classes=_distinct(
+            (item, Path(*template.at, "spec", "priorityClassName"), template.spec["priorityClassName"])
+            for item, template in pods
+            if template.spec.get("priorityClassName")
+        ),
+        pods=tuple(_privileges(item, template) for item, template in pods),
+        nodes=bool(pods),
+        quotas=frozenset(item.rendered.place[2] for item, _ in pods),
+        slices=any(manifest["kind"] == "ResourceClaimTemplate" for manifest in manifests),
+    )
+
+
+def _is_metered(manifest: Mapping[str, Any]) -> bool:
+    """Tell whether an object is a Service with the label by which the interceptor finds Services."""
+    return manifest["kind"] == "Service" and labels.RESOURCE_ID in manifest["metadata"].get("labels", EMPTY)
+
+
+def _distinct(names: Iterable[tuple[_Item, Path, str]]) -> tuple[NameReference, ...]:
+    """Return the first reference of each section to each object. `names` are items with paths and names in them."""
+    first = dict[tuple[Path, str, str], NameReference]()
+    for item, at, name in names:
+        first.setdefault((item.section, item.rendered.place[2], name), item.reference(at, name))
+    return tuple(first.values())
+
+
+def _privileges(item: _Item, template: PodTemplate) -> PodPrivileges:
+    excesses = tuple(finding.excess for finding in pod_security.findings(template))
+    _, kind, namespace, name = item.rendered.place
+    return PodPrivileges(excesses, namespace, item.section, f"{kind} {namespace}/{name}")
+
+
+def _secrets(template: PodTemplate) -> Iterator[_Name]:
+    """Yield the Secrets without which a pod does not start. Optional references are left out."""
+    top = template.at / "spec"
+    for index, secret in enumerate(template.spec.get("imagePullSecrets", ())):
+        yield Path(*top, "imagePullSecrets", index, "name"), secret["name"]
+    for index, volume in enumerate(template.spec.get("volumes", ())):
+        at = top / "volumes" / index
+        yield from _hard_reference(at / "secret", volume.get("secret", EMPTY), "secretName")
+        for number, source in enumerate(volume.get("projected", EMPTY).get("sources", ())):
+            yield from _hard_reference(Path(*at, "projected", "sources", number, "secret"), source.get("secret", EMPTY))
+    for container_at, container in pod_templates.containers(template.spec):
+        at = Path(*top, *container_at)
+        for index, variable in enumerate(container.get("env", ())):
+            reference = variable.get("valueFrom", EMPTY).get("secretKeyRef", EMPTY)
+            yield from _hard_reference(Path(*at, "env", index, "valueFrom", "secretKeyRef"), reference)
+        for index, source in enumerate(container.get("envFrom", ())):
+            yield from _hard_reference(Path(*at, "envFrom", index, "secretRef"), source.get("secretRef", EMPTY))
+
+
+def _hard_reference(at: Path, reference: Mapping[str, Any], field: str = "name") -> Iterator[_Name]:
+    if reference.get(field) and not reference.get("optional"):
+        yield at / field, reference[field]
+
+
+def _class_of_claim(manifest: Mapping[str, Any]) -> Iterator[_Name]:
+    """Yield the StorageClass of a claim; an empty name for the default class."""
+    if manifest["kind"] == "PersistentVolumeClaim":
+        yield Path("spec", "storageClassName"), manifest["spec"].get("storageClassName", "")
+
+
+def _classes_of_volumes(template: PodTemplate) -> Iterator[_Name]:
+    """Yield the StorageClasses of a pod's ephemeral volumes; an empty name for the default class."""
+    for index, volume in enumerate(template.spec.get("volumes", ())):
+        claim = volume.get("ephemeral", EMPTY).get("volumeClaimTemplate", EMPTY)
+        if claim:
+            at = Path(*template.at, "spec", "volumes", index, "ephemeral", "volumeClaimTemplate", "spec")
+            yield at / "storageClassName", claim["spec"].get("storageClassName", "")
diff --git a/judging/ownership.py b/judging/ownership.py
new file mode 100644
index 00000000..ef04b878
--- /dev/null
+++ b/judging/ownership.py
@@ -0,0 +1,147 @@
+"""Check of object names: whether the cluster has objects with the names of a stack's objects, and who owns them.
+
+Neither a preview nor a server-side dry run finds such objects, and a run takes them over without a word
+(`upsertExistingObjects` of `components/provider.py`).
+"""
+
+from collections.abc import Iterable, Iterator
+from dataclasses import dataclass
+
+from manifests.assembly import Component
+from manifests.objects import resource_type
+from models.paths import Path
+from models.problems import SEVERITIES, Mode, Problem, gap, warning
+from planning.ground import instances
+from planning.ground.cluster_facts import LiveObjects, Place, Unknown
+from planning.ground.instances import MAIN, Instance
+from planning.ground.marks import Identity, Mark, StackName, Verdict
+
+_CLAIM = "PersistentVolumeClaim"
+UNREAD = frozenset({"Namespace", "Secret"})
+"""Kinds whose marks this check does not read.
+
+`judging.preflight.namespaces` checks namespaces. Secrets are not listed, because the right to list Secrets is also a
+right to read their values. The owner of a stack's Secret follows from the service account of the same name.
+"""
+_CHECK = "whether existing objects belong to other stacks"
+
+
+@dataclass(frozen=True, slots=True)
+class NamedObject:
+    """An object of a stack, with its identity in the cluster and in Pulumi's state."""
+
+    place: Place
+    type: str
+    """Type of the resource, such as `kubernetes:apps/v1:Deployment`."""
+    logical_name: str
+    component: tuple[str, str] | None
+    """Type and logical name of the component that contains the object. None if the inference stack contains the object
+    directly."""
+
+    @property
+    def path(self) -> Path:
+        """Return kind, namespace and name, as a path in messages."""
+        return Path(f"{self.place[1]} {'/'.join(filter(None, self.place[2:]))}")
+
+
+def of_components(components: Iterable[Component]) -> Iterator[NamedObject]:
+    """Yield the objects whose marks this check reads."""
+    for component in components:
+        for rendered in component.objects:
+            if rendered.manifest["kind"] not in UNREAD:
+                yield NamedObject(
+                    rendered.place,
+                    resource_type(rendered.manifest),
+                    f"{component.name}-{rendered.suffix}",
+                    component.resource,
+                )
+
+
+def judge(
+    objects: Iterable[NamedObject],
+    live: LiveObjects | Unknown,
+    identity: Identity,
+    mode: Mode,
+    instance: Instance = MAIN,
+) -> list[Problem]:
+    """Return the problems of objects whose names are taken in the cluster.
+
+    An object of another stack is an error, or a warning if `mode` is `warn`. An object from a version of this program
+    that wrote no marks is a warning. An object of somebody else is a warning, too, because this stack may have imported
+    it. If the objects of the cluster are unknown, the result is one warning.
+    """
+    if mode == "skip":
+        return []
+    if isinstance(live, Unknown):
+        return [gap(Path(), _CHECK, live.reason)]
+    taken = [(named, live.marks[named.place]) for named in objects if named.place in live.marks]
+    verdicts = [(named, mark, identity.verdict(mark)) for named, mark in taken]
+    return [
+        *(
+            Problem(named.path, f"belongs to stack {mark.owner}", _way_out(mark), severity=SEVERITIES[mode])
+            for named, mark, verdict in verdicts
+            if verdict is Verdict.ANOTHER
+        ),
+        *_unmarked_warning([named for named, _, verdict in verdicts if _gets_mark(named, verdict)], identity.name),
+        *(_foreign(named, identity.name, instance) for named, _, verdict in verdicts if verdict is Verdict.FOREIGN),
+        *_unchecked_kinds(live),
+    ]
+
+
+def _gets_mark(named: NamedObject, verdict: Verdict) -> bool:
+    """Tell whether a run adds the mark to an object without a mark.
+
+    An existing Job never gets a mark, because updates ignore the metadata of Jobs.
+    """
+    return verdict is Verdict.UNMARKED and named.place[1] != "Job"
+
+
+def _way_out(mark: Mark) -> str:
+    earlier = "project/stack"
+    if mark.stack is not None:
+        earlier = mark.stack
+    return f"choose another name or namespace, or write formerly: [{earlier}] if this stack had that name"
+
+
+def _unmarked_warning(objects: list[NamedObject], name: StackName) -> Iterator[Problem]:
+    if not objects:
+        return
+    others = len(objects) - 1
+    further = ""
+    if others:
+        further = f" and {others} further object{'' if others == 1 else 's'}"
+    what = f"objects without a mark get the mark of {name}: {objects[0].path}{further}"
+    yield warning(Path(), what, "make sure that no other stack deploys them")
+
+
+def _foreign(named: NamedObject, name: StackName, instance: Instance) -> Problem:
+    what = "exists without the mark of a stack; unless this stack imported it, a run overwrites it or fails"
+    if named.place[1] == _CLAIM:
+        # The remedy is no import: a run would replace an imported claim, because the rendered manifest names no volume.
+        # The claim's data would be lost.
+        return warning(named.path, what, f"choose another name, or use this claim: storage.claimName: {named.place[3]}")
+    remedy = f"choose another name, or adopt it (then look at a preview): {import_command(named, name, instance)}"
+    return warning(named.path, what, remedy)
+
+
+def _unchecked_kinds(live: LiveObjects) -> Iterator[Problem]:
+    if live.unchecked:
+        yield gap(Path(), _CHECK, "the API server refused to list them", live.unchecked)
+
+
+def import_command(named: NamedObject, name: StackName, instance: Instance = MAIN) -> str:
+    """Return the command that adopts an object into Pulumi's state. A run then updates the object as planned."""
+    *_, namespace, object_name = named.place
+    identifier = object_name
+    if namespace:
+        identifier = f"{namespace}/{object_name}"
+    urn = f"urn:pulumi:{name.stack}::{name.project}::{instances.TYPE}"
+    parent = instance.name
+    urn_of_parent = f"{urn}::{instance.name}"
+    if named.component is not None:
+        component_type, parent = named.component
+        urn_of_parent = f"{urn}${component_type}::{parent}"
+    provider = f"{urn}${instances.PROVIDER_TYPE}::{instance.provider_name}"
+    target = f"{named.type} {named.logical_name} {identifier}"
+    # Without the quotes, a shell would replace the text after each dollar sign.
+    return f"pulumi import {target} --parent '{parent}={urn_of_parent}' --provider 'cluster={provider}' --protect=false"
diff --git a/judging/pod_rules.py b/judging/pod_rules.py
new file mode 100644
index 00000000..d2a06109
--- /dev/null
+++ b/judging/pod_rules.py
@@ -0,0 +1,371 @@
+"""Rules of the API server about several fields of a pod template or a Deployment together, which no schema has.
+
+Source: k8s.io/kubernetes v1.36.3, pkg/apis/core/validation/validation.go (`ValidatePodTemplateSpec`) and
+pkg/apis/apps/validation/validation.go (`ValidateDeploymentSpec`, `ValidatePodTemplateSpecForReplicaSet`). Rules about
+single fields are in `constraints.yaml`. Left out: rules about resources, about fields that a server drops by default,
+such as `stopSignal`, and about what no patch of a pod for serving needs, such as settings of DNS.
+"""
+
+import re
+from collections.abc import Callable, Iterator
+from typing import NamedTuple
+
+from judging.pod_security import APP_ARMOR_ANNOTATION, PROBES
+from manifests.objects import Manifest
+from manifests.pod_templates import SECURITY, PodTemplate, Tree, containers, mappings, security
+from models import trees
+from models.paths import Path
+from models.trees import mapping
+
+_JOB = "Job"
+_SPEC = Path("spec")
+_REMOVE = "remove it"
+_LARGEST_PERCENT = 100
+_LONGEST_SYSCTL = 253
+"""Most characters of the name of a kernel parameter."""
+_PERCENT = re.compile(r"([0-9]+)%")
+_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
+_SYSCTL = re.compile(rf"({_SYSCTL_SEGMENT}[./])*{_SYSCTL_SEGMENT}")
+_HOST_SYSCTLS = {
+    "hostNetwork": re.compile(r"net\..*"),
+    "hostIPC": re.compile(
+        r"kernel\.(sem|shm|shmall|shmmax|shmmni|shm_rmid_forced|msg|msgmax|msgmnb|msgmni)|fs\.mqueue\..*"
+    ),
+}
+"""Kernel parameters of a namespace that a field shares with the host, by the field
+(k8s.io/component-helpers v0.36.3, node/util/sysctl/namespace.go)."""
+_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
+_HOOKS = ("postStart", "preStop")
+_DEFAULT_PROGRESS_DEADLINE = 600
+"""Seconds of `progressDeadlineSeconds` if a Deployment states none (pkg/apis/apps/v1/defaults.go)."""
+_DEFAULT_GRACE = 30
+"""Seconds of `terminationGracePeriodSeconds` if a pod states none (pkg/apis/core/v1/defaults.go)."""
+_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
+_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
+_SECCOMP_VALUES = frozenset({"runtime/default", "docker/default", "unconfined"})
+_APP_ARMOR_VALUES = frozenset({"", "runtime/default", "unconfined"})
+_LOCAL = "localhost/"
+
+
+class Violation(NamedTuple):
+    """A value that the API server refuses."""
+
+    at: Path
+    """Path in the object or in the pod template."""
+    what: str
+    remedy: str
+
+
+def deployment(manifest: Manifest) -> Iterator[Violation]:
+    """Yield the violations of a Deployment outside its pod template, with paths in the object."""
+    if manifest["kind"] != "Deployment":
+        return
+    spec = mapping(manifest.get("spec"))
+    at = _SPEC
+    ready = spec.get("minReadySeconds", 0)
+    deadline = spec.get("progressDeadlineSeconds", _DEFAULT_PROGRESS_DEADLINE)
+    if isinstance(ready, int) and isinstance(deadline, int) and deadline <= ready:
+        what = f"is not below progressDeadlineSeconds ({ready}, {deadline})"
+        yield Violation(at / "minReadySeconds", what, "lower it, or raise progressDeadlineSeconds")
+    yield from _strategy(at / "strategy", mapping(spec.get("strategy")))
+
+
+def _strategy(at: Path, strategy: Tree) -> Iterator[Violation]:
+    steps = mapping(strategy.get("rollingUpdate"))
+    if strategy.get("type") == "Recreate" and steps:
+        yield Violation(at / "rollingUpdate", "has no effect with type Recreate", "write rollingUpdate: null")
+    numbers = {name: _number(steps[name]) for name in ("maxSurge", "maxUnavailable") if name in steps}
+    for name, number in numbers.items():
+        if number is None:
+            what = f"is no number and no percentage ({steps[name]})"
+            yield Violation(at / "rollingUpdate" / name, what, "write a number such as 1, or a text such as 25%")
+    unavailable = steps.get("maxUnavailable")
+    if isinstance(unavailable, str) and (numbers["maxUnavailable"] or 0) > _LARGEST_PERCENT:
+        yield Violation(at / "rollingUpdate" / "maxUnavailable", f"is above 100% ({unavailable})", "lower it")
+    if numbers.get("maxSurge") == 0 == numbers.get("maxUnavailable"):
+        yield Violation(at / "rollingUpdate", "replaces no pod, as both numbers are 0", "raise one of them")
+
+
+def _number(number: object) -> int | None:
+    """Return a number or percentage as a number; None if it is neither, or below zero."""
+    if isinstance(number, str):
+        match = _PERCENT.fullmatch(number)
+        if match is None:
+            return None
+        return int(match[1])
+    if isinstance(number, int) and number >= 0:
+        return number
+    return None
+
+
+def violations(template: PodTemplate) -> Iterator[Violation]:
+    """Yield the violations of a pod template, with paths in the template."""
+    pod = template.spec
+    yield from _lifetime(template)
+    yield from _system(pod)
+    yield from _host(pod)
+    yield from _volumes(pod)
+    yield from _sysctls(pod)
+    yield from _context(_SPEC / SECURITY, security(pod))
+    for container_at, container in containers(pod):
+        place = Path(*_SPEC, *container_at)
+        yield from _context(place / SECURITY, security(container))
+        yield from _container_context(place / SECURITY, security(container), pod)
+        yield from _mounts(place / "volumeMounts", container)
+        yield from _handlers(place, container, pod.get("terminationGracePeriodSeconds", _DEFAULT_GRACE))
+        yield from _ports(place / "ports", container, pod)
+        yield from _variables(place / "env", container)
+    yield from _annotations(template)
+
+
+def _lifetime(template: PodTemplate) -> Iterator[Violation]:
+    """Yield what pods cannot have that a workload keeps running."""
+    pod = template.spec
+    if pod.get("ephemeralContainers"):
+        what = "cannot be part of a pod template"
+        yield Violation(_SPEC / "ephemeralContainers", what, "remove it; kubectl debug adds one to a running pod")
+    if template.kind == _JOB:
+        return
+    policy = pod.get("restartPolicy", "Always")
+    deadline = pod.get("activeDeadlineSeconds")
+    if policy != "Always":
+        what = f"is not Always, as pods of a {template.kind} need ({policy})"
+        yield Violation(_SPEC / "restartPolicy", what, _REMOVE)
+    if deadline is not None:
+        what = f"ends pods that a {template.kind} keeps running ({deadline})"
+        yield Violation(_SPEC / "activeDeadlineSeconds", what, _REMOVE)
+
+
+def _system(pod: Tree) -> Iterator[Violation]:
+    """Yield settings of another operating system than Linux.
+
+    A pod that states its system cannot have settings of the other one. The containers of this program are Linux's.
+    """
+    system = trees.at(pod, "os", "name")
+    contexts = {_SPEC / SECURITY: security(pod)}
+    if system == "windows":
+        yield Violation(_SPEC / "os" / "name", "is not linux, which containers of this pod need (windows)", _REMOVE)
+    for at, container in containers(pod):
+        contexts[Path(*_SPEC, *at, SECURITY)] = security(container)
+    for at, context in contexts.items():
+        options = mapping(context.get("windowsOptions"))
+        if "windowsOptions" in context and system == "linux":
+            yield Violation(at / "windowsOptions", "is for pods of Windows, and os.name is linux", _REMOVE)
+        elif options.get("hostProcess") and not _is_host_process(pod):
+            what = "needs hostNetwork: true, and the same in all containers (true)"
+            yield Violation(at / "windowsOptions" / "hostProcess", what, _REMOVE)
+
+
+def _is_host_process(pod: Tree) -> bool:
+    """Tell whether every container is a process of its Windows host, in the host's network."""
+    of_pod = trees.at(security(pod), "windowsOptions", "hostProcess")
+    of_containers = [trees.at(security(container), "windowsOptions", "hostProcess") for _, container in containers(pod)]
+    stated = [setting for setting in of_containers if setting is not None]
+    agree = of_pod is None or all(setting == of_pod for setting in stated)
+    every = bool(of_pod) or len(stated) == len(of_containers)
+    return bool(pod.get("hostNetwork")) and agree and every and all(stated)
+
+
+def _host(pod: Tree) -> Iterator[Violation]:
+    """Yield namespaces of the host that contradict another setting of the pod."""
+    if pod.get("hostUsers") is False:
+        for field in ("hostNetwork", "hostPID", "hostIPC"):
+            if pod.get(field):
+                yield Violation(_SPEC / field, "contradicts hostUsers: false (true)", "remove one of them")
+    if pod.get("hostPID") and pod.get("shareProcessNamespace"):
+        what = "contradicts hostPID: true (true)"
+        yield Violation(_SPEC / "shareProcessNamespace", what, "remove one of them")
+
+
+def _volumes(pod: Tree) -> Iterator[Violation]:
+    for index, volume in enumerate(mappings(pod.get("volumes"))):
+        sources = sorted(volume.keys() - {"name"})
+        if len(sources) > 1:
+            yield Violation(
+                _SPEC / "volumes" / index, f"has several sources ({', '.join(sources)})", "keep one of them"
+            )
+
+
+def _sysctls(pod: Tree) -> Iterator[Violation]:
+    for index, sysctl in enumerate(mappings(security(pod).get("sysctls"))):
+        at = _SPEC / SECURITY / "sysctls" / index
+        name = str(sysctl.get("name"))
+        if len(name) > _LONGEST_SYSCTL or _SYSCTL.fullmatch(name) is None:
+            yield Violation(at / "name", f"is no kernel parameter ({name})", "write a name such as net.core.somaxconn")
+        for field, pattern in _HOST_SYSCTLS.items():
+            if pod.get(field) and pattern.fullmatch(name):
+                yield Violation(at / "name", f"would change the host, because of {field}: true ({name})", _REMOVE)
+
+
+def _context(at: Path, context: Tree) -> Iterator[Violation]:
+    """Yield profiles without their file, and files that no profile reads."""
+    for field, is_valid in _FILES.items():
+        profile = mapping(context.get(field))
+        file = profile.get("localhostProfile")
+        place = at / field / "localhostProfile"
+        if profile.get("type") != "Localhost":
+            if file is not None:
+                yield Violation(place, f"has an effect with type Localhost alone ({profile.get('type')})", _REMOVE)
+        elif file is None:
+            yield Violation(place, "is missing (type Localhost)", "add it, or write type: RuntimeDefault")
+        elif not is_valid(str(file)):
+            yield Violation(place, f"is no path on a node ({file})", "write a relative path without ..")
+
+
+def _is_inside(path: str) -> bool:
+    """Tell whether a path leads to a place below its start."""
+    return not path.startswith("/") and ".." not in path.split("/")
+
+
+def _is_trimmed(path: str) -> bool:
+    return path == path.strip()
+
+
+_FILES: dict[str, Callable[[str], bool]] = {"seccompProfile": _is_inside, "appArmorProfile": _is_trimmed}
+"""Fields with profiles, each with a check of the name of the profile's file."""
+
+
+def _container_context(at: Path, context: Tree, pod: Tree) -> Iterator[Violation]:
+    """Yield fields of a container's security context that contradict each other or the pod."""
+    capabilities = mapping(context.get("capabilities"))
+    if context.get("allowPrivilegeEscalation") is False:
+        remedy = "write allowPrivilegeEscalation: true beside it, or remove it"
+        if context.get("privileged"):
+            yield Violation(at / "privileged", "contradicts allowPrivilegeEscalation: false (true)", remedy)
+        if "CAP_SYS_ADMIN" in capabilities.get("add", ()):
+            what = "contradicts allowPrivilegeEscalation: false (CAP_SYS_ADMIN)"
+            yield Violation(at / "capabilities" / "add", what, remedy)
+    if context.get("procMount") == "Unmasked" and pod.get("hostUsers") is not False:
+        yield Violation(at / "procMount", "needs hostUsers: false (Unmasked)", "add hostUsers: false, or remove it")
+
+
+def _mounts(at: Path, container: Tree) -> Iterator[Violation]:
+    is_privileged = bool(security(container).get("privileged"))
+    for index, mount in enumerate(mappings(container.get("volumeMounts"))):
+        place = at / index
+        propagation = mount.get("mountPropagation", "None")
+        for field in ("subPath", "subPathExpr"):
+            if not _is_inside(str(mount.get(field, ""))):
+                what = f"leads out of the volume ({mount[field]})"
+                yield Violation(place / field, what, "write a path relative to the volume, without ..")
+        if mount.get("subPath") and mount.get("subPathExpr"):
+            yield Violation(place / "subPathExpr", "is set beside subPath", "keep one of them")
+        if propagation == "Bidirectional" and not is_privileged:
+            what = "needs a privileged container (Bidirectional)"
+            yield Violation(place / "mountPropagation", what, "write HostToContainer, or remove it")
+        recursive = mount.get("recursiveReadOnly", "Disabled")
+        is_plain = propagation == "None"
+        if recursive != "Disabled" and not (mount.get("readOnly") and is_plain):
+            what = f"needs readOnly: true, and no mountPropagation ({recursive})"
+            yield Violation(place / "recursiveReadOnly", what, "remove it, or add readOnly: true")
+
+
+def _handlers(at: Path, container: Tree, grace: object) -> Iterator[Violation]:
+    """Yield probes and hooks without a handler or with several, and those of a container that ends before others run.
+
+    `grace` are the seconds in which the pod has to end.
+    """
+    is_short = at[-2] == "initContainers" and container.get("restartPolicy") != "Always"
+    for field in (*PROBES, "lifecycle"):
+        if is_short and field in container:
+            what = "is not possible in a container that ends before others start"
+            yield Violation(at / field, what, "remove it, or write restartPolicy: Always")
+    hooks = mapping(container.get("lifecycle"))
+    places = {Path(field): container[field] for field in PROBES if field in container}
+    places |= {Path("lifecycle", hook): hooks[hook] for hook in _HOOKS if hook in hooks}
+    for handler_at, handler in () if is_short else places.items():
+        place = Path(*at, *handler_at)
+        names = sorted(set(_HANDLERS) & mapping(handler).keys())
+        if len(names) > 1:
+            what = f"has more than one handler ({', '.join(names)})"
+            yield Violation(place, what, "keep one of them, and write null for the others")
+        if not names:
+            yield Violation(place, "has no handler", "add one, such as httpGet, or remove it")
+        pause = trees.at(handler, "sleep", "seconds")
+        if isinstance(pause, int) and isinstance(grace, int) and not 0 <= pause <= grace:
+            what = f"is not within terminationGracePeriodSeconds ({pause}, {grace})"
+            yield Violation(place / "sleep" / "seconds", what, "write a number from 0 to that")
+    for field in PROBES:
+        yield from _threshold(at / field, mapping(container.get(field)))
+
+
+def _threshold(at: Path, probe: Tree) -> Iterator[Violation]:
+    """Yield numbers that only other kinds of probes have."""
+    successes = probe.get("successThreshold", 1)
+    if at[-1] == "readinessProbe":
+        if "terminationGracePeriodSeconds" in probe:
+            what = "is not possible, because this probe ends no container"
+            yield Violation(at / "terminationGracePeriodSeconds", what, _REMOVE)
+    elif successes not in {0, 1}:
+        yield Violation(at / "successThreshold", f"is not 1, as this probe needs ({successes})", _REMOVE)
+
+
+def _ports(at: Path, container: Tree, pod: Tree) -> Iterator[Violation]:
+    ports = mappings(container.get("ports"))
+    names = [port.get("name") for port in ports]
+    for index, port in enumerate(ports):
+        number = port.get("containerPort")
+        host_port = port.get("hostPort")
+        if port.get("name") and port["name"] in names[:index]:
+            yield Violation(at / index / "name", f"is the name of another port ({port['name']})", "choose another")
+        if host_port and pod.get("hostNetwork") and host_port != number:
+            what = f"differs from containerPort, although hostNetwork is true ({host_port}, {number})"
+            yield Violation(at / index / "hostPort", what, _REMOVE)
+
+
+def _variables(at: Path, container: Tree) -> Iterator[Violation]:
+    """Yield variables with two values or with none of the possible sources."""
+    for index, variable in enumerate(mappings(container.get("env"))):
+        sources = sorted(mapping(variable.get("valueFrom")))
+        if "valueFrom" in variable and (len(sources) != 1 or variable.get("value")):
+            held = ", ".join([*(["value"] if variable.get("value") else []), *sources]) or "nothing"
+            what = f"needs exactly one source ({variable.get('name')} has {held})"
+            yield Violation(at / index, what, "keep a value, or one source in valueFrom")
+
+
+def _annotations(template: PodTemplate) -> Iterator[Violation]:
+    """Yield profiles in annotations that name no container, are none, or contradict the field of the container."""
+    pod = template.spec
+    contexts = {str(container.get("name")): security(container) for _, container in containers(pod)}
+    for key, profile in template.annotations.items():
+        at = Path("metadata", "annotations", key)
+        text = str(profile)
+        if key.startswith(APP_ARMOR_ANNOTATION):
+            name = key.removeprefix(APP_ARMOR_ANNOTATION)
+            field = "appArmorProfile"
+            known = _APP_ARMOR_VALUES
+            if name not in contexts:
+                what = f"names no container of this pod ({name})"
+                yield Violation(at, what, f"use the name of a container ({', '.join(contexts)})")
+            context = contexts.get(name, {})
+            applied = context
+            if field not in context:
+                applied = security(pod)
+        elif key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
+            field = "seccompProfile"
+            known = _SECCOMP_VALUES
+            name = key.removeprefix(_SECCOMP_CONTAINER)
+            if key == _SECCOMP_POD:
+                applied = security(pod)
+            else:
+                applied = contexts.get(name, {})
+        else:
+            continue
+        file = None
+        if text.startswith(_LOCAL):
+            file = text.removeprefix(_LOCAL)
+        if text not in known and (file is None or not _FILES[field](file)):
+            yield Violation(at, f"is no profile ({text})", "write runtime/default, or remove it")
+        elif field in applied and not _agree(text, mapping(applied[field])):
+            yield Violation(at, f"contradicts {SECURITY}.{field} ({text})", "remove it")
+
+
+def _agree(annotation: str, profile: Tree) -> bool:
+    """Tell whether an annotation says of a profile what a field says."""
+    match profile.get("type"):
+        case "Unconfined":
+            return annotation == "unconfined"
+        case "RuntimeDefault":
+            return annotation in {"runtime/default", "docker/default"}
+        case _:
+            return annotation == f"{_LOCAL}{profile.get('localhostProfile')}"
diff --git a/judging/pod_security.py b/judging/pod_security.py
new file mode 100644
index 00000000..592891fc
--- /dev/null
+++ b/judging/pod_security.py
@@ -0,0 +1,220 @@
+"""Pod Security: which settings of pods the levels `baseline` and `restricted` do not admit, by version of Kubernetes.
+
+The checks are those of k8s.io/pod-security-admission v0.36.1 (policy/check_*.go), from Kubernetes 1.25 on; what they
+admit is in `pod_security.yaml`. Two checks are left out: exemptions of pods that run Windows, and containers for
+debugging, because `judging.pod_rules` refuses both in a pod template.
+"""
+
+from collections.abc import Iterator, Mapping
+from dataclasses import dataclass
+from functools import cache
+from importlib.resources import files
+from typing import Any, cast
+
+from manifests.pod_templates import SECURITY, PodTemplate, Tree, containers, mappings, security
+from models import trees
+from models.paths import Path
+from models.trees import mapping, sequence
+from planning.ground import yaml_text
+from planning.ground.needs import BASELINE, PRIVILEGED, Excess
+
+APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
+"""Start of the annotations with profiles of AppArmor; the name of a container follows."""
+_APP_ARMOR_DEFAULT = "runtime/default"
+_APP_ARMOR_LOCAL = "localhost/"
+_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
+_PROFILES = frozenset({"RuntimeDefault", "Localhost"})
+"""Types of profiles of seccomp and AppArmor that both levels admit."""
+_RESTRICTED_CAPABILITY = "NET_BIND_SERVICE"
+"""The only capability that a container may add at the level `restricted`."""
+PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
+_REQUESTS = ("httpGet", "tcpSocket")
+"""Handlers of probes and hooks that can name a host."""
+_SEALED = "write securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}"
+_REMOVE = "remove it"
+
+
+@dataclass(frozen=True, slots=True)
+class Finding:
+    """A setting of a pod template that the level `restricted` does not admit."""
+
+    at: Path
+    """Path in the pod template."""
+    remedy: str
+    excess: Excess
+
+
+@dataclass(frozen=True, slots=True)
+class _Admitted:
+    """Values that the levels admit. A number is the first minor version of Kubernetes that admits the value."""
+
+    volumes: frozenset[str]
+    capabilities: frozenset[str]
+    sysctls: Mapping[str, int]
+    selinux_types: Mapping[str, int]
+    probe_hosts: int
+    """First minor version that refuses hosts in probes and hooks."""
+    user_namespaces: int
+    """First minor version that admits more in pods with a user namespace of their own."""
+
+
+@cache
+def _table() -> _Admitted:
+    text = files("judging").joinpath("pod_security.yaml").read_text(encoding="utf-8")
+    table = cast("dict[str, Any]", yaml_text.load(text))
+    return _Admitted(
+        volumes=frozenset(table["volumes"]),
+        capabilities=frozenset(table["capabilities"]),
+        sysctls=table["sysctls"],
+        selinux_types=table["seLinuxTypes"],
+        probe_hosts=table["probeHosts"],
+        user_namespaces=table["userNamespaces"],
+    )
+
+
+def findings(template: PodTemplate) -> Iterator[Finding]:
+    """Yield a finding for each setting of a pod that some version's level `restricted` does not admit."""
+    pod = template.spec
+    at = Path("spec")
+    for field in _HOST_NAMESPACES:
+        if pod.get(field):
+            yield _severe(at / field, f"{field}: true", _REMOVE)
+    yield from _volumes(at / "volumes", pod)
+    yield from _sysctls(at / SECURITY / "sysctls", security(pod))
+    yield from _annotations(template.annotations)
+    yield from _defaults(at / SECURITY, pod)
+    yield from _context(at / SECURITY, security(pod), pod)
+    for container_at, container in containers(pod):
+        place = Path(*at, *container_at)
+        yield from _context(place / SECURITY, security(container), pod)
+        yield from _container(place, security(container), pod)
+        yield from _ports(place / "ports", container)
+        yield from _hosts(place, container)
+
+
+def _severe(at: Path, text: str, remedy: str, since: int = 0, until: int | None = None) -> Finding:
+    """Return a finding that no level but `privileged` admits."""
+    return Finding(at, remedy, Excess(text, PRIVILEGED, since, until))
+
+
+def _mild(at: Path, text: str, remedy: str, since: int = 0, until: int | None = None) -> Finding:
+    """Return a finding that the level `baseline` admits."""
+    return Finding(at, remedy, Excess(text, BASELINE, since, until))
+
+
+def _volumes(at: Path, pod: Tree) -> Iterator[Finding]:
+    for index, volume in enumerate(mappings(pod.get("volumes"))):
+        kinds = volume.keys() - {"name"}
+        if not kinds or kinds & _table().volumes:
+            continue
+        find = _mild
+        if "hostPath" in kinds:
+            find = _severe
+        yield find(at / index, ", ".join(sorted(kinds)), "use a claim, a ConfigMap, a Secret or an emptyDir")
+
+
+def _sysctls(at: Path, context: Tree) -> Iterator[Finding]:
+    for index, sysctl in enumerate(mappings(context.get("sysctls"))):
+        until = _table().sysctls.get(str(sysctl.get("name")))
+        if until != 0:
+            yield _severe(at / index, f"{sysctl.get('name')}", _REMOVE, until=until)
+
+
+def _annotations(annotations: Tree) -> Iterator[Finding]:
+    """Yield profiles of AppArmor in annotations, as pods had them before Kubernetes 1.30."""
+    for key, profile in annotations.items():
+        is_admitted = profile in {"", _APP_ARMOR_DEFAULT} or str(profile).startswith(_APP_ARMOR_LOCAL)
+        if key.startswith(APP_ARMOR_ANNOTATION) and not is_admitted:
+            remedy = f"remove it, or write {_APP_ARMOR_DEFAULT}"
+            yield _severe(Path("metadata", "annotations", key), f"{profile}", remedy)
+
+
+def _defaults(at: Path, pod: Tree) -> Iterator[Finding]:
+    """Yield settings that are missing in the pod and in some container."""
+    context = security(pod)
+    of_containers = [security(container) for _, container in containers(pod)]
+    non_root = context.get("runAsNonRoot")
+    if non_root is None and any(setting.get("runAsNonRoot") is None for setting in of_containers):
+        yield _mild(at / "runAsNonRoot", "runAsNonRoot is not true", "write true", until=_relaxation(pod))
+    if "seccompProfile" not in context and any("seccompProfile" not in setting for setting in of_containers):
+        yield _mild(at / "seccompProfile", "no profile for seccomp", "write {type: RuntimeDefault}")
+
+
+def _relaxation(pod: Tree) -> int | None:
+    """Return the first minor version that relaxes rules for a pod; None if no version relaxes them."""
+    if pod.get("hostUsers") is False:
+        return _table().user_namespaces
+    return None
+
+
+def _context(at: Path, context: Tree, pod: Tree) -> Iterator[Finding]:
+    """Yield findings of the fields that the security contexts of pods and containers share."""
+    if not context:
+        return
+    if context.get("runAsUser") == 0:
+        yield _mild(at / "runAsUser", "runAsUser: 0", "write a user id above 0", until=_relaxation(pod))
+    if context.get("runAsNonRoot") is False:
+        remedy = _REMOVE
+        if at.parent == Path("spec"):
+            remedy = "write true"
+        yield _mild(at / "runAsNonRoot", "runAsNonRoot is not true", remedy, until=_relaxation(pod))
+    for field in ("seccompProfile", "appArmorProfile"):
+        profile = trees.at(context, field, "type")
+        if field in context and profile not in _PROFILES:
+            yield _severe(at / field, f"{field}: {profile}", "write {type: RuntimeDefault}")
+    if trees.at(context, "windowsOptions", "hostProcess"):
+        yield _severe(at / "windowsOptions" / "hostProcess", "hostProcess: true", _REMOVE)
+    yield from _selinux(at / "seLinuxOptions", mapping(context.get("seLinuxOptions")))
+
+
+def _selinux(at: Path, options: Tree) -> Iterator[Finding]:
+    for field in ("user", "role"):
+        if options.get(field):
+            yield _severe(at / field, f"{field}: {options[field]}", _REMOVE)
+    selinux_type = options.get("type")
+    until = _table().selinux_types.get(str(selinux_type))
+    if selinux_type and until != 0:
+        yield _severe(at / "type", f"type: {selinux_type}", "remove it, or write container_t", until=until)
+
+
+def _container(at: Path, context: Tree, pod: Tree) -> Iterator[Finding]:
+    """Yield findings of the fields that only the security contexts of containers have."""
+    path = at / SECURITY
+    if context.get("privileged"):
+        yield _severe(path / "privileged", "privileged: true", _REMOVE)
+    if context.get("allowPrivilegeEscalation") is not False:
+        yield _mild(path / "allowPrivilegeEscalation", "allowPrivilegeEscalation is not false", _SEALED)
+    capabilities = mapping(context.get("capabilities"))
+    if "ALL" not in sequence(capabilities.get("drop")):
+        yield _mild(path / "capabilities", "capabilities are not dropped", _SEALED)
+    added = sorted({*map(str, sequence(capabilities.get("add")))} - {_RESTRICTED_CAPABILITY})
+    if added:
+        find = _severe
+        if _table().capabilities.issuperset(added):
+            find = _mild
+        yield find(path / "capabilities" / "add", ", ".join(added), _REMOVE)
+    proc_mount = context.get("procMount", "Default")
+    relaxed = _relaxation(pod)
+    if proc_mount != "Default":
+        yield _severe(path / "procMount", f"procMount: {proc_mount}", _REMOVE, until=relaxed)
+        if relaxed is not None:
+            yield _mild(path / "procMount", f"procMount: {proc_mount}", _REMOVE, since=relaxed)
+
+
+def _ports(at: Path, container: Tree) -> Iterator[Finding]:
+    for index, port in enumerate(mappings(container.get("ports"))):
+        if port.get("hostPort"):
+            yield _severe(at / index / "hostPort", f"hostPort: {port['hostPort']}", _REMOVE)
+
+
+def _hosts(at: Path, container: Tree) -> Iterator[Finding]:
+    """Yield hosts to which the kubelet would send the requests of probes and hooks, instead of the pod."""
+    handlers = {Path(field): mapping(container.get(field)) for field in PROBES if field in container}
+    for hook, handler in mapping(container.get("lifecycle")).items():
+        handlers[Path("lifecycle", hook)] = mapping(handler)
+    for handler_at, handler in handlers.items():
+        for request in _REQUESTS:
+            host = trees.at(handler, request, "host")
+            if host:
+                place = Path(*at, *handler_at, request, "host")
+                yield _severe(place, f"host: {host}", _REMOVE, since=_table().probe_hosts)
diff --git a/judging/pod_security.yaml b/judging/pod_security.yaml
new file mode 100644
index 00000000..56cb813f
--- /dev/null
+++ b/judging/pod_security.yaml
@@ -0,0 +1,47 @@
+# What the levels `baseline` and `restricted` of Pod Security admit.
+# Source: k8s.io/pod-security-admission v0.36.1, policy/check_*.go. A number is the first minor version of Kubernetes
+# whose policy admits the value; 0 stands for every version.
+volumes: # restricted (check_restrictedVolumes.go)
+- configMap
+- csi
+- downwardAPI
+- emptyDir
+- ephemeral
+- image
+- persistentVolumeClaim
+- projected
+- secret
+capabilities: # baseline (check_capabilities_baseline.go); restricted admits NET_BIND_SERVICE alone
+- AUDIT_WRITE
+- CHOWN
+- DAC_OVERRIDE
+- FOWNER
+- FSETID
+- KILL
+- MKNOD
+- NET_BIND_SERVICE
+- SETFCAP
+- SETGID
+- SETPCAP
+- SETUID
+- SYS_CHROOT
+sysctls: # baseline (check_sysctls.go)
+  kernel.shm_rmid_forced: 0
+  net.ipv4.ip_local_port_range: 0
+  net.ipv4.ip_local_reserved_ports: 27
+  net.ipv4.ip_unprivileged_port_start: 0
+  net.ipv4.ping_group_range: 0
+  net.ipv4.tcp_fin_timeout: 29
+  net.ipv4.tcp_keepalive_intvl: 29
+  net.ipv4.tcp_keepalive_probes: 29
+  net.ipv4.tcp_keepalive_time: 29
+  net.ipv4.tcp_rmem: 32
+  net.ipv4.tcp_syncookies: 0
+  net.ipv4.tcp_wmem: 32
+seLinuxTypes: # baseline (check_seLinuxOptions.go)
+  container_engine_t: 31
+  container_init_t: 0
+  container_kvm_t: 0
+  container_t: 0
+probeHosts: 34 # first minor version whose baseline refuses hosts (check_hostProbesAndhostLifecycle.go)
+userNamespaces: 35 # first minor version that relaxes rules for pods with hostUsers: false (check_runAsUser.go, check_runAsNonRoot.go, check_procMount_baseline.go)
diff --git a/judging/preflight/__init__.py b/judging/preflight/__init__.py
new file mode 100644
index 00000000..7bd3736f
--- /dev/null
+++ b/judging/preflight/__init__.py
@@ -0,0 +1,68 @@
+"""Checks before a deployment: whether the cluster has the objects that a stack needs.
+
+A missing kind, namespace, class or listener is an error, because only a person can add it. A missing Secret, metric,
+node or approval of a controller is a warning, because it may come while pods wait. If facts could not be read, a
+warning names them. `checks.preflight: warn` turns the errors into warnings. With `skip`, only `facts_age`,
+`earlier_preview`, `addresses`, `pools` and `unresolved_ids` still report problems.
+"""
+
+from collections.abc import Iterator
+
+from judging import routes as live_routes
+from judging.preflight import (
+    admission,
+    earlier_preview,
+    facts_age,
+    kinds,
+    listeners,
+    metering,
+    namespaces,
+    nodes,
+    references,
+    unread_facts,
+)
+from judging.situation import Situation
+from manifests.assembly import objects
+from models.problems import Problem
+
+__all__ = ["judge"]
+
+
+def judge(situation: Situation) -> Iterator[Problem]:
+    """Yield the problems of a stack in its cluster.
+
+    The order is: age and changes of the facts; kinds, versions and metrics that the cluster lacks; missing objects;
+    routes of others that collide with routes of the stack; facts that could not be read; resource ids.
+    """
+    plan = situation.plan
+    needs = situation.needs
+    facts = situation.facts
+    mode = situation.mode
+    yield from facts_age.judge(facts, situation.cluster, situation.now)
+    yield from facts_age.judge(situation.earlier, situation.cluster, situation.now, earlier_preview.FILE)
+    yield from earlier_preview.judge(situation.earlier, facts, needs, situation.identity)
+    yield from kinds.kinds(needs.kinds, facts, mode)
+    if plan.routes:
+        yield from kinds.bundles(plan, facts, mode)
+    yield from kinds.addresses(situation.stack, facts)
+    yield from kinds.metrics(plan, facts, mode)
+    yield from metering.metering(plan, facts, mode)
+    yield from situation.loaded.locate(_references(situation))
+    yield from live_routes.judge(plan.routes, situation.identity, facts.routes, situation.mode)
+    yield from unread_facts.judge(needs, facts, mode)
+    services = (rendered.manifest for rendered in objects(situation.components) if rendered.api == "v1/Service")
+    yield from metering.unresolved_ids(plan, services)
+
+
+def _references(situation: Situation) -> Iterator[Problem]:
+    """Yield the problems of names in the configuration that lead to objects of the cluster."""
+    plan = situation.plan
+    needs = situation.needs
+    facts = situation.facts
+    mode = situation.mode
+    yield from namespaces.judge(needs, facts, plan.namespace_origins, situation.identity, mode)
+    yield from admission.judge(needs, facts, mode)
+    yield from listeners.judge(plan.routes, needs, facts, mode)
+    yield from references.classes(needs, facts, mode)
+    yield from references.secrets(needs, facts, mode)
+    yield from nodes.judge(plan, facts, mode)
diff --git a/judging/preflight/admission.py b/judging/preflight/admission.py
new file mode 100644
index 00000000..a88ee81e
--- /dev/null
+++ b/judging/preflight/admission.py
@@ -0,0 +1,74 @@
+"""Check of pods against the Pod Security levels of their namespaces."""
+
+import re
+from collections.abc import Iterator
+from typing import NamedTuple
+
+from models.problems import SEVERITIES, Mode, Problem
+from planning.ground import labels
+from planning.ground.cluster_facts import ClusterFacts, Unknown
+from planning.ground.inventory import LiveNamespace
+from planning.ground.needs import RESTRICTED, Needs
+
+_MINOR = re.compile(r"v1\.(\d+)")
+
+
+class _Policy(NamedTuple):
+    """Rules of Pod Security that a namespace enforces on its pods."""
+
+    level: str
+    minor: int | None
+    """Minor version of Kubernetes whose rules apply; None for the newest rules."""
+
+
+def judge(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
+    """Yield a problem for each group of pods that is not admitted at the Pod Security level of the pods' namespace.
+
+    The API server accepts a workload with such pods, but the pods are never created. A namespace without a level has
+    the cluster's default level. No object contains this default, so pods of such a namespace are not checked. Of a
+    namespace that the stack creates, only settings are left that the newest version of Kubernetes admits.
+    """
+    if mode == "skip" or isinstance(facts.namespaces, Unknown):
+        return
+    version = None
+    if facts.origin is not None:
+        version = _minor(facts.origin.version)
+    for pods in needs.pods:
+        live = facts.namespaces.namespaces.get(pods.namespace)
+        is_created = pods.namespace in needs.created
+        if is_created:
+            policy = _Policy(RESTRICTED, version)
+        else:
+            policy = _namespace_policy(live, version)
+        refused = ()
+        if policy is not None:
+            refused = pods.refusals(policy.level, policy.minor)
+        if policy is None or not refused:
+            continue
+        newest = ""
+        if pods.refusals(policy.level, None) != refused:
+            newest = f" of Kubernetes 1.{policy.minor}"
+        place = f"namespace {pods.namespace}, whose level is {policy.level}{newest} ({', '.join(refused)})"
+        what = f"pods of {pods.pods_of} are not admitted in {place}"
+        label = f"{labels.POD_SECURITY_LEVEL}: {pods.level(policy.minor)}"
+        remedy = "write namespaceOptions: {create: false}"
+        if not is_created:
+            remedy = f"set {label} on the namespace"
+        yield Problem(pods.section, what, f"remove these settings, or {remedy}", severity=SEVERITIES[mode])
+
+
+def _namespace_policy(live: LiveNamespace | None, version: int | None) -> _Policy | None:
+    """Return the policy of a namespace; None if its labels state no level. `version` is that of the cluster."""
+    if live is None or live.level is None:
+        return None
+    stated = _minor(live.labels.get(labels.POD_SECURITY_VERSION))
+    minors = [minor for minor in (stated, version) if minor is not None]
+    return _Policy(live.level, min(minors, default=None))
+
+
+def _minor(version: str | None) -> int | None:
+    """Return the minor version of a version of Kubernetes such as `v1.36.3`; None if there is none."""
+    match = _MINOR.match(version or "")
+    if match is None:
+        return None
+    return int(match[1])
diff --git a/judging/preflight/earlier_preview.py b/judging/preflight/earlier_preview.py
new file mode 100644
index 00000000..b0895504
--- /dev/null
+++ b/judging/preflight/earlier_preview.py
@@ -0,0 +1,94 @@
+"""Comparison of a cluster with an earlier facts file, such as the file of an approved preview."""
+
+from collections.abc import Iterator, Mapping
+from typing import Any
+
+from models.config_keys import PREVIEWED
+from models.paths import Path
+from models.problems import Problem, warning
+from planning.ground.cluster_facts import PARTS, ClusterFacts, Gateways, LiveRoute, Routes, Served, Unknown
+from planning.ground.differences import differences
+from planning.ground.inventory import Metered, Namespaces, PriorityClasses, Secrets, StorageClasses
+from planning.ground.marks import Identity, Verdict
+from planning.ground.needs import NameReference, Needs
+
+FILE = Path(PREVIEWED)
+"""Key that names the file with earlier facts."""
+_REMEDY = "name a file that python -m cli facts wrote"
+_OTHER = Unknown("it is not compared")
+
+
+def judge(earlier: ClusterFacts | None, facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[Problem]:
+    """Yield a warning for each difference between earlier facts and present facts that concerns a stack.
+
+    The compared objects are those that the stack needs, and routes and metered Services of others. Facts that are
+    unknown in `earlier` or `facts` are not compared.
+    """
+    if earlier is None:
+        return
+    if isinstance(earlier.apis, Unknown):
+        yield warning(FILE, earlier.apis.reason, _REMEDY)
+    elif not isinstance(facts.apis, Unknown):
+        before, after = (
+            dict((*_narrow(reading, needs, identity), *_narrow_references(reading, needs, identity)))
+            for reading in (earlier, facts)
+        )
+        known = before.keys() & after.keys()
+        for line in differences(*(_only({name: parts[name] for name in known}) for parts in (before, after))):
+            yield warning(FILE, f"the cluster has changed since this file was written ({line})")
+
+
+def _only(parts: Mapping[str, Any]) -> ClusterFacts:
+    """Return facts with these fields. All other fields are unknown."""
+    others: dict[str, Any] = dict.fromkeys(PARTS, _OTHER)
+    return ClusterFacts(**{**others, **parts})
+
+
+def _narrow(facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[tuple[str, Any]]:
+    """Yield name and value of the known facts about kinds, Gateways, routes and bundles.
+
+    Objects that do not concern the stack are left out.
+    """
+    if not isinstance(facts.apis, Unknown):
+        yield "apis", Served(facts.apis.kinds & needs.kinds)
+    if not isinstance(facts.gateways, Unknown):
+        yield "gateways", Gateways(tuple(live for live in facts.gateways.gateways if live.ref in needs.gateways))
+    if not isinstance(facts.routes, Unknown):
+        yield "routes", Routes(tuple(route for route in facts.routes.routes if _is_beside(route, needs, identity)))
+    if not isinstance(facts.bundles, Unknown):
+        yield "bundles", facts.bundles
+
+
+def _narrow_references(facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[tuple[str, Any]]:
+    """Yield name and value of the known facts about namespaces, Secrets, metered Services and classes.
+
+    Objects that do not concern the stack are left out.
+    """
+    if not isinstance(facts.namespaces, Unknown):
+        live = facts.namespaces.namespaces
+        names = needs.namespaces - needs.created
+        yield "namespaces", Namespaces({name: live[name] for name in live.keys() & names})
+    if not isinstance(facts.secrets, Unknown):
+        places = {(reference.namespace, reference.name) for reference in needs.secrets}
+        yield "secrets", Secrets(tuple(place for place in facts.secrets.secrets if place in places))
+    if not isinstance(facts.metered, Unknown):
+        others = (service for service in facts.metered.metered if service.namespace in needs.metered)
+        yield "metered", Metered(tuple(other for other in others if identity.verdict(other.mark) is not Verdict.OURS))
+    if not isinstance(facts.storage_classes, Unknown):
+        classes = _classes(facts.storage_classes.storage_classes, needs.storage_classes)
+        yield "storage_classes", StorageClasses(classes)
+    if not isinstance(facts.priority_classes, Unknown):
+        classes = _classes(facts.priority_classes.priority_classes, needs.priority_classes)
+        yield "priority_classes", PriorityClasses(classes)
+
+
+def _is_beside(route: LiveRoute, needs: Needs, identity: Identity) -> bool:
+    """Tell whether a route does not belong to the stack, but is attached to a Gateway that the stack uses."""
+    is_attached = any(parent.gateway in needs.gateways for parent in route.parents)
+    return is_attached and identity.verdict(route.mark) is not Verdict.OURS
+
+
+def _classes(classes: Mapping[str, bool], references: tuple[NameReference, ...]) -> dict[str, bool]:
+    """Return the classes that references name. A reference without a name refers to the default class."""
+    names = {reference.name for reference in references}
+    return {name: is_default for name, is_default in classes.items() if name in names or ("" in names and is_default)}
diff --git a/judging/preflight/facts_age.py b/judging/preflight/facts_age.py
new file mode 100644
index 00000000..d0ea68af
--- /dev/null
+++ b/judging/preflight/facts_age.py
@@ -0,0 +1,37 @@
+"""Check of a facts file: whether it describes this cluster, and whether it is at most a day old."""
+
+from collections.abc import Iterator
+from datetime import UTC, datetime, timedelta
+
+from models.paths import Path
+from models.problems import Problem, warning
+from planning.ground.cluster_facts import ClusterFacts
+from planning.ground.inventory import TIME_FORMAT
+
+_MAX_AGE = timedelta(days=1)
+FILE = Path("cluster", "facts")
+"""Key that names the file from which a stack takes its facts."""
+_REMEDY = "write it again with python -m cli facts"
+
+
+def judge(facts: ClusterFacts | None, cluster: str | None, now: datetime, at: Path = FILE) -> Iterator[Problem]:
+    """Yield a warning if a file's facts describe another cluster than `cluster`, or are older than a day.
+
+    `now` is a time in UTC. `at` is the key that names the file. If the name of a cluster is unknown, the names are not
+    compared.
+    """
+    origin = None
+    if facts is not None:
+        origin = facts.origin
+    if origin is None:
+        return
+    if cluster is not None and origin.cluster is not None and origin.cluster != cluster:
+        yield warning(at, f"the file describes cluster {origin.cluster}, but this run is for {cluster}", _REMEDY)
+    try:
+        age = now - datetime.strptime(origin.time, TIME_FORMAT).replace(tzinfo=UTC)
+    except ValueError:
+        yield warning(at, f"the file has no time of the form {TIME_FORMAT}", _REMEDY)
+        return
+    if age > _MAX_AGE:
+        hours = int(age.total_seconds() // 3600)
+        yield warning(at, f"the file is {hours} hours old ({origin.time})", _REMEDY)
diff --git a/judging/preflight/kinds.py b/judging/preflight/kinds.py
new file mode 100644
index 00000000..d3456a63
--- /dev/null
+++ b/judging/preflight/kinds.py
@@ -0,0 +1,148 @@
+"""Checks of what a stack needs from the cluster: kinds, new enough CRDs, metrics and addresses.
+
+A preview does not notice that a CRD is missing. The update then fails halfway, after a minute of retries. If a CRD is
+too old, the API server drops the fields that the CRD lacks, and a preview does not notice this, either. An autoscaler
+whose metric is missing never changes the number of replicas.
+"""
+
+from collections.abc import Iterable, Iterator
+
+from models.paths import Path
+from models.problems import SEVERITIES, Mode, Problem, gap, warning
+from models.stack import Stack
+from planning.ground import gateways
+from planning.ground.api_groups import CLAIM_TEMPLATE_API, METRICS_GROUP
+from planning.ground.bundles import Bundle, all_bundles
+from planning.ground.cluster_facts import ClusterFacts, OfferedMetrics, Unknown
+from planning.plans import StackPlan
+from planning.releases import channel
+from planning.serving.autoscaling import Autoscaler, EngineLoad, PickerLoad, UserMetric
+
+_CILIUM = "cilium.io/"
+"""First part of Cilium's API versions. By default, an address in a network policy matches no node in Cilium's network
+(Cilium, Network Policy, CIDR based, `policy-cidr-match-mode`)."""
+_MIN_VERSION = "1.30"
+_SINCE = {f"{CLAIM_TEMPLATE_API}/ResourceClaimTemplate": "1.34"}
+"""First Kubernetes version that serves a kind. Only kinds that `_MIN_VERSION` does not serve are listed."""
+
+
+def kinds(required: Iterable[str], facts: ClusterFacts, mode: Mode) -> list[Problem]:
+    """Return a problem for every kind (`apiVersion/Kind`) that a stack needs and the cluster does not serve.
+
+    If the kinds of the cluster are unknown, the result is a warning that nothing was checked.
+    """
+    names = sorted(set(required))
+    if mode == "skip":
+        return []
+    if isinstance(facts.apis, Unknown):
+        return [gap(Path(), f"whether the cluster serves {', '.join(names)}", facts.apis.reason)]
+    what = "the cluster does not serve it"
+    missing = (kind for kind in names if kind not in facts.apis.kinds)
+    return [Problem(Path(kind), what, _remedy(kind), severity=SEVERITIES[mode]) for kind in missing]
+
+
+def bundles(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> list[Problem]:
+    """Return a problem for every CRD in the cluster that is older than the stack needs.
+
+    If the versions are unknown, the result is a warning that nothing was checked. If the version of a CRD is no number,
+    the result contains a warning about this CRD.
+    """
+    if mode == "skip" or isinstance(facts.apis, Unknown):
+        return []
+    if isinstance(facts.bundles, Unknown):
+        return [gap(Path(), "whether the cluster's CRDs are new enough", facts.bundles.reason)]
+    minimums = _minimum_versions(plan)
+    problems = list[Problem]()
+    for bundle in all_bundles():
+        installed = facts.bundles.bundles.get(bundle.definition or "", "")
+        minimum, purpose = minimums.get((bundle.definition or "").partition(".")[2], ("", ""))
+        if installed and minimum and not gateways.numbers(installed):
+            reason = f"its version is no number ({installed})"
+            problems.append(gap(Path(bundle.definition or ""), f"whether it is new enough for {purpose}", reason))
+        elif installed and gateways.numbers(installed) < gateways.numbers(minimum):
+            what = f"comes from {bundle.name} {installed}, but {purpose} needs {minimum} or newer"
+            at = Path(bundle.definition or "")
+            problems.append(Problem(at, what, _installation(bundle), severity=SEVERITIES[mode]))
+    return problems
+
+
+def _minimum_versions(plan: StackPlan) -> dict[str, tuple[str, str]]:
+    """Return the minimum version of the CRDs of each API group, with words for what needs this version."""
+    requirements = channel(plan.release).requirements
+    minimums = {item.group: (item.version, f"release {plan.release}") for item in requirements.of_definitions}
+    variants = [variant for service in plan.services for variant in service.variants]
+    if all(variant.endpoint_picker is None for variant in variants):
+        del minimums[requirements.inference_pool.group]
+    elif any(len(variant.target_ports) > 1 for variant in variants):
+        ports = requirements.pool_ports
+        minimums[ports.group] = ports.version, "a pool with several ports"
+    return minimums
+
+
+def addresses(stack: Stack, facts: ClusterFacts) -> Iterator[Problem]:
+    """Yield a warning if the cluster has Cilium's network, in which `apiServerCIDRs` may not match the API server."""
+    spec = stack.network_policies
+    if spec is None or not spec.api_server_cidrs or isinstance(facts.apis, Unknown):
+        return
+    if any(kind.startswith(_CILIUM) for kind in facts.apis.kinds):
+        what = (
+            "may not match the API server: Cilium in this cluster matches neither nodes nor the API server by address"
+        )
+        remedy = "remove it, or set Cilium's policy-cidr-match-mode to nodes"
+        yield warning(Path("networkPolicies", "apiServerCIDRs"), what, remedy)
+
+
+def _remedy(kind: str) -> str:
+    """Return the remedy for a kind that the cluster does not serve."""
+    for bundle in all_bundles():
+        if kind in bundle.kinds:
+            return _installation(bundle)
+    minimum = _SINCE.get(kind, _MIN_VERSION)
+    return f"upgrade to Kubernetes {minimum} or newer"
+
+
+def metrics(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> list[Problem]:
+    """Return a warning for every metric that an autoscaler asks for and the cluster does not offer.
+
+    A missing metric is never an error, because an adapter offers a metric only after pods have reported it.
+    """
+    offered = facts.metrics
+    if mode == "skip" or isinstance(facts.apis, Unknown):
+        return []
+    autoscalers = [workload.autoscaler for service in plan.services for workload in service.workloads]
+    needed = [item for autoscaler in autoscalers if autoscaler is not None for item in _object_metrics(autoscaler)]
+    if isinstance(offered, Unknown):
+        return [gap(at, f"whether the cluster offers {name} of {kind}", offered.reason) for at, kind, name in needed]
+    return [
+        _missing_metric(at, kind, name, offered) for at, kind, name in needed if f"{kind}/{name}" not in offered.metrics
+    ]
+
+
+def _object_metrics(autoscaler: Autoscaler) -> Iterator[tuple[Path, str, str]]:
+    """Yield path, kind of object and name of each metric that a HorizontalPodAutoscaler asks for.
+
+    An autoscaler with KEDA asks the cluster for no metric, because KEDA asks Prometheus.
+    """
+    for index, metric in enumerate(autoscaler.metrics if autoscaler.keda is None else ()):
+        at = autoscaler.path / "metrics" / index
+        if isinstance(metric, EngineLoad):
+            yield at, "pods", metric.metric.pod_metric
+        elif isinstance(metric, PickerLoad):
+            yield at, "services", metric.metric.series
+        elif isinstance(metric, UserMetric) and metric.spec.get("type") == "Pods":
+            yield at / "spec", "pods", metric.spec["pods"]["metric"]["name"]
+
+
+def _missing_metric(at: Path, kind: str, name: str, offered: OfferedMetrics) -> Problem:
+    """Return the warning about a metric that the cluster does not offer for a kind of object."""
+    others = [metric.partition("/")[0] for metric in offered.metrics if metric.partition("/")[2] == name]
+    place = "of no kind of object"
+    if others:
+        place = f"of {', '.join(others)} alone"
+    what = f"the cluster offers {name} {place} ({METRICS_GROUP}), but the autoscaler asks for the metric of {kind}"
+    remedy = "give the metrics adapter the rule in docs/run.md; an adapter offers only metrics that pods reported"
+    return warning(at, what, remedy)
+
+
+def _installation(bundle: Bundle) -> str:
+    return f"install {bundle.name} {bundle.version}: {bundle.install}"
diff --git a/planning/preflight/listeners.py b/judging/preflight/listeners.py
similarity index 35%
rename from planning/preflight/listeners.py
rename to judging/preflight/listeners.py
index 7acd3779..22595d2c 100644
--- a/planning/preflight/listeners.py
+++ b/judging/preflight/listeners.py
@@ -3,16 +3,14 @@
 from collections.abc import Iterable, Iterator, Mapping
 from dataclasses import dataclass
 
 from models.paths import Path
-from models.problems import Problem, warning
+from models.problems import SEVERITIES, Mode, Problem, gap
 from planning.ground import labels
 from planning.ground.cluster_facts import ClusterFacts, GatewayRef, LiveGateway, Unknown
 from planning.ground.inventory import EVERY, SAME, SELECTED, Listener
 from planning.ground.needs import Needs
-from planning.preflight.owners import Owners
-from planning.preflight.severity import SEVERITIES, Mode
-from planning.routes import Route, collisions
+from planning.routes import PlannedRoute, request_claims
 
 _HTTP = frozenset({"HTTP", "HTTPS"})
 """Protocols whose listeners admit HTTPRoutes if `allowedRoutes.kinds` is empty."""
 _ROUTE = "HTTPRoute"
@@ -21,33 +19,38 @@ _ROUTE = "HTTPRoute"
 @dataclass(frozen=True, slots=True)
 class _Case:
     """A route and its Gateway."""
 
-    route: Route
+    route: PlannedRoute
     gateway: LiveGateway
-    at: Path
-    """Path of the key that sets the Gateway in the configuration."""
     labels: Mapping[str, str] | Unknown
     """Labels of the route's namespace."""
+    mode: Mode
 
+    @property
+    def ref(self) -> GatewayRef:
+        """The Gateway."""
+        return self.gateway.ref
 
-def listeners(
-    routes: Iterable[Route], needs: Needs, facts: ClusterFacts, owners: Owners, mode: Mode
-) -> Iterator[Problem]:
+    def problem(self, key: str, what: str, remedy: str) -> Problem:
+        """Return a problem of a key of the Gateway in the configuration; an empty key is the Gateway itself."""
+        path = Path(*self.route.gateway_at, *filter(None, (key,)))
+        return Problem(path, what, remedy, severity=SEVERITIES[self.mode])
+
+
+def judge(routes: Iterable[PlannedRoute], needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
     """Yield a problem for every route that no listener of its Gateway takes.
 
     A Gateway that does not exist or could not be read is skipped here. Other checks report it.
     """
     if mode == "skip" or isinstance(facts.gateways, Unknown):
         return
     gateways = {gateway.ref: gateway for gateway in facts.gateways.gateways}
     for route in routes:
-        gateway = gateways.get(collisions.reference(route).gateway)
-        if gateway is None or not gateway.listeners:
-            continue
-        found = _namespace_labels(route.namespace, needs, facts)
-        for at, what, remedy in _verdict(_Case(route, gateway, owners.gateway(route.key), found)):
-            yield Problem(at, what, remedy, severity=SEVERITIES[mode]) if remedy else warning(at, what)
+        gateway = gateways.get(request_claims.reference(route).gateway)
+        if gateway is not None and gateway.listeners:
+            namespace_labels = _namespace_labels(route.namespace, needs, facts)
+            yield from _verdict(_Case(route, gateway, namespace_labels, mode))
 
 
 def _namespace_labels(name: str, needs: Needs, facts: ClusterFacts) -> Mapping[str, str] | Unknown:
     """Return the labels of a namespace. If this run creates the namespace, return the labels that it will have."""
@@ -55,81 +58,90 @@ def _namespace_labels(name: str, needs: Needs, facts: ClusterFacts) -> Mapping[s
         return facts.namespaces
     live = facts.namespaces.namespaces.get(name)
     if live is not None:
         return live.labels
-    made = {**labels.PART_OF, **labels.POD_SECURITY} if name in needs.created else {}
-    return {**made, "kubernetes.io/metadata.name": name}
-
-
-def _verdict(case: _Case) -> Iterator[tuple[Path, str, str]]:
-    """Yield the first reason why no listener takes a route: path, what is wrong, and a remedy.
-
-    If the remedy is empty, the reason is a check that did not run, and a warning is enough.
-    """
-    parent, ref, found = case.route.parent, case.gateway.ref, case.gateway.listeners
-    selected = [each for each in found if parent.section_name in {None, each.name}]
-    if not selected:
-        names = ", ".join(sorted(each.name for each in found))
-        what = f"is no listener of Gateway {ref} ({parent.section_name})"
-        yield case.at / "sectionName", what, f"write one of {names}"
-        return
-    ports = sorted({each.port for each in selected})
-    selected = [each for each in selected if parent.port in {None, each.port}]
-    if not selected:
-        what = f"no listener of Gateway {ref} has this port ({parent.port})"
-        yield case.at / "port", what, f"write one of {', '.join(map(str, ports))}"
-        return
-    selected = [each for each in selected if _ROUTE in each.kinds or (not each.kinds and each.protocol in _HTTP)]
-    if not selected:
-        yield case.at, f"no selected listener of Gateway {ref} admits HTTPRoutes", "select another listener"
-        return
-    yield from _namespace_verdict(case, ref, selected)
-
-
-def _namespace_verdict(case: _Case, ref: GatewayRef, selected: list[Listener]) -> Iterator[tuple[Path, str, str]]:
+    own_labels = {"kubernetes.io/metadata.name": name}
+    if name in needs.created:
+        own_labels = {**labels.PART_OF, **labels.POD_SECURITY, **own_labels}
+    return own_labels
+
+
+def _verdict(case: _Case) -> Iterator[Problem]:
+    """Yield the first reason why no listener takes a route."""
+    parent = case.route.parent
+    listeners = case.gateway.listeners
+    by_name = [listener for listener in listeners if parent.section_name in {None, listener.name}]
+    by_port = [listener for listener in by_name if parent.port in {None, listener.port}]
+    takers = [listener for listener in by_port if _takes_routes(listener)]
+    if not by_name:
+        names = ", ".join(sorted(listener.name for listener in listeners))
+        what = f"is no listener of Gateway {case.ref} ({parent.section_name})"
+        yield case.problem("sectionName", what, f"write one of {names}")
+    elif not by_port:
+        ports = ", ".join(map(str, sorted({listener.port for listener in by_name})))
+        what = f"no listener of Gateway {case.ref} has this port ({parent.port})"
+        yield case.problem("port", what, f"write one of {ports}")
+    elif not takers:
+        what = f"no selected listener of Gateway {case.ref} admits HTTPRoutes"
+        yield case.problem("", what, "select another listener")
+    else:
+        yield from _namespace_verdict(case, takers)
+
+
+def _takes_routes(listener: Listener) -> bool:
+    """Tell whether a listener takes HTTPRoutes."""
+    return _ROUTE in listener.kinds or (not listener.kinds and listener.protocol in _HTTP)
+
+
+def _namespace_verdict(case: _Case, listeners: list[Listener]) -> Iterator[Problem]:
     namespace = case.route.namespace
-    admitted = {each.name: _admits(each, case) for each in selected}
-    if not any(admitted.values()):
-        if isinstance(case.labels, Unknown) and None in admitted.values():
-            what = f"whether Gateway {ref} admits routes of namespace {namespace} went unchecked: {case.labels.reason}"
-            yield case.at, what, ""
-            return
-        sources = ", ".join(f"{each.name}: {each.namespaces}" for each in selected)
-        what = f"no selected listener of Gateway {ref} admits routes of namespace {namespace} ({sources})"
+    admitted = {listener.name: _admits(listener, case) for listener in listeners}
+    if any(admitted.values()):
+        yield from _host_verdict(case, [listener for listener in listeners if admitted[listener.name] is not False])
+    elif isinstance(case.labels, Unknown) and None in admitted.values():
+        check = f"whether Gateway {case.ref} admits routes of namespace {namespace}"
+        yield gap(case.route.gateway_at, check, case.labels.reason)
+    else:
+        sources = ", ".join(f"{listener.name}: {listener.namespaces}" for listener in listeners)
+        what = f"no selected listener of Gateway {case.ref} admits routes of namespace {namespace} ({sources})"
         remedy = "let allowedRoutes.namespaces of a listener admit the namespace, or name another gateway"
-        yield case.at, what, remedy
-        return
-    yield from _host_verdict(case, ref, [each for each in selected if admitted[each.name] is not False])
+        yield case.problem("", what, remedy)
 
 
 def _admits(listener: Listener, case: _Case) -> bool | None:
     """Tell whether a listener admits the route's namespace. None if this depends on labels that are unknown."""
     match listener.namespaces:
         case value if value == EVERY:
             return True
         case value if value == SAME:
-            return case.route.namespace == case.gateway.ref.namespace
+            return case.route.namespace == case.ref.namespace
         case value if value == SELECTED:
-            if isinstance(case.labels, Unknown):
+            namespace_labels = case.labels
+            if isinstance(namespace_labels, Unknown):
                 return None
-            found = case.labels
-            return all(requirement.admits(found) for requirement in listener.selector)
+            return all(requirement.admits(namespace_labels) for requirement in listener.selector)
         case _:
             return False
 
 
-def _host_verdict(case: _Case, ref: GatewayRef, selected: list[Listener]) -> Iterator[tuple[Path, str, str]]:
-    hosts = [each.hostname for each in selected if each.hostname is not None]
-    if not case.route.hostnames or len(hosts) < len(selected):
+def _host_verdict(case: _Case, listeners: list[Listener]) -> Iterator[Problem]:
+    """Yield a problem if no listener takes the hosts of a route. A listener without a host takes every host."""
+    hosts = [listener.hostname for listener in listeners if listener.hostname is not None]
+    if not case.route.hostnames or len(hosts) < len(listeners):
         return
     if not any(_meet(host, listened) for host in case.route.hostnames for listened in hosts):
-        what = f"no listener of Gateway {ref} takes these hosts ({', '.join(case.route.hostnames)})"
+        what = f"no listener of Gateway {case.ref} takes these hosts ({', '.join(case.route.hostnames)})"
         at = Path("services", case.route.key, "route", "hostnames")
-        yield at, what, f"write hosts of its listeners: {', '.join(sorted(set(hosts)))}"
+        remedy = f"write hosts of its listeners: {', '.join(sorted(set(hosts)))}"
+        yield Problem(at, what, remedy, severity=SEVERITIES[case.mode])
 
 
 def _meet(first: str, second: str) -> bool:
     """Tell whether some host name matches both patterns. A wildcard stands for one or more DNS labels."""
-    first, second = first.lower(), second.lower()
-    return first == second or any(
-        wide.startswith("*.") and narrow.endswith(wide[1:]) for wide, narrow in ((first, second), (second, first))
-    )
+    first = first.lower()
+    second = second.lower()
+    return first == second or _is_above(first, second) or _is_above(second, first)
+
+
+def _is_above(wide: str, narrow: str) -> bool:
+    """Tell whether a pattern is a wildcard that matches another one."""
+    return wide.startswith("*.") and narrow.endswith(wide[1:])
diff --git a/judging/preflight/metering.py b/judging/preflight/metering.py
new file mode 100644
index 00000000..0a0d6257
--- /dev/null
+++ b/judging/preflight/metering.py
@@ -0,0 +1,80 @@
+"""Checks that the interceptor finds exactly one Service for each resource id.
+
+`unresolved_ids` searches the planned Services. `metering` compares these Services with the Services of the cluster.
+"""
+
+from collections.abc import Iterable, Iterator, Mapping
+from typing import Any
+
+from models.problems import SEVERITIES, Mode, Problem, warning
+from planning.ground import labels
+from planning.ground.cluster_facts import ClusterFacts, Unknown
+from planning.ground.inventory import MeteredService
+from planning.ground.marks import Identity, Verdict
+from planning.interceptor.resolution import Unresolved, resolve
+from planning.plans import ServicePlan, StackPlan
+
+_TWO = "the interceptor would find two Services and answer 404"
+
+
+def unresolved_ids(plan: StackPlan, services: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
+    """Yield an error for each resource id that the interceptor cannot resolve. `services` are the rendered Services."""
+    by_id = dict[str, list[Mapping[str, Any]]]()
+    for service in services:
+        identifier = service["metadata"].get("labels", {}).get(labels.RESOURCE_ID)
+        if identifier is not None:
+            by_id.setdefault(identifier, []).append(service)
+    for service in plan.services:
+        primary = service.primary
+        if primary.search_id is None:
+            continue
+        address = resolve(by_id.get(primary.search_id, ()), primary.search_id, primary.names.namespace)
+        if isinstance(address, Unresolved):
+            yield Problem(primary.path / "interceptor", f"leads to 404: {address.value} ({primary.search_id})")
+
+
+def metering(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
+    """Yield a problem for each Service of the cluster that has a planned Service's resource id, but another name."""
+    if mode == "skip" or isinstance(facts.metered, Unknown):
+        return
+    holders = dict[tuple[str, str], list[MeteredService]]()
+    for service in facts.metered.metered:
+        if service.is_found:
+            holders.setdefault((service.namespace, service.resource_id), []).append(service)
+    for service in plan.services:
+        names = service.primary.names
+        identifier = service.primary.search_id
+        for holder in holders.get((names.namespace, identifier), ()) if identifier is not None else ():
+            if holder.name != names.base:
+                yield from _duplicate_problems(service, holder, plan.identity, mode)
+
+
+def _duplicate_problems(
+    service: ServicePlan, holder: MeteredService, identity: Identity, mode: Mode
+) -> Iterator[Problem]:
+    """Yield the problem of a resource id that another Service has.
+
+    If only the name of a service changes, the run deletes the old Service before it creates the new Service, but the
+    interceptor keeps the address of the old one (`cachePositiveTTL`, 5 minutes by default; internal/registry of phoebe
+    ae059e9). If the service's key changes, the run deletes the old Service only at the end. Until then, two Services
+    have the id.
+    """
+    at = service.primary.path / "interceptor" / "resourceId"
+    place = f"Service {holder.namespace}/{holder.name}"
+    is_ours = identity.verdict(holder.mark) is Verdict.OURS
+    if is_ours and holder.key == service.key:
+        what = f"gets a Service of another name than {place}, whose address the interceptor keeps for up to 5 minutes"
+        remedy = "keep the name, or restart the interceptor's pods after the run; until then requests are answered 502"
+        yield warning(service.primary.path, what, remedy)
+        return
+    if is_ours:
+        until = f"which is deleted only after the new Service exists: {_TWO}"
+        what = f"is also the id of {place}, {until} ({holder.resource_id})"
+        remedy = "first deploy with another id; deploy with this id when the old Service is gone"
+    else:
+        whose = "somebody else"
+        if holder.mark.owner is not None:
+            whose = f"stack {holder.mark.owner}"
+        what = f"is also the id of {place} of {whose}: {_TWO} ({holder.resource_id})"
+        remedy = "choose another id"
+    yield Problem(at, what, remedy, severity=SEVERITIES[mode])
diff --git a/judging/preflight/namespaces.py b/judging/preflight/namespaces.py
new file mode 100644
index 00000000..22c4c0c4
--- /dev/null
+++ b/judging/preflight/namespaces.py
@@ -0,0 +1,68 @@
+"""Checks of namespaces: whether they exist, and whether those that a stack creates belong to somebody else."""
+
+from collections.abc import Iterator, Mapping
+
+from models.paths import Path
+from models.problems import SEVERITIES, Mode, Problem, warning
+from planning.ground import marks
+from planning.ground.cluster_facts import ClusterFacts, Unknown
+from planning.ground.inventory import LiveNamespace
+from planning.ground.marks import Identity, Verdict
+from planning.ground.needs import Needs
+
+_CREATE = Path("namespaceOptions", "create")
+
+
+def judge(
+    needs: Needs, facts: ClusterFacts, origins: Mapping[str, Path], identity: Identity, mode: Mode
+) -> Iterator[Problem]:
+    """Yield a problem for every namespace that is missing, is being deleted, or would be created but belongs to others.
+
+    Creating a namespace of others is a problem because the Kubernetes provider would take over the existing
+    namespace. A later `destroy` would then delete this namespace and all objects in it. `origins` has the path of each
+    namespace's name in the configuration.
+    """
+    if mode == "skip" or isinstance(facts.namespaces, Unknown):
+        return
+    for name in sorted(needs.namespaces):
+        live = facts.namespaces.namespaces.get(name)
+        if live is None:
+            verdict = _missing(name, needs, origins)
+        else:
+            verdict = _verdict(name, live, needs, origins, identity)
+        if verdict is not None:
+            yield Problem(*verdict, severity=SEVERITIES[mode])
+        elif live is not None and name in needs.created and _read(live, identity) is Verdict.UNMARKED:
+            what = f"namespace {name} exists without the mark of a stack; this run takes it over"
+            yield warning(_CREATE, what, "if it belongs to another stack, write create: false")
+
+
+def _missing(name: str, needs: Needs, origins: Mapping[str, Path]) -> tuple[Path, str, str] | None:
+    if name in needs.created:
+        return None
+    remedy = "create it, or write namespaceOptions: {create: true}"
+    return origins[name], f"the cluster has no namespace of this name ({name})", remedy
+
+
+def _verdict(
+    name: str, live: LiveNamespace, needs: Needs, origins: Mapping[str, Path], identity: Identity
+) -> tuple[Path, str, str] | None:
+    if live.terminating:
+        what = f"this namespace is being deleted ({name})"
+        return origins[name], what, "wait until it is gone"
+    if name not in needs.created or _read(live, identity) in {Verdict.OURS, Verdict.UNMARKED}:
+        return None
+    owner = marks.read(_metadata(live)).owner
+    whose = "somebody else"
+    if owner is not None:
+        whose = f"stack {owner}"
+    what = f"namespace {name} belongs to {whose}; destroying this stack would delete it and all its objects"
+    return _CREATE, what, "write create: false, or choose another namespace"
+
+
+def _read(live: LiveNamespace, identity: Identity) -> Verdict:
+    return identity.verdict(marks.read(_metadata(live)))
+
+
+def _metadata(live: LiveNamespace) -> Mapping[str, Mapping[str, str]]:
+    return {"labels": live.labels, "annotations": live.annotations}
diff --git a/judging/preflight/nodes.py b/judging/preflight/nodes.py
new file mode 100644
index 00000000..8a2301ec
--- /dev/null
+++ b/judging/preflight/nodes.py
@@ -0,0 +1,41 @@
+"""Check whether a cluster has nodes on which the pods of each role may run."""
+
+from collections.abc import Iterator
+
+from models.problems import Mode, Problem, warning
+from planning.ground.cluster_facts import ClusterFacts, Unknown
+from planning.hardware import nodes as fleet
+from planning.hardware.nodes import ClassNode
+from planning.plans import StackPlan
+from planning.serving.workload import Workload
+
+_MOST_NAMES = 6
+"""Maximum number of nodes that a message lists."""
+
+
+def judge(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
+    """Yield a warning for every role that has no node for its pods.
+
+    A lack of nodes is never an error, because nodes may join while pods wait.
+    """
+    if mode == "skip":
+        return
+    for service in plan.services:
+        for workload in service.workloads:
+            takers = fleet.of_class(workload.accelerator, workload.placement, facts)
+            if not isinstance(takers, Unknown):
+                yield from _verdict(workload, takers)
+
+
+def _verdict(workload: Workload, takers: tuple[ClassNode, ...]) -> Iterator[Problem]:
+    at = workload.path / "accelerator"
+    devices = workload.layout.chips_per_pod
+    large = [node for node in takers if node.allocatable >= devices]
+    if not takers:
+        yield warning(at, "no node has the labels and devices of this class, and pods wait until such a node joins")
+    elif not large:
+        largest = max(node.allocatable for node in takers)
+        yield warning(at, f"a pod takes {devices} devices, and no node of this class has more than {largest}")
+    elif all(node.obstacles for node in large):
+        listed = ", ".join(f"{node.name}: {', '.join(node.obstacles)}" for node in large[:_MOST_NAMES])
+        yield warning(at, f"no node of this class takes pods ({listed})")
diff --git a/planning/preflight/references.py b/judging/preflight/references.py
similarity index 49%
rename from planning/preflight/references.py
rename to judging/preflight/references.py
index 589998ef..d0ba2f50 100644
--- a/planning/preflight/references.py
+++ b/judging/preflight/references.py
@@ -1,46 +1,39 @@
 """Checks of references from pods and claims: whether their StorageClasses, PriorityClasses and Secrets exist."""
 
 from collections.abc import Collection, Iterator, Mapping
 
-from models.problems import Problem, warning
+from models.problems import SEVERITIES, Mode, Problem, warning
 from planning.ground.cluster_facts import ClusterFacts, Unknown
-from planning.ground.needs import Needs, Reference
-from planning.preflight.owners import Owners
-from planning.preflight.severity import SEVERITIES, Mode
+from planning.ground.needs import NameReference, Needs
 
-_SECRETS = (
-    *("secrets", "secretKeyRef", "imagePullSecrets", "secret", "caSecret", "certificate"),
-    *("secretName", "secretRef"),
-)
-"""Keys whose values are names of Secrets, or contain names of Secrets at any depth."""
 _MOST_NAMES = 6
 """Maximum number of classes that a message lists."""
 
 
-def classes(needs: Needs, facts: ClusterFacts, owners: Owners, mode: Mode) -> Iterator[Problem]:
+def classes(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
     """Yield a problem for every StorageClass and PriorityClass that the stack needs and the cluster does not have.
 
     A claim is never bound while its StorageClass is missing. Pods are refused while their PriorityClass is missing.
     """
     if mode == "skip":
         return
     if not isinstance(facts.storage_classes, Unknown):
-        found = facts.storage_classes.storage_classes
+        by_name = facts.storage_classes.storage_classes
         for reference in needs.storage_classes:
             if reference.name:
-                yield from _missing("StorageClass", reference, found, owners, mode)
-            elif not any(found.values()):
+                yield from _missing("StorageClass", reference, by_name, mode)
+            elif not any(by_name.values()):
                 what = "takes the default StorageClass, but the cluster has none"
-                remedy = f"set storageClassName to {_alternatives(found)}"
-                yield Problem(owners.storage(reference.owner), what, remedy, severity=SEVERITIES[mode])
+                remedy = f"set storageClassName to {_alternatives(by_name)}"
+                yield Problem(reference.origin, what, remedy, severity=SEVERITIES[mode])
     if not isinstance(facts.priority_classes, Unknown):
         for reference in needs.priority_classes:
-            found = facts.priority_classes.priority_classes
-            yield from _missing("PriorityClass", reference, found, owners, mode)
+            by_name = facts.priority_classes.priority_classes
+            yield from _missing("PriorityClass", reference, by_name, mode)
 
 
-def secrets(needs: Needs, facts: ClusterFacts, owners: Owners, mode: Mode) -> Iterator[Problem]:
+def secrets(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
     """Yield a warning for every Secret that pods need and the cluster does not have.
 
     A missing Secret is never an error: somebody may create the Secret while pods wait, or after this run creates the
     namespace.
@@ -50,19 +43,23 @@ def secrets(needs: Needs, facts: ClusterFacts, owners: Owners, mode: Mode) -> It
         return
     for reference in needs.secrets:
         if (reference.namespace, reference.name) not in facts.secrets.secrets:
             what = f"namespace {reference.namespace} has no Secret of this name, and pods wait until the Secret exists"
-            yield warning(owners.locate(reference, _SECRETS), what, "create it, or correct its name")
+            yield warning(reference.origin, what, "create it, or correct its name")
 
 
-def _missing(kind: str, reference: Reference, found: Collection[str], owners: Owners, mode: Mode) -> Iterator[Problem]:
-    if reference.name not in found:
-        at = owners.locate(reference, [f"{kind[0].lower()}{kind[1:]}Name"])
+def _missing(kind: str, reference: NameReference, by_name: Collection[str], mode: Mode) -> Iterator[Problem]:
+    if reference.name not in by_name:
         what = f"the cluster has no {kind} of this name ({reference.name})"
-        yield Problem(at, what, f"create it, or write {_alternatives(found)}", severity=SEVERITIES[mode])
+        remedy = f"create it, or write {_alternatives(by_name)}"
+        yield Problem(reference.origin, what, remedy, severity=SEVERITIES[mode])
 
 
-def _alternatives(found: Collection[str] | Mapping[str, object]) -> str:
+def _alternatives(by_name: Collection[str] | Mapping[str, object]) -> str:
     """Return the names that a user can write, as text."""
-    names = sorted(found)
-    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
-    return f"one of {', '.join(names[:_MOST_NAMES])}{more}" if names else "the name of a class that you create"
+    names = sorted(by_name)
+    more = ""
+    if len(names) > _MOST_NAMES:
+        more = f" and {len(names) - _MOST_NAMES} more"
+    if names:
+        return f"one of {', '.join(names[:_MOST_NAMES])}{more}"
+    return "the name of a class that you create"
diff --git a/judging/preflight/unread_facts.py b/judging/preflight/unread_facts.py
new file mode 100644
index 00000000..01ab5097
--- /dev/null
+++ b/judging/preflight/unread_facts.py
@@ -0,0 +1,46 @@
+"""Warnings about checks that did not run, because facts could not be read."""
+
+from collections.abc import Iterator
+
+from models.paths import Path
+from models.problems import Mode, Problem, gap
+from planning.ground.cluster_facts import ClusterFacts, Unknown
+from planning.ground.needs import Needs
+
+
+def judge(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
+    """Yield one warning for each reason why facts are unknown. The warning lists the checks that did not run."""
+    if mode == "skip":
+        return
+    by_reason = dict[str, list[str]]()
+    for part, what in _subjects(needs):
+        fact = getattr(facts, part)
+        if isinstance(fact, Unknown):
+            by_reason.setdefault(fact.reason, []).append(what)
+    for reason, subjects in by_reason.items():
+        yield gap(Path(), ", ".join(subjects), reason)
+
+
+def _subjects(needs: Needs) -> Iterator[tuple[str, str]]:
+    """Yield two texts for each need of a stack: the name of a field of `ClusterFacts`, and words for the objects."""
+    if needs.namespaces:
+        yield "namespaces", f"namespaces ({', '.join(sorted(needs.namespaces))})"
+    if needs.gateways:
+        yield "gateways", f"listeners of {', '.join(sorted(map(str, needs.gateways)))}"
+    if needs.secrets:
+        namespaces = ", ".join(sorted({reference.namespace for reference in needs.secrets}))
+        yield "secrets", f"Secrets of pods ({len(needs.secrets)} in {namespaces})"
+    if needs.metered:
+        yield "metered", f"other metered Services ({', '.join(sorted(needs.metered))})"
+    if needs.storage_classes:
+        names = sorted({reference.name or "the default" for reference in needs.storage_classes})
+        yield "storage_classes", f"StorageClasses ({', '.join(names)})"
+    if needs.priority_classes:
+        names = sorted({reference.name for reference in needs.priority_classes})
+        yield "priority_classes", f"PriorityClasses ({', '.join(names)})"
+    if needs.nodes:
+        yield "nodes", "nodes"
+    if needs.quotas:
+        yield "quotas", f"quotas of {', '.join(sorted(needs.quotas))}"
+    if needs.slices:
+        yield "slices", "devices of nodes (ResourceSlices)"
diff --git a/judging/report/__init__.py b/judging/report/__init__.py
new file mode 100644
index 00000000..7528ac3b
--- /dev/null
+++ b/judging/report/__init__.py
@@ -0,0 +1 @@
+"""The report on a change: the devices that it needs, what happens to requests meanwhile, and what it costs."""
diff --git a/judging/report/affinity.py b/judging/report/affinity.py
new file mode 100644
index 00000000..b21c9200
--- /dev/null
+++ b/judging/report/affinity.py
@@ -0,0 +1,59 @@
+"""Demands of pods on nodes, besides the accelerator class: node affinity, and demands left to the scheduler."""
+
+from collections.abc import Iterator, Mapping
+from typing import Any
+
+from models.trees import EMPTY
+from planning.ground.inventory import Requirement
+from planning.hardware.placement import REQUIRED, Placement
+
+
+def admits(affinity: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
+    """Tell whether a node's labels meet a required node affinity: all conditions of at least one of its terms.
+
+    Source: Kubernetes API, NodeSelector. A term without conditions matches no node. Conditions in `matchFields`
+    count as met.
+    """
+    required = (affinity.get("nodeAffinity") or EMPTY).get(REQUIRED)
+    if not required:
+        return True
+    return any(_meets(term, labels) for term in required.get("nodeSelectorTerms", ()))
+
+
+def _meets(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
+    expressions = term.get("matchExpressions") or ()
+    return bool(expressions or term.get("matchFields")) and all(
+        _holds(expression, labels) for expression in expressions
+    )
+
+
+def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
+    key = expression["key"]
+    operator = expression["operator"]
+    values = tuple(expression.get("values") or ())
+    if operator not in {"Gt", "Lt"}:
+        return Requirement(key, operator, values).admits(labels)
+    value = labels.get(key, "")
+    if not value.lstrip("-").isdigit() or len(values) != 1 or not str(values[0]).lstrip("-").isdigit():
+        return False
+    if operator == "Gt":
+        return int(value) > int(values[0])
+    return int(value) < int(values[0])
+
+
+def further_demands(placement: Placement) -> tuple[str, ...]:
+    """Return the names of a placement's demands that only the scheduler evaluates, such as `podAffinity`."""
+    return tuple(_further_demands(placement))
+
+
+def _further_demands(placement: Placement) -> Iterator[str]:
+    for name in ("podAffinity", "podAntiAffinity"):
+        if (placement.affinity.get(name) or EMPTY).get(REQUIRED):
+            yield name
+    if any(
+        constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
+        for constraint in placement.topology_spread
+    ):
+        yield "topologySpreadConstraints"
+    if placement.scheduler is not None:
+        yield f"scheduler {placement.scheduler}"
diff --git a/judging/report/bill.py b/judging/report/bill.py
new file mode 100644
index 00000000..cfeb74dc
--- /dev/null
+++ b/judging/report/bill.py
@@ -0,0 +1,35 @@
+"""Costs of the devices of a plan, and shares of services in budgets."""
+
+from collections.abc import Iterator
+
+from models.money import Prices
+from models.stack import Stack
+from planning import money
+from planning.money import Cost, DeviceRange, Usage
+from planning.plans import ServicePlan, StackPlan
+
+
+def devices(service: ServicePlan) -> tuple[DeviceRange, ...]:
+    """Return the devices of all roles of a service, including the roles of its canary."""
+    of_roles = list[DeviceRange]()
+    for variant in service.variants:
+        for workload in variant.workloads:
+            per_replica = workload.layout.devices_per_pod * workload.layout.pods_per_replica
+            scaler = workload.autoscaler
+            high = workload.max_replicas
+            low = high
+            if scaler is not None:
+                low = scaler.min_replicas
+            if per_replica * high:
+                of_roles.append(DeviceRange(variant.accelerators[workload.role], per_replica * low, per_replica * high))
+    return tuple(of_roles)
+
+
+def cost(plan: StackPlan, prices: Prices) -> Cost:
+    """Return the monthly cost of all devices of a stack."""
+    return money.cost((of_role for service in plan.services for of_role in devices(service)), prices)
+
+
+def usages(stack: Stack, plan: StackPlan) -> Iterator[Usage]:
+    """Yield every budget of a stack, with the shares of the services that count against this budget."""
+    return money.usages(stack, {service.key: devices(service) for service in plan.services})
diff --git a/judging/report/capacity.py b/judging/report/capacity.py
new file mode 100644
index 00000000..152bafe2
--- /dev/null
+++ b/judging/report/capacity.py
@@ -0,0 +1,351 @@
+"""Capacity: whether nodes and quotas have the devices that a change needs at its worst moment.
+
+At the worst moment, all workloads change at the same time: all additional pods need places while all old pods still
+run. Free devices are devices that no pod has requested.
+"""
+
+from collections.abc import Iterable, Iterator, Mapping, Sequence
+from dataclasses import dataclass
+
+from judging.report import affinity
+from judging.report.growth import NOTHING, Change, Range
+from judging.report.packing import PodGroup, Tightness, pack
+from judging.report.running import RunningPods
+from models.accelerators import ExtendedResource, ResourceClaim
+from models.vocabulary import amount
+from planning.ground.cluster_facts import ClusterFacts, Place, Unknown
+from planning.ground.inventory import LiveNode, Quota
+from planning.hardware import nodes as fleet
+from planning.hardware.nodes import ClassNode
+
+_REQUESTS = "requests."
+"""Prefix of extended resources in a quota, as `requests.nvidia.com/gpu` (Kubernetes documentation, Resource Quotas)."""
+
+
+_Nodes = tuple[ClassNode, ...] | Unknown
+"""The nodes that take the pods of a workload, or the reason why these nodes are unknown."""
+
+
+@dataclass(frozen=True, slots=True)
+class Lack:
+    """A quota that additional pods exceed."""
+
+    namespace: str
+    quota: str
+    resource: str
+    hard: int
+    used: int
+    additional: Range
+
+    @property
+    def verdict(self) -> Tightness:
+        """Return `SHORT` if even the smallest numbers of replicas need more than the quota has left, else `TIGHT`."""
+        if self.used + self.additional.low > self.hard:
+            return Tightness.SHORT
+        return Tightness.TIGHT
+
+
+@dataclass(frozen=True, slots=True)
+class ClassCapacity:
+    """Devices of one accelerator class, before, during and after a change."""
+
+    accelerator: str
+    before: Range
+    after: Range
+    peak: Range
+    """Devices that are requested at the worst moment."""
+    free: int | None
+    """Devices that no pod has requested, on nodes that take the pods; None if their number is unknown."""
+    nodes: int | None
+    """Number of nodes that take the pods; None if the nodes, or the devices requested on them, are unknown."""
+    is_provisioned: bool
+    """Whether nodes of the class are made on demand."""
+
+
+@dataclass(frozen=True, slots=True)
+class DeviceCapacity:
+    """PodGroup that need devices of one kind, such as `nvidia.com/gpu`, which several classes may share."""
+
+    resource: str
+    """Name of the extended resource, or of the device class."""
+    classes: tuple[str, ...]
+    """Accelerator classes of the pods."""
+    low: Tightness
+    """Whether the smallest numbers of replicas fit the nodes, according to the cluster facts."""
+    high: Tightness
+    """Whether the largest numbers of replicas fit the nodes."""
+    is_certain: bool
+    """Whether the verdicts are certain: other pods' devices are known, and no demand is left to the scheduler."""
+    additional: Range
+    """Devices that are needed in addition to the devices of running pods."""
+    has_nodes: bool
+    """Whether any node takes any of the pods."""
+    free: int
+    """Devices that no pod has requested, on nodes that take the pods."""
+    places: Mapping[str, Sequence[tuple[str, int]]]
+    """Placed pods by node: workload and number of devices of each pod."""
+    changes: tuple[Change, ...]
+    """The workloads that need additional pods."""
+
+
+@dataclass(frozen=True, slots=True)
+class Capacity:
+    """The devices of a change."""
+
+    classes: tuple[ClassCapacity, ...]
+    devices: tuple[DeviceCapacity, ...]
+    """Kinds of devices of which the change needs more. Kinds whose nodes are unknown are left out."""
+    lacks: tuple[Lack, ...]
+    """Quotas that are exceeded."""
+    unchecked: tuple[str, ...]
+    """Checks that could not be made, with the reason."""
+
+
+def of_changes(changes: Sequence[Change], gone: Sequence[RunningPods], facts: ClusterFacts) -> Capacity:
+    """Return the capacity for the changes of workloads.
+
+    The workloads in `gone` end, but only when the workloads in `changes` are ready.
+    """
+    with_devices = [change for change in changes if change.has_devices]
+    starting = [change for change in changes if change.additional.high]
+    growing = [change for change in starting if change.devices_per_replica]
+    counted = [change for change in growing if not change.workload.accelerator.provisioned]
+    fleet_takers = _Takers(facts)
+    takers = {change.place: fleet_takers.of(change) for change in counted}
+    return Capacity(
+        classes=tuple(_classes(with_devices, gone, fleet_takers)),
+        devices=tuple(_devices(resource, group, takers) for (resource, _), group in _groups(counted, takers).items()),
+        lacks=tuple(_lacks(starting, facts)),
+        unchecked=tuple(dict.fromkeys((*_unread(growing, takers, facts), *_unevaluated_demands(growing)))),
+    )
+
+
+def _groups(changes: Iterable[Change], takers: Mapping[Place, _Nodes]) -> dict[tuple[str, bool], list[Change]]:
+    """Return the changes whose nodes are known, grouped by resource, and by whether any node takes the pods."""
+    groups = dict[tuple[str, bool], list[Change]]()
+    for change in changes:
+        nodes = takers[change.place]
+        if not isinstance(nodes, Unknown):
+            groups.setdefault((_resource(change), bool(nodes)), []).append(change)
+    return groups
+
+
+def _resource(change: Change) -> str:
+    match change.workload.accelerator.allocation:
+        case ExtendedResource(resource_name=name):
+            return name
+        case ResourceClaim(device_class_name=name):
+            return name
+        case None:
+            return ""
+
+
+def _devices(resource: str, changes: Sequence[Change], takers: Mapping[Place, _Nodes]) -> DeviceCapacity:
+    """Return whether the additional pods of workloads fit the nodes. All these workloads need the same resource."""
+    free = dict[str, int]()
+    names = dict[Place, frozenset[str]]()
+    is_certain = not any(affinity.further_demands(change.workload.placement) for change in changes)
+    for change in changes:
+        nodes = takers[change.place]
+        if isinstance(nodes, Unknown):
+            nodes = ()
+        names[change.place] = frozenset(node.name for node in nodes)
+        is_certain = is_certain and all(node.requested is not None for node in nodes)
+        free |= {node.name: max(0, node.allocatable - (node.requested or 0)) for node in nodes}
+    low = high = pack(free, _pods(changes, names, largest=False))
+    if any(change.additional.low != change.additional.high for change in changes):
+        high = pack(free, _pods(changes, names, largest=True))
+    additional = NOTHING
+    for change in changes:
+        additional = additional.plus(change.additional.times(change.devices_per_replica))
+    classes = tuple(dict.fromkeys(change.accelerator for change in changes))
+    return DeviceCapacity(
+        resource=resource,
+        classes=classes,
+        low=_lenient(low.verdict, changes),
+        high=_lenient(high.verdict, changes),
+        is_certain=is_certain,
+        has_nodes=any(names.values()),
+        additional=additional,
+        free=sum(free.values()),
+        places=low.places,
+        changes=tuple(changes),
+    )
+
+
+def _lenient(verdict: Tightness, changes: Iterable[Change]) -> Tightness:
+    """Return the verdict, or `TIGHT` in place of `SHORT` if new pods may get the devices of the pods that they replace.
+
+    Whether the new pods get these devices is uncertain, because the nodes of the replaced pods are unknown.
+    """
+    is_lacking = verdict is Tightness.SHORT
+    if is_lacking and any(change.may_inherit for change in changes):
+        return Tightness.TIGHT
+    return verdict
+
+
+class _Takers:
+    """The nodes that take pods, by accelerator class and placement. The nodes of each such pair are looked up once."""
+
+    def __init__(self, facts: ClusterFacts) -> None:
+        self._facts = facts
+        self._found = dict[tuple[str, str], _Nodes]()
+
+    def of(self, change: Change) -> _Nodes:
+        """Return the nodes that take the pods of a workload."""
+        key = change.accelerator, repr(change.workload.placement)
+        if key not in self._found:
+            self._found[key] = _nodes_for(change, self._facts)
+        return self._found[key]
+
+
+def _nodes_for(change: Change, facts: ClusterFacts) -> _Nodes:
+    """Return the nodes that take the pods of a workload."""
+    workload = change.workload
+    class_nodes = fleet.of_class(workload.accelerator, workload.placement, facts)
+    if isinstance(class_nodes, Unknown) or isinstance(facts.nodes, Unknown):
+        if isinstance(facts.nodes, Unknown):
+            return facts.nodes
+        return class_nodes
+    labels: Mapping[str, LiveNode] = {node.name: node for node in facts.nodes.nodes}
+    return tuple(
+        node
+        for node in class_nodes
+        if not node.obstacles and affinity.admits(workload.placement.affinity, labels[node.name].labels)
+    )
+
+
+def _pods(changes: Iterable[Change], takers: Mapping[Place, frozenset[str]], *, largest: bool) -> Iterator[PodGroup]:
+    for change in changes:
+        if largest:
+            replicas = change.additional.high
+        else:
+            replicas = change.additional.low
+        layout = change.workload.layout
+        name = change.workload.name
+        yield PodGroup(name, layout.chips_per_pod, replicas * layout.pods_per_replica, takers[change.place])
+
+
+def _classes(changes: Sequence[Change], gone: Sequence[RunningPods], takers: _Takers) -> Iterator[ClassCapacity]:
+    before = dict[str, Range]()
+    after = dict[str, Range]()
+    peak = dict[str, Range]()
+
+    def add(table: dict[str, Range], name: str | None, number: Range) -> None:
+        if name is not None and number != NOTHING:
+            table[name] = table.get(name, NOTHING).plus(number)
+
+    for old in gone:
+        replicas = 1
+        if old.replicas is not None:
+            replicas = old.replicas
+        devices = Range(replicas, replicas).times(old.devices_per_pod * old.pods_per_replica)
+        add(before, old.accelerator, devices)
+        add(peak, old.accelerator, devices)
+    for change in changes:
+        present = _present(change)
+        old_class = None
+        if change.running is not None:
+            old_class = change.running.accelerator
+        add(before, old_class or change.accelerator, present)
+        add(after, change.accelerator, change.after.times(change.devices_per_replica))
+        for name, number in _peaks(change, present):
+            add(peak, name, number)
+    for name in sorted({*before, *after}):
+        nodes = _nodes(name, changes, takers)
+        yield ClassCapacity(
+            name,
+            before.get(name, NOTHING),
+            after.get(name, NOTHING),
+            peak.get(name, NOTHING),
+            _free(nodes),
+            None if nodes is None else len(nodes),
+            any(change.accelerator == name and change.workload.accelerator.provisioned for change in changes),
+        )
+
+
+def _present(change: Change) -> Range:
+    """Return the devices that the pods of a workload have before the change."""
+    old = change.running
+    if old is None:
+        return NOTHING
+    per_pod = old.devices_per_pod or change.workload.layout.chips_per_pod
+    return change.before.times(per_pod * old.pods_per_replica)
+
+
+def _peaks(change: Change, present: Range) -> Iterator[tuple[str | None, Range]]:
+    """Yield the accelerator classes of a workload, each with the workload's devices at the worst moment."""
+    old = change.running
+    if old is not None and change.is_reshaped:
+        yield old.accelerator, present
+        yield change.accelerator, change.after.times(change.devices_per_replica)
+        return
+    low = change.before.low + change.additional.low
+    high = max(low, change.before.low + change.additional.high)
+    yield change.accelerator, Range(low, high).times(change.devices_per_replica)
+
+
+def _nodes(name: str, changes: Iterable[Change], takers: _Takers) -> dict[str, int] | None:
+    """Return the number of free devices of each node that takes pods of a class; None if a number is unknown."""
+    free = dict[str, int]()
+    for change in changes:
+        if change.accelerator == name:
+            nodes = takers.of(change)
+            if isinstance(nodes, Unknown) or any(node.requested is None for node in nodes):
+                return None
+            free |= {node.name: max(0, node.allocatable - (node.requested or 0)) for node in nodes}
+    return free
+
+
+def _free(nodes: Mapping[str, int] | None) -> int | None:
+    if nodes is None:
+        return None
+    return sum(nodes.values())
+
+
+def _lacks(changes: Iterable[Change], facts: ClusterFacts) -> Iterator[Lack]:
+    """Yield the quotas, on devices or on pods, that a change exceeds. They make the API server refuse pods."""
+    if isinstance(facts.quotas, Unknown):
+        return
+    needed = dict[tuple[str, str], Range]()
+    for change in changes:
+        if isinstance(change.workload.accelerator.allocation, ExtendedResource):
+            key = change.place[2], f"{_REQUESTS}{_resource(change)}"
+            devices = change.additional.times(change.devices_per_replica)
+            needed[key] = needed.get(key, NOTHING).plus(devices)
+        key = (change.place[2], "pods")
+        pods = change.additional.times(change.workload.layout.pods_per_replica)
+        needed[key] = needed.get(key, NOTHING).plus(pods)
+    for quota in facts.quotas.quotas:
+        for (namespace, resource), additional in sorted(needed.items()):
+            if quota.namespace == namespace and resource in quota.hard:
+                hard, used = (_number(quota, resource, field) for field in ("hard", "used"))
+                if used + additional.high > hard:
+                    yield Lack(namespace, quota.name, resource, hard, used, additional)
+
+
+def _number(quota: Quota, resource: str, field: str) -> int:
+    return int(amount(getattr(quota, field).get(resource, "0")))
+
+
+def _unread(changes: Sequence[Change], takers: Mapping[Place, _Nodes], facts: ClusterFacts) -> Iterator[str]:
+    """Yield the unread facts on which the verdicts about additional pods depend, with the reasons."""
+    for change in changes:
+        nodes = takers.get(change.place, ())
+        if isinstance(nodes, Unknown):
+            yield f"nodes with {_resource(change)} ({nodes.reason})"
+    if changes and isinstance(facts.quotas, Unknown):
+        namespaces = ", ".join(sorted({change.place[2] for change in changes}))
+        yield f"quotas of {namespaces} ({facts.quotas.reason})"
+    if changes and isinstance(facts.requested, Unknown) and not isinstance(facts.nodes, Unknown):
+        yield f"devices that other pods have requested ({facts.requested.reason})"
+    if any(change.workload.device_claim for change in changes) and not isinstance(facts.slices, Unknown):
+        yield "devices that other pods have claimed (pods do not say which)"
+
+
+def _unevaluated_demands(changes: Iterable[Change]) -> Iterator[str]:
+    """Yield the demands of each workload's pods that only the scheduler evaluates."""
+    for change in changes:
+        parts = affinity.further_demands(change.workload.placement)
+        if parts:
+            yield f"{', '.join(parts)} of {change.workload.name} (not evaluated without the scheduler)"
diff --git a/judging/report/checks.py b/judging/report/checks.py
new file mode 100644
index 00000000..e7a36e10
--- /dev/null
+++ b/judging/report/checks.py
@@ -0,0 +1,169 @@
+"""Problems of capacity: a change needs more devices than nodes or quotas have. `checks.capacity` sets the severity."""
+
+from collections.abc import Iterable, Iterator, Mapping
+from dataclasses import dataclass, replace
+
+from judging.report import capacity, growth, running
+from judging.report.capacity import Capacity, DeviceCapacity, Lack
+from judging.report.growth import Change
+from judging.report.packing import Tightness
+from judging.report.running import RunningPods
+from models.paths import Path
+from models.problems import SEVERITIES, Mode, Problem, gap, warning
+from planning.ground.api_groups import DEPLOYMENT_API, LEADER_WORKER_SET_API
+from planning.ground.cluster_facts import ClusterFacts, LiveObject, LiveObjects, Place, Unknown
+from planning.ground.inventory import Quotas, Requested
+from planning.hardware.accelerators import AcceleratorClass
+from planning.plans import StackPlan
+
+_REFUSABLE = frozenset({f"{DEPLOYMENT_API}/Deployment", f"{LEADER_WORKER_SET_API}/LeaderWorkerSet"})
+"""Kinds of workloads. If the API server refuses to list any of these kinds, the running pods are unknown."""
+_MOST_NAMES = 6
+"""Maximum number of workloads that a message lists."""
+
+
+@dataclass(frozen=True, slots=True)
+class ClusterBefore:
+    """The cluster before a change, with the accelerator classes and pod templates of the changed stack."""
+
+    facts: ClusterFacts
+    live: LiveObjects | Unknown
+    """Objects in the cluster that this program made, or why they are unknown."""
+    classes: Mapping[str, AcceleratorClass]
+    """Accelerator classes of the stack by name."""
+    templates: Mapping[Place, object]
+    """Pod templates of the workloads after the change, by the workload's place in the cluster."""
+
+
+def judge(plan: StackPlan, before: ClusterBefore, mode: Mode) -> tuple[Problem, ...]:
+    """Return the problems of capacity of a stack.
+
+    If the running pods are unknown, a change is a problem only if it does not fit even into a cluster without pods.
+    """
+    facts = before.facts
+    live = before.live
+    if mode == "skip":
+        return ()
+    if isinstance(facts.nodes, Unknown):
+        unread = gap(Path(), "capacity of the nodes for this change", facts.nodes.reason)
+        if mode == "strict":
+            return (unread,)
+        return ()
+    if isinstance(live, Unknown) or _REFUSABLE & {*live.refused}:
+        needed = capacity.of_changes(growth.changes(plan, {}, {}), (), _idle(facts))
+        return tuple(_certain(needed, mode))
+    runs = of_cluster(plan, before.classes, live)
+    restarted = {place: _restarts(place, before.templates.get(place), live.objects[place]) for place in runs}
+    needed = capacity.of_changes(growth.changes(plan, runs, restarted), (), facts)
+    return (*_certain(needed, mode), *_uncertain(needed))
+
+
+def _restarts(place: Place, template: object, old: LiveObject) -> bool:
+    """Tell whether a change replaces a workload's pods: it does if fields of the pod template change or are removed."""
+    fields = (running.template_fields(place[1], fields) for fields in old.ours)
+    return not growth.is_contained(template, running.template(place[1], old.content)) or any(
+        growth.lacks(template, tree) for tree in fields
+    )
+
+
+def of_cluster(plan: StackPlan, classes: Mapping[str, AcceleratorClass], live: LiveObjects) -> dict[Place, RunningPods]:
+    """Return the running workloads of a stack, by their place in the cluster."""
+    runs_by_place = dict[Place, RunningPods]()
+    for service in plan.services:
+        for variant in service.variants:
+            for workload in variant.workloads:
+                place = growth.place(variant, workload)
+                old = live.objects.get(place)
+                if old is not None:
+                    planned = variant.accelerators[workload.role]
+                    runs = running.of_object(workload.kind, old.content, classes, planned)
+                    runs_by_place |= {} if runs is None else {place: runs}
+    return runs_by_place
+
+
+def _idle(facts: ClusterFacts) -> ClusterFacts:
+    """Return the facts of a cluster in which no pods run."""
+    quotas = facts.quotas
+    if not isinstance(quotas, Unknown):
+        quotas = Quotas(tuple(replace(quota, used={}) for quota in quotas.quotas))
+    return replace(facts, requested=Requested({}), quotas=quotas)
+
+
+def _certain(change: Capacity, mode: Mode) -> Iterator[Problem]:
+    """Yield the problems of pods that certainly get no devices."""
+    severity = SEVERITIES[mode]
+    for devices in change.devices:
+        # If no node takes the pods, `judging.preflight` warns already, so no second warning is needed.
+        if devices.low is Tightness.SHORT and (devices.has_nodes or severity == "error"):
+            what = f"{_demand(devices)}, but nodes lack places for some of these pods: {_free(devices)}"
+            yield Problem(_place(devices.changes), what, _remedy(devices), severity=severity)
+    for lack in change.lacks:
+        if lack.verdict is Tightness.SHORT:
+            yield Problem(Path("namespace"), _excess(lack), "raise the quota, or lower replicas", severity=severity)
+
+
+def _uncertain(change: Capacity) -> Iterator[Problem]:
+    """Warn about pods that may get no devices, because the scheduler spreads pods or an autoscaler adds replicas."""
+    for devices in change.devices:
+        if devices.low is Tightness.TIGHT:
+            what = f"{_demand(devices)}, but nodes may lack places for some of these pods: {_free(devices)}"
+            yield warning(_place(devices.changes), what, "free whole nodes, or add nodes")
+        elif devices.low is Tightness.FITS and devices.high is Tightness.SHORT:
+            needed = f"with the largest number of replicas, {_demand(devices, largest=True)}"
+            what = f"{needed}, but nodes lack places for some of these pods: {_free(devices)}"
+            yield warning(_place(devices.changes), what, "add nodes, or lower maxReplicas")
+    for lack in change.lacks:
+        if lack.verdict is Tightness.TIGHT:
+            yield warning(Path("namespace"), _excess(lack), "raise the quota, or lower maxReplicas")
+
+
+def _demand(devices: DeviceCapacity, *, largest: bool = False) -> str:
+    """Return the needed devices as text: their number, and by workload the additional pods and a pod's devices."""
+    pods = [
+        f"pods of {change.workload.name}: {replicas * change.workload.layout.pods_per_replica} × "
+        f"{change.workload.layout.chips_per_pod}"
+        for change in devices.changes
+        if (replicas := change.additional.high if largest else change.additional.low)
+    ]
+    listed = ", ".join(pods[:_MOST_NAMES]) + (f" and {len(pods) - _MOST_NAMES} more" if len(pods) > _MOST_NAMES else "")
+    if largest:
+        number = devices.additional.high
+    else:
+        number = devices.additional.low
+    return f"{number} more {devices.resource} are needed at the same time ({listed})"
+
+
+def _free(devices: DeviceCapacity) -> str:
+    """Return the number of free devices as text. If this number is uncertain, the text names it as an upper bound."""
+    limit = "at most "
+    if devices.is_certain:
+        limit = ""
+    return f"{limit}{devices.free} are free on nodes of {', '.join(devices.classes)}"
+
+
+def _remedy(devices: DeviceCapacity) -> str:
+    cls = devices.classes[0]
+    surges = any(change.running is not None and change.additional.low for change in devices.changes)
+    lower = "replicas"
+    if surges:
+        lower = "replicas or maxSurge"
+    return f"add nodes, lower {lower}, or write accelerators.{cls}.provisioned: true if nodes come on demand"
+
+
+def _excess(lack: Lack) -> str:
+    if lack.verdict is Tightness.TIGHT:
+        needed = lack.additional.high
+    else:
+        needed = lack.additional.low
+    return (
+        f"quota {lack.quota} of namespace {lack.namespace} has {lack.hard} {lack.resource}, {lack.used} are used, and "
+        f"{needed} more are needed at the same time"
+    )
+
+
+def _place(changes: Iterable[Change]) -> Path:
+    """Return the path of `accelerator` of the role that needs devices, or `services` if several roles need devices."""
+    paths = {change.workload.path for change in changes if change.additional.high}
+    if len(paths) == 1:
+        return paths.pop() / "accelerator"
+    return Path("services")
diff --git a/judging/report/diagram.py b/judging/report/diagram.py
new file mode 100644
index 00000000..ae5746fa
--- /dev/null
+++ b/judging/report/diagram.py
@@ -0,0 +1,158 @@
+"""Diagram of a stack as Mermaid: gateway, routes with weights, pools with their pickers, serving pods with ports."""
+
+from collections.abc import Iterator
+
+from models.printable import printable
+from planning.ground import labels
+from planning.plans import ServicePlan, StackPlan, VariantPlan
+from planning.routes.records import Parent, RouteRule
+from planning.serving.workload import Workload
+
+_INTERCEPTOR = "i"
+"""Id of the interceptor in the flowchart."""
+
+
+def mermaid(plan: StackPlan) -> str:
+    """Return the flowchart of a stack. Ids are numbered in the order of the plan; labels have the names of objects."""
+    lines = ["flowchart LR", *_gateways(plan), *_interceptor(plan)]
+    for number, service in enumerate(plan.services):
+        lines += _service(service, f"s{number}", _gateway_ids(plan), _targets(plan))
+    return "\n".join(lines) + "\n"
+
+
+def _parents(plan: StackPlan) -> tuple[Parent, ...]:
+    return tuple(dict.fromkeys(route.parent for route in plan.routes))
+
+
+def _gateways(plan: StackPlan) -> Iterator[str]:
+    for number, parent in enumerate(_parents(plan)):
+        listener = parent.section_name or parent.port
+        text = f"{parent.kind}<br/>{parent.namespace}/{parent.name}"
+        yield f'  g{number}{{{{"{text}{"" if listener is None else f" ({listener})"}"}}}}'
+
+
+def _gateway_ids(plan: StackPlan) -> dict[Parent, str]:
+    return {parent: f"g{number}" for number, parent in enumerate(_parents(plan))}
+
+
+def _interceptor(plan: StackPlan) -> Iterator[str]:
+    """Yield the line of the interceptor, if the stack has an interceptor."""
+    interceptor = plan.interceptor
+    if interceptor is not None:
+        text = f"interceptor<br/>{interceptor.namespace}/{interceptor.service}:{interceptor.port}"
+        yield f'  {_INTERCEPTOR}["{text}"]'
+
+
+def _targets(plan: StackPlan) -> dict[tuple[str, str], str]:
+    """Return the diagram's id of each pool, of the Service of each variant without a picker, and of the interceptor.
+
+    The keys are namespace and name.
+    """
+    targets = {
+        (variant.names.namespace, _target(variant)): f"s{number}v{index}"
+        for number, service in enumerate(plan.services)
+        for index, variant in enumerate(service.variants)
+    }
+    if plan.interceptor is not None:
+        targets[plan.interceptor.namespace, plan.interceptor.service] = _INTERCEPTOR
+    return targets
+
+
+def _target(variant: VariantPlan) -> str:
+    """Return the name of a variant's pool, or of its Service if the variant has no picker."""
+    if variant.endpoint_picker is None:
+        return variant.names.base
+    return variant.names.pool
+
+
+def _service(
+    service: ServicePlan, name: str, gateways: dict[Parent, str], targets: dict[tuple[str, str], str]
+) -> Iterator[str]:
+    yield f'  subgraph {name}["{_escape(f"{service.key}: {service.primary.model}")}"]'
+    for index, variant in enumerate(service.variants):
+        yield from _variant(variant, f"{name}v{index}")
+    yield "  end"
+    if service.route is None:
+        return
+    route = service.route
+    hosts = "<br/>".join(route.hostnames)
+    yield f'  {name}r(["HTTPRoute<br/>{route.namespace}/{route.name}{f"<br/>{hosts}" if hosts else ""}"])'
+    yield f"  {gateways[route.parent]} --> {name}r"
+    for rule in route.rules:
+        yield from _rule(rule, f"{name}r", route.namespace, targets)
+    for index, variant in enumerate(service.variants):
+        if variant.metered_as is not None:
+            yield f"  {_INTERCEPTOR} -->{_edge_end(variant, f'{name}v{index}')}"
+    if route.mirror is not None:
+        yield f'  {name}m["Service<br/>{route.mirror.namespace}/{route.mirror.name}"]'
+        yield f'  {name}r -. "copies of {route.mirror.percent} %" .-> {name}m'
+
+
+def _edge_end(variant: VariantPlan, name: str) -> str:
+    """Return label and end of the edge from the interceptor to a variant.
+
+    The interceptor sends requests to a Service. If the variant has a picker, the flowchart has no box for this Service.
+    The edge then has the Service as its label, and ends at the pods.
+    """
+    if variant.endpoint_picker is None:
+        return f" {name}"
+    return f'|"Service {variant.names.base}"| {name}d'
+
+
+def _rule(rule: RouteRule, route: str, namespace: str, targets: dict[tuple[str, str], str]) -> Iterator[str]:
+    """Yield an edge to each backend of a rule, with the rule's paths and headers, and the backend's share."""
+    matches = dict.fromkeys(
+        _escape(f"{match.path}{''.join(f' {name}: {value}' for name, value in match.headers.items())}")
+        for match in rule.matches
+    )
+    total = sum(backend.weight for backend in rule.backends)
+    for backend in rule.backends:
+        share = ""
+        if len(rule.backends) > 1 and total:
+            share = f" · {100 * backend.weight // total} %"
+        target = targets[backend.namespace or namespace, backend.name]
+        yield f'  {route} -->|"{"<br/>".join(matches)}{share}"| {target}'
+
+
+def _escape(text: str) -> str:
+    """Return text for a label in quotation marks (Mermaid documentation, Entity codes)."""
+    return printable(text).replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
+
+
+def _variant(variant: VariantPlan, name: str) -> Iterator[str]:
+    ports = ", ".join(map(str, variant.target_ports))
+    picker = variant.endpoint_picker
+    target = _target(variant)
+    yield f'    {name}[("{"Service" if picker is None else "InferencePool"}<br/>{target}")]'
+    if picker is not None:
+        yield f'    {name}e["picker {variant.names.picker}:{picker.port}"]'
+        yield f"    {name} -. asks .-> {name}e"
+    yield f'    {name}d["{_pods(variant.decode)}"]'
+    yield f'    {name} -->|"{ports}"| {name}d'
+    if variant.prefill is not None:
+        engine = ", ".join(map(str, variant.prefill.engine.ports))
+        yield f'    {name}p["{_pods(variant.prefill)}"]'
+        yield f'    {name}d -->|"prefill {engine}"| {name}p'
+
+
+def _pods(workload: Workload) -> str:
+    """Return role, kind, name, number of replicas, pods and devices of a workload, as text."""
+    scaler = workload.autoscaler
+    layout = workload.layout
+    if scaler is None:
+        number = str(workload.max_replicas)
+    else:
+        number = f"{scaler.min_replicas} to {scaler.max_replicas}"
+    pods = ""
+    if layout.pods_per_replica > 1:
+        pods = f" × {layout.pods_per_replica} pods"
+    devices = ""
+    if layout.devices_per_pod:
+        devices = f" × {layout.devices_per_pod} {workload.accelerator.vendor}"
+    role = ""
+    if workload.role != labels.DECODE:
+        role = f"{workload.role} "
+    noun = "replicas"
+    if number == "1":
+        noun = "replica"
+    return f"{role}{workload.kind}<br/>{workload.name}<br/>{number} {noun}{pods}{devices}"
diff --git a/judging/report/drift.py b/judging/report/drift.py
new file mode 100644
index 00000000..1c2efee0
--- /dev/null
+++ b/judging/report/drift.py
@@ -0,0 +1,68 @@
+"""Drift: changes in the cluster since the last run, as a refresh differences them."""
+
+from collections.abc import Mapping
+from dataclasses import dataclass
+from typing import Any
+
+from judging.report.events import Events, Step
+
+_REPLICAS = "spec.replicas"
+_MOST_FIELDS = 6
+
+
+@dataclass(frozen=True, slots=True)
+class Drift:
+    """An object that somebody changed or deleted after its deployment."""
+
+    object: str
+    """Kind, namespace and name, such as `Deployment models/qwen-decode`."""
+    is_gone: bool
+    fields: tuple[str, ...]
+    """Paths of fields that differ. Only `spec.replicas` comes with its values: other values may be credentials."""
+
+    @property
+    def sign(self) -> str:
+        """The sign of the change in a list: `-` for an object that is gone, `~` for any other."""
+        if self.is_gone:
+            return "-"
+        return "~"
+
+    def __str__(self) -> str:
+        if self.is_gone:
+            return f"{self.object} is gone"
+        return f"{self.object}: {', '.join(self.fields)}"
+
+
+def of_events(events: Events) -> tuple[Drift, ...]:
+    """Return the objects that somebody changed or deleted.
+
+    `events.drift` has no updates without a difference, which a refresh reports for objects that are not ready.
+    """
+    differences = (_drift(step) for step in events.drift if step.is_custom)
+    return tuple(sorted(differences, key=lambda difference: difference.object))
+
+
+def _drift(step: Step) -> Drift:
+    _, kind, namespace, name = step.place
+    fields = tuple(f"{field}{_numbers(field, step)}" for field in step.differences)
+    more = ()
+    if len(fields) > _MOST_FIELDS:
+        more = (f"{len(fields) - _MOST_FIELDS} more",)
+    if namespace:
+        title = f"{kind} {namespace}/{name}"
+    else:
+        title = f"{kind} {name}"
+    return Drift(title, step.operation == "delete", (*fields[:_MOST_FIELDS], *more))
+
+
+def _numbers(field: str, step: Step) -> str:
+    if field != _REPLICAS:
+        return ""
+    old, new = (_replicas(inputs) for inputs in (step.old, step.new))
+    if isinstance(old, int) and isinstance(new, int) and old != new:
+        return f" {old} → {new}"
+    return ""
+
+
+def _replicas(content: Mapping[str, Any]) -> object:
+    return content.get("spec", {}).get("replicas")
diff --git a/judging/report/edits.py b/judging/report/edits.py
new file mode 100644
index 00000000..8c31abac
--- /dev/null
+++ b/judging/report/edits.py
@@ -0,0 +1,167 @@
+"""Edits of a workload's pods, as texts for reviewers: image, flags, names of variables.
+
+Values may be credentials. A flag's value is shown only if this value is a number, or a word of a fixed list. Values of
+variables and annotations are never shown.
+"""
+
+import re
+from collections.abc import Iterable, Iterator, Mapping, Sequence
+from typing import Any, cast
+
+from judging.report import running
+from models import credentials
+from models.trees import EMPTY
+
+_ENGINES = ("vllm", "engine")
+_SHOWN = re.compile(
+    r"\d{1,9}(\.\d{1,6})?(Ki|Mi|Gi|Ti|K|M|G|T|s|m|h|%)?|true|false|auto|none|(b?float|f[pl]|int)\d+(_e\dm\d)?"
+)
+"""Values of flags that are shown: short numbers, and words from the help of vLLM."""
+_MOST_NAMES = 4
+"""Maximum number of flags or of variables that are listed."""
+
+
+def edits(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
+    """Return the differences between the pods of two workload objects, as texts."""
+    before, after = (running.template(kind, workload) for workload in (old, new))
+    first, second = (_engine(template) for template in (before, after))
+    differences = [
+        *_image_edits(first.get("image", ""), second.get("image", "")),
+        *_first(list(_flag_edits(first.get("args") or (), second.get("args") or ())), "flags"),
+        *_variable_edits(first, second),
+    ]
+    differences += [] if first.get("resources") == second.get("resources") else ["resources"]
+    others = ("initContainers", "volumes", "nodeSelector", "tolerations", "affinity", "securityContext")
+    spec = before.get("spec", EMPTY)
+    other_spec = after.get("spec", EMPTY)
+    differences += [_titles.get(name, name) for name in others if spec.get(name) != other_spec.get(name)]
+    metadata = (before.get("metadata", EMPTY), after.get("metadata", EMPTY))
+    differences += [
+        f"{name} of pods" for name in ("labels", "annotations") if metadata[0].get(name) != metadata[1].get(name)
+    ]
+    if not differences and before != after:
+        differences.append("pods")
+    return tuple(differences)
+
+
+_titles: Mapping[str, str] = {"initContainers": "init containers", "securityContext": "security context"}
+
+
+def _engine(template: Mapping[str, Any]) -> Mapping[str, Any]:
+    containers = template.get("spec", EMPTY).get("containers") or (EMPTY,)
+    return next((container for container in containers if container.get("name") in _ENGINES), containers[0])
+
+
+def _image_edits(old: str, new: str) -> Iterator[str]:
+    if old != new:
+        before, after = (_reference(image) for image in (old, new))
+        is_same = before[0] == after[0]
+        yield f"image {before[1]} → {after[1]}" if is_same else f"image {_short(old)} → {_short(new)}"
+
+
+def _reference(image: str) -> tuple[str, str]:
+    """Return the repository of an image, and its version: the tag, else the beginning of the digest."""
+    name, _, digest = image.partition("@")
+    repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
+    return repository, tag or digest[:19]
+
+
+def _short(image: str) -> str:
+    return image.partition("@")[0]
+
+
+def _flag_edits(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
+    before = flags(old)
+    after = flags(new)
+    for flag in dict.fromkeys((*before, *after)):
+        if flag not in before:
+            yield f"{flag} {value} is added" if (value := _harmless_value(flag, after[flag])) else f"{flag} is added"
+        elif flag not in after:
+            yield f"{flag} is removed"
+        elif before[flag] != after[flag]:
+            values = [_harmless_value(flag, values_of[flag]) for values_of in (before, after)]
+            yield f"{flag} {values[0]} → {values[1]}" if all(values) else f"{flag} changes"
+
+
+def flags(arguments: Sequence[str]) -> dict[str, tuple[str, ...]]:
+    """Return the values of argument flag of a command line. Words before the first flag have an empty key."""
+    differences = dict[str, tuple[str, ...]]()
+    flag = ""
+    for argument in arguments:
+        if argument.startswith("--"):
+            flag, separator, value = argument.partition("=")
+            differences[flag] = (*differences.get(flag, ()), *((value,) if separator else ()))
+        else:
+            differences[flag] = (*differences.get(flag, ()), argument)
+    return differences
+
+
+def _harmless_value(flag: str, values: Sequence[str]) -> str:
+    """Return the value of a flag if it cannot be a credential, else an empty text."""
+    is_harmless = len(values) == 1 and _SHOWN.fullmatch(values[0]) and not credentials.is_credential(flag, values[0])
+    if is_harmless:
+        return values[0]
+    return ""
+
+
+def _variables(container: Mapping[str, Any]) -> dict[str, Any]:
+    """Return the variables of a container by name."""
+    return {variable.get("name", ""): variable for variable in container.get("env") or ()}
+
+
+def _variable_edits(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
+    before, after = (_variables(container) for container in (old, new))
+    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
+    if names:
+        more = ""
+        if len(names) > _MOST_NAMES:
+            more = f" and {len(names) - _MOST_NAMES} more"
+        yield f"variable{'' if len(names) == 1 else 's'} {', '.join(names[:_MOST_NAMES])}{more}"
+
+
+def _first(names: list[str], what: str) -> list[str]:
+    if len(names) <= _MOST_NAMES:
+        return names
+    return [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES} more {what}"]
+
+
+def sensitive(content: Mapping[str, Any]) -> frozenset[str]:
+    """Return the texts that no report may repeat: an object's values of variables, arguments and annotations."""
+    return frozenset(text for text in _texts(content) if len(text) >= _SHORTEST and not _SHOWN.fullmatch(text))
+
+
+_SHORTEST = 6
+"""Length of the shortest value that is hidden in messages. Shorter values occur within common words."""
+
+
+def _texts(content: object) -> Iterator[str]:
+    """Yield the values of variables, arguments and annotations at any depth."""
+    if isinstance(content, Mapping):
+        for key, value in cast("Mapping[str, object]", content).items():
+            if key == "annotations" and isinstance(value, Mapping):
+                yield from _strings(cast("Mapping[str, object]", value).values())
+            elif key in {"args", "command"} and isinstance(value, list):
+                yield from _argument_texts(list(_strings(cast("list[object]", value))))
+            elif key == "env" and isinstance(value, list):
+                yield from _strings(_value(variable) for variable in cast("list[object]", value))
+            else:
+                yield from _texts(value)
+    elif isinstance(content, list):
+        for item in cast("list[object]", content):
+            yield from _texts(item)
+
+
+def _value(variable: object) -> object:
+    if isinstance(variable, Mapping):
+        return cast("Mapping[str, object]", variable).get("value")
+    return None
+
+
+def _strings(values: Iterable[object]) -> Iterator[str]:
+    """Yield those values that are texts. The API server takes no others as arguments, variables and annotations."""
+    return (value for value in values if isinstance(value, str))
+
+
+def _argument_texts(arguments: list[str]) -> Iterator[str]:
+    yield from (argument for argument in arguments if not argument.startswith("--"))
+    yield from (value for argument in arguments if (value := argument.partition("=")[2]) and argument.startswith("--"))
diff --git a/judging/report/events.py b/judging/report/events.py
new file mode 100644
index 00000000..db02cbdd
--- /dev/null
+++ b/judging/report/events.py
@@ -0,0 +1,274 @@
+"""Event log of Pulumi's engine: the steps of a run of the engine, its diagnostics and its policy violations.
+
+`pulumi preview --event-log FILE` writes an event per line (Pulumi 3.230, sdk/go/common/apitype/events.go, EngineEvent).
+The engine masks secrets in the events.
+"""
+
+from collections.abc import Iterable, Iterator, Mapping
+from dataclasses import dataclass
+from typing import Any
+
+from pydantic import BaseModel, ConfigDict, ValidationError
+from pydantic.alias_generators import to_camel
+
+from judging.report import shapes
+from models.trees import EMPTY
+
+_QUIET = frozenset({"same", "read", "refresh"})
+
+
+@dataclass(frozen=True, slots=True)
+class Step:
+    """A step of the engine: an operation on one resource."""
+
+    operation: str
+    """The engine's name of the operation: `create`, `update`, `delete`, `same`, `refresh`, …"""
+    urn: str
+    type: str
+    """Type token of the resource."""
+    old: Mapping[str, Any]
+    """Inputs before the step, without values that a report cannot read; empty for a resource that is created."""
+    new: Mapping[str, Any]
+    """Inputs after the step; empty for a resource that is deleted."""
+    differences: tuple[str, ...]
+    """Paths of the properties that differ, as the engine writes them."""
+    is_custom: bool
+    """Whether the resource is an object or a provider; false for a component."""
+    is_drift: bool = False
+    """Whether a refresh found the differences in the cluster. This step then changes nothing in the cluster."""
+
+    @property
+    def name(self) -> str:
+        """Return the logical name of the resource."""
+        return self.urn.rpartition("::")[2]
+
+    @property
+    def kind(self) -> str:
+        """Return the kind of the object, or the end of the type token if the inputs have no kind."""
+        return (self.new or self.old).get("kind", self.type.rpartition(":")[2])
+
+    @property
+    def place(self) -> tuple[str, str, str, str]:
+        """Return API group, kind, namespace and name of the object."""
+        content = self.new or self.old
+        metadata = content.get("metadata", EMPTY)
+        group = content.get("apiVersion", "").rpartition("/")[0]
+        return group, self.kind, metadata.get("namespace", ""), metadata.get("name", "")
+
+
+@dataclass(frozen=True, slots=True)
+class Diagnostic:
+    """A message of the program, of a provider or of a policy."""
+
+    severity: str
+    """`error` or `warning`. A violated policy gives an error if the policy is mandatory, and a warning if it is not."""
+    message: str
+    """Text without colours."""
+    resource: str
+    """Logical name of the resource that the message is about; empty if the message is about no single resource."""
+    policy: str = ""
+    """Name of the violated policy; empty if the message is not about a policy."""
+
+
+@dataclass(frozen=True, slots=True)
+class Events:
+    """The events of one run of the engine."""
+
+    stack: str
+    """Name of the stack; empty if the run ended before it named the stack."""
+    steps: tuple[Step, ...]
+    """Steps on all resources. Several events of one resource with the same operation are one step."""
+    diagnostics: tuple[Diagnostic, ...]
+    is_complete: bool
+    """Whether the log has the summary, which is the last event of a run."""
+
+    @property
+    def changes(self) -> tuple[Step, ...]:
+        """Return the steps that change objects."""
+        return tuple(
+            step for step in self.steps if step.is_custom and not step.is_drift and step.operation not in _QUIET
+        )
+
+    @property
+    def drift(self) -> tuple[Step, ...]:
+        """Return the steps in which a refresh found differences: objects that are gone, or that have other values."""
+        return tuple(step for step in self.steps if step.is_drift and (step.differences or step.operation == "delete"))
+
+    @property
+    def errors(self) -> tuple[Diagnostic, ...]:
+        """Return the errors of the run."""
+        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity == "error")
+
+
+class EventError(ValueError):
+    """Error for a line of an event log that is no event."""
+
+    def __init__(self, number: int) -> None:
+        super().__init__(f"line {number} is no event of the engine")
+        self.number = number
+
+
+class _Part(BaseModel):
+    """A part of an event. Keys that no report needs are passed over."""
+
+    model_config = ConfigDict(alias_generator=to_camel, defer_build=True, frozen=True, strict=True)
+
+
+class _State(_Part):
+    """A resource before or after a step (StepEventStateMetadata)."""
+
+    custom: bool = False
+    inputs: dict[str, Any] | None = None
+
+
+class _Metadata(_Part):
+    """A step on a resource (StepEventMetadata)."""
+
+    op: str
+    urn: str
+    type: str
+    old: _State | None = None
+    new: _State | None = None
+    diffs: list[str] | None = None
+    detailed_diff: dict[str, Any] | None = None
+
+
+class _Stage(_Part):
+    """Beginning or end of a step (ResourcePreEvent, ResOutputsEvent)."""
+
+    metadata: _Metadata
+
+
+class _Message(_Part):
+    """A message (DiagnosticEvent)."""
+
+    severity: str
+    message: str
+    urn: str = ""
+    ephemeral: bool = False
+
+
+class _Violation(_Part):
+    """A violation of a policy (PolicyEvent)."""
+
+    message: str
+    policy_name: str
+    enforcement_level: str
+    resource_urn: str = ""
+
+
+class _Failure(_Part):
+    """The end of a run by an error (ErrorEvent)."""
+
+    error: str
+
+
+class _Event(_Part):
+    """An event; only the field of its kind is present."""
+
+    resource_pre_event: _Stage | None = None
+    res_outputs_event: _Stage | None = None
+    diagnostic_event: _Message | None = None
+    policy_event: _Violation | None = None
+    error_event: _Failure | None = None
+    summary_event: dict[str, Any] | None = None
+
+
+def read(lines: Iterable[str]) -> Events:
+    """Read the lines of an event log. Raises `EventError` for a line that is no event."""
+    steps = _Steps()
+    diagnostics = list[Diagnostic]()
+    is_complete = False
+    for number, line in enumerate(lines, 1):
+        if line.strip():
+            event = _event(line, number)
+            steps.add(event)
+            diagnostics += _diagnostics(event)
+            is_complete = is_complete or event.summary_event is not None
+    return Events(steps.stack, tuple(steps.by_key.values()), tuple(dict.fromkeys(diagnostics)), is_complete)
+
+
+class _Steps:
+    """The steps of the events that were added so far."""
+
+    def __init__(self) -> None:
+        self.by_key = dict[tuple[str, str, bool], Step]()
+        """Steps by `urn`, `operation` and `is_drift`."""
+        self.stack = ""
+        self._refreshed = set[str]()
+        """URNs of resources whose latest step is a refresh. With `pulumi refresh`, the event at the end of such a step
+        has the operation `update` or `delete`, so the operation alone does not identify a refresh."""
+
+    def add(self, event: _Event) -> None:
+        """Add the step of an event, if the event is about a step."""
+        before = event.resource_pre_event
+        stage = event.resource_pre_event or event.res_outputs_event
+        if stage is None:
+            return
+        metadata = stage.metadata
+        if before is not None and metadata.op == "refresh":
+            self._refreshed.add(metadata.urn)
+        elif before is not None:
+            self._refreshed.discard(metadata.urn)
+        step = _step(metadata, is_drift=metadata.urn in self._refreshed)
+        key = (step.urn, step.operation, step.is_drift)
+        earlier = self.by_key.get(key)
+        # The event at the end of a step may lack the differences that the event before the step had.
+        self.by_key[key] = step if earlier is None or step.differences else earlier
+        self.stack = self.stack or step.urn.removeprefix("urn:pulumi:").partition("::")[0]
+
+
+def _event(line: str, number: int) -> _Event:
+    """Return the event of a line. The parser refuses values that are nested more than 200 deep (pydantic, jiter)."""
+    try:
+        return _Event.model_validate_json(line)
+    except (ValidationError, UnicodeEncodeError):
+        raise EventError(number) from None
+
+
+def _step(metadata: _Metadata, *, is_drift: bool) -> Step:
+    old = metadata.old
+    new = metadata.new
+    present = new or old
+    return Step(
+        operation=metadata.op,
+        urn=metadata.urn,
+        type=metadata.type,
+        old=_inputs(old),
+        new=_inputs(new),
+        differences=tuple(metadata.detailed_diff or metadata.diffs or ()),
+        is_custom=present is not None and present.custom,
+        is_drift=is_drift,
+    )
+
+
+def _inputs(state: _State | None) -> Mapping[str, Any]:
+    if state is None or state.inputs is None:
+        return EMPTY
+    return shapes.readable(state.inputs)
+
+
+def _diagnostics(event: _Event) -> Iterator[Diagnostic]:
+    message = event.diagnostic_event
+    violation = event.policy_event
+    failure = event.error_event
+    if message is not None and not message.ephemeral and message.severity in {"warning", "error"}:
+        yield Diagnostic(message.severity, plain(message.message), message.urn.rpartition("::")[2])
+    if violation is not None:
+        severity = "warning"
+        if violation.enforcement_level == "mandatory":
+            severity = "error"
+        resource = violation.resource_urn.rpartition("::")[2]
+        yield Diagnostic(severity, plain(violation.message), resource, violation.policy_name)
+    if failure is not None:
+        yield Diagnostic("error", plain(failure.error), "")
+
+
+def plain(message: str) -> str:
+    """Return a message without colour codes of the engine, such as `<{%fg 1%}>`."""
+    parts = list[str]()
+    end = 0
+    while (begin := message.find("<{%", end)) >= 0 and (close := message.find("%}>", begin)) >= 0:
+        parts.append(message[end:begin])
+        end = close + len("%}>")
+    return "".join((*parts, message[end:])).strip()
diff --git a/judging/report/growth.py b/judging/report/growth.py
new file mode 100644
index 00000000..15cf0e49
--- /dev/null
+++ b/judging/report/growth.py
@@ -0,0 +1,203 @@
+"""Replicas of a workload before, during and after a change, and pods that need places in addition to running pods."""
+
+import json
+from collections.abc import Mapping, Sequence
+from dataclasses import dataclass
+from typing import Any, cast
+
+from judging.report.running import RunningPods
+from models.role import Recreate
+from planning.ground.cluster_facts import Place
+from planning.plans import StackPlan, VariantPlan
+from planning.serving.workload import Workload
+
+
+@dataclass(frozen=True, slots=True)
+class Range:
+    """A number, or the smallest and the largest number if an autoscaler decides."""
+
+    low: int
+    high: int
+
+    def times(self, factor: int) -> "Range":
+        """Multiply both numbers by `factor`."""
+        return Range(self.low * factor, self.high * factor)
+
+    def plus(self, other: "Range") -> "Range":
+        """Add the smallest numbers of both ranges, and the largest numbers."""
+        return Range(self.low + other.low, self.high + other.high)
+
+    def __str__(self) -> str:
+        if self.low == self.high:
+            return str(self.low)
+        return f"{self.low} to {self.high}"
+
+
+NOTHING = Range(0, 0)
+
+
+@dataclass(frozen=True, slots=True)
+class Change:
+    """A workload after a change, and its running pods before the change."""
+
+    place: Place
+    service: str
+    """Key of the service."""
+    variant: VariantPlan
+    workload: Workload
+    accelerator: str
+    """Name of the accelerator class."""
+    running: RunningPods | None
+    """Pods of the workload that exists at `place`; None if no workload exists there."""
+    restarts: bool
+    """Whether the change replaces the running pods."""
+
+    @property
+    def devices_per_replica(self) -> int:
+        """Return the number of devices that a replica requests."""
+        return self.workload.layout.chips_per_pod * self.workload.layout.pods_per_replica
+
+    @property
+    def has_devices(self) -> bool:
+        """Tell whether the workload has devices before or after the change."""
+        old = self.running
+        return bool(self.workload.layout.devices_per_pod or (old is not None and old.devices_per_pod))
+
+    @property
+    def before(self) -> Range:
+        """Return the number of running replicas.
+
+        If the running object states no number, return the limits of the autoscaler, or 1 without an autoscaler.
+        """
+        if self.running is None:
+            return NOTHING
+        number = self.running.replicas
+        scaler = self.workload.autoscaler
+        if number is not None:
+            return Range(number, number)
+        if scaler is None:
+            return Range(1, 1)
+        return Range(scaler.min_replicas, scaler.max_replicas)
+
+    @property
+    def after(self) -> Range:
+        """Return the number of replicas after the change."""
+        scaler = self.workload.autoscaler
+        if scaler is None:
+            return Range(self.workload.max_replicas, self.workload.max_replicas)
+        low = min(max(self.before.low, scaler.min_replicas), scaler.max_replicas)
+        return Range(low, scaler.max_replicas)
+
+    @property
+    def is_reshaped(self) -> bool:
+        """Tell whether new pods request more or other devices, and therefore cannot take the places of old pods."""
+        old = self.running
+        layout = self.workload.layout
+        if old is None or (self.workload.device_claim is not None and not old.devices_per_pod):
+            return False
+        return old.accelerator != self.accelerator or old.devices_per_pod < layout.chips_per_pod
+
+    @property
+    def may_inherit(self) -> bool:
+        """Tell whether reshaped pods may still get devices of the old pods.
+
+        This is possible if the old pods can run on nodes of the new pods' class: if the class of the old pods is the
+        same, is unknown, or demands no labels of nodes.
+        """
+        old = self.running
+        if old is None or not self.is_reshaped:
+            return False
+        return old.is_of_any_product or old.accelerator == self.accelerator
+
+    @property
+    def additional(self) -> Range:
+        """Return the number of replicas that need a place while all old pods still run.
+
+        Other new replicas take the places of old replicas that have ended. A rollout starts at most `maxSurge` replicas
+        beyond the requested number (Kubernetes documentation, Deployments, Max Surge).
+        """
+        if self.running is None or self.is_reshaped:
+            return self.after
+        surge = 0
+        if self.restarts and not isinstance(self.workload.rollout, Recreate):
+            surge = self.workload.rollout.max_surge
+        before = self.before
+        after = self.after
+        if not before.high:
+            return after
+        return Range(max(0, after.low + surge - before.low), max(0, after.high + surge - before.low))
+
+
+def changes(plan: StackPlan, running: Mapping[Place, RunningPods], restarted: Mapping[Place, bool]) -> list[Change]:
+    """Return the changes of all workloads. `restarted` tells, by place, whether running pods are replaced."""
+    all_changes = list[Change]()
+    for service in plan.services:
+        for variant in service.variants:
+            for workload in variant.workloads:
+                at = place(variant, workload)
+                accelerator = variant.accelerators[workload.role]
+                old = running.get(at)
+                restarts = restarted.get(at, old is not None)
+                all_changes.append(Change(at, service.key, variant, workload, accelerator, old, restarts))
+    return all_changes
+
+
+def place(variant: VariantPlan, workload: Workload) -> Place:
+    """Return the place of a workload's object in the cluster."""
+    return workload.api_version.partition("/")[0], workload.kind, variant.names.namespace, workload.name
+
+
+def lacks(rendered: object, fields: Mapping[str, Any]) -> bool:
+    """Tell whether a rendered value lacks one of the `fields` that Pulumi set in the live object.
+
+    If so, the change removes the field from the live object. `fields` is a tree in the format of the API server. A key
+    of the tree is `f:` and a field, `k:` and the keys of a list's item, or `v:` and a value of a set (Kubernetes API,
+    FieldsV1).
+    """
+    for key, below in fields.items():
+        kind, _, name = key.partition(":")
+        part = rendered
+        if name:
+            part = _child(rendered, kind, name)
+        if part is None or (below and lacks(part, below)):
+            return True
+    return False
+
+
+def _child(rendered: object, kind: str, name: str) -> object:
+    """Return the part of a rendered value that a key of FieldsV1 names; None if there is none.
+
+    The API server adds keys to items of lists, such as the protocol of a port. Keys that the rendered item lacks are
+    therefore not compared.
+    """
+    if kind == "f":
+        if isinstance(rendered, Mapping):
+            return cast("Mapping[str, object]", rendered).get(name)
+        return None
+    items = ()
+    if isinstance(rendered, list | tuple):
+        items = cast("Sequence[object]", rendered)
+    if kind == "v":
+        return next((item for item in items if item == json.loads(name)), None)
+    keys = json.loads(name)
+    mappings = (cast("Mapping[str, object]", item) for item in items if isinstance(item, Mapping))
+    return next((item for item in mappings if all(item.get(key, value) == value for key, value in keys.items())), None)
+
+
+def is_contained(rendered: object, live: object) -> bool:
+    """Tell whether a live value equals the rendered value, except for keys that the API server and its hooks add."""
+    if isinstance(rendered, Mapping):
+        live_fields = None
+        if isinstance(live, Mapping):
+            live_fields = cast("Mapping[str, object]", live)
+        items = cast("Mapping[str, object]", rendered).items()
+        return live_fields is not None and all(
+            key in live_fields and is_contained(value, live_fields[key]) for key, value in items
+        )
+    if isinstance(rendered, list | tuple):
+        expected = cast("Sequence[object]", rendered)
+        values = ()
+        if isinstance(live, list | tuple):
+            values = cast("Sequence[object]", live)
+        return len(expected) == len(values) and all(map(is_contained, expected, values))
+    return rendered == live
diff --git a/judging/report/memory_rows.py b/judging/report/memory_rows.py
new file mode 100644
index 00000000..749c63e9
--- /dev/null
+++ b/judging/report/memory_rows.py
@@ -0,0 +1,78 @@
+"""Fit of each role of a stack as a row of a table, and the memory that a change takes away from the KV cache."""
+
+from collections.abc import Iterator, Mapping
+from dataclasses import dataclass
+from typing import Any
+
+from judging.report import running
+from models.trees import EMPTY
+from planning.fit import memory, served
+from planning.fit.memory import Fit
+from planning.ground.cluster_facts import Unknown
+from planning.plans import StackPlan
+from planning.serving.device_memory import gibibytes
+from planning.serving.workload import Workload
+
+_PLACES = ("initContainers", "volumes", "affinity", "nodeSelector")
+"""Fields of a pod that decide which weights and which devices the pod has."""
+
+
+@dataclass(frozen=True, slots=True)
+class MemoryRow:
+    """A role, and the memory that its model takes of each device."""
+
+    path: str
+    """Path of the role, below `services`."""
+    accelerator: str
+    devices: int
+    """Number of devices of a replica; 0 for a role without devices."""
+    fit: Fit | Unknown
+
+
+def rows(plan: StackPlan) -> Iterator[MemoryRow]:
+    """Yield the fit of every role of a stack."""
+    for service in plan.services:
+        for variant in service.variants:
+            for workload in variant.workloads:
+                layout = workload.layout
+                devices = layout.devices_per_pod * layout.pods_per_replica
+                path = ".".join(map(str, workload.path[1:]))
+                yield MemoryRow(path, variant.accelerators[workload.role], devices, workload.fit)
+
+
+def cells(fit: Fit) -> tuple[str, ...]:
+    """Return the cells of a row as texts.
+
+    Their order is: weights, overhead, usable memory, cache of one sequence, free memory, requested context, longest
+    possible context, number of sequences of the requested context that the cache holds. Contexts are in tokens.
+    """
+    sizes = (fit.weights, fit.overhead, fit.usable, fit.cache, fit.free)
+    return *map(gibibytes, sizes), str(fit.request.tokens), str(fit.longest), str(fit.most_sequences)
+
+
+def headroom(workload: Workload, old: Mapping[str, Any]) -> tuple[str, ...]:
+    """Return a text with the free memory of a device before and after a change that takes memory from the KV cache.
+
+    The result is empty if the free memory does not shrink, or is unknown before or after the change.
+
+    `old` is the workload object before the change. Only the engine's arguments are read from `old`, so the pods must
+    have the same weights and devices before and after the change (`is_comparable`).
+    """
+    after = workload.fit
+    spec = running.template(workload.kind, old).get("spec", EMPTY)
+    containers = [
+        container for container in spec.get("containers", ()) if container.get("name") == workload.engine.name
+    ]
+    if isinstance(after, Unknown) or not containers:
+        return ()
+    before = memory.fits(served.with_arguments(after.request, tuple(containers[0].get("args") or ())))
+    if isinstance(before, Unknown) or before.free <= after.free:
+        return ()
+    numbers = f"{before.most_sequences} → {after.most_sequences} × {after.request.tokens} tokens"
+    return (f"headroom of a device {gibibytes(before.free)} → {gibibytes(after.free)} ({numbers})",)
+
+
+def is_comparable(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
+    """Tell whether pods have the same weights and devices before and after a change."""
+    before, after = (running.template(kind, workload).get("spec", EMPTY) for workload in (old, new))
+    return all(before.get(name) == after.get(name) for name in _PLACES)
diff --git a/judging/report/packing.py b/judging/report/packing.py
new file mode 100644
index 00000000..4f03c5a3
--- /dev/null
+++ b/judging/report/packing.py
@@ -0,0 +1,162 @@
+"""Packing of pods onto nodes: whether pods fit in any order, only if packed tightly, or not at all."""
+
+from collections.abc import Iterable, Iterator, Mapping, Sequence
+from dataclasses import dataclass
+from enum import Enum
+from math import gcd
+
+_MOST_STEPS = 2000
+"""Maximum number of placements that the exact search tries before it gives up."""
+_MOST_PODS = 200
+"""Maximum number of pods for which an exact search is made."""
+
+
+class Tightness(Enum):
+    """Answer to the question whether pods fit."""
+
+    FITS = "fits"
+    """All pods fit, whichever nodes the scheduler chooses."""
+    TIGHT = "fits only if packed tightly"
+    """All pods fit if the nodes are chosen well. A scheduler that spreads pods may leave a pod without a node."""
+    SHORT = "does not fit"
+    """Not all pods fit, whichever nodes are chosen."""
+
+
+@dataclass(frozen=True, slots=True)
+class PodGroup:
+    """PodGroup of one size that wait for nodes."""
+
+    owner: str
+    """Name of the pods' workload."""
+    size: int
+    """Number of devices of a pod; at least 1."""
+    count: int
+    nodes: frozenset[str]
+    """Names of the nodes that take the pods."""
+
+
+@dataclass(frozen=True, slots=True)
+class Packing:
+    """The answer whether pods fit, and a way to place the pods on nodes."""
+
+    verdict: Tightness
+    places: Mapping[str, Sequence[tuple[str, int]]]
+    """Placed pods by node: owner and number of devices. PodGroup without a place are missing."""
+
+
+def pack(free: Mapping[str, int], pods: Iterable[PodGroup]) -> Packing:
+    """Place pods on nodes with `free` devices.
+
+    Larger pods are placed first (first-fit decreasing). Among pods of the same size, pods with fewer nodes come first.
+    """
+    waiting = [pod for pod in pods if pod.count]
+    ordered = sorted(waiting, key=lambda pod: (-pod.size, len(pod.nodes), pod.owner))
+    places, is_complete = _greedy(dict(free), ordered)
+    if is_complete:
+        return Packing(Tightness.FITS if _always(free, waiting) else Tightness.TIGHT, places)
+    if _impossible(free, waiting) or not _search(dict(free), ordered):
+        return Packing(Tightness.SHORT, places)
+    return Packing(Tightness.TIGHT, places)
+
+
+def _greedy(free: dict[str, int], ordered: Iterable[PodGroup]) -> tuple[dict[str, list[tuple[str, int]]], bool]:
+    """Place pod pod on the node with the fewest free devices that suffice; tell whether all pods have a place."""
+    places = dict[str, list[tuple[str, int]]]()
+    is_complete = True
+    for pod in ordered:
+        for _ in range(pod.count):
+            node = min(_takers(free, pod), key=lambda name: (free[name], name), default=None)
+            if node is None:
+                is_complete = False
+                break
+            free[node] -= pod.size
+            places.setdefault(node, []).append((pod.owner, pod.size))
+    return places, is_complete
+
+
+def _takers(free: Mapping[str, int], pod: PodGroup) -> Iterator[str]:
+    return (name for name in pod.nodes if free.get(name, 0) >= pod.size)
+
+
+def _impossible(free: Mapping[str, int], pods: Iterable[PodGroup]) -> bool:
+    """Tell whether counts prove that the pods do not fit: too few free devices, or too few places for large pods."""
+    waiting = tuple(pods)
+    everywhere = frozenset(name for pod in waiting for name in pod.nodes)
+    for nodes in {*(pod.nodes for pod in waiting), everywhere}:
+        inside = [pod for pod in waiting if pod.nodes <= nodes]
+        rooms = [free.get(name, 0) for name in nodes]
+        if sum(pod.size * pod.count for pod in inside) > sum(rooms):
+            return True
+        for size in {pod.size for pod in inside}:
+            large = sum(pod.count for pod in inside if pod.size >= size)
+            if large > sum(room // size for room in rooms):
+                return True
+    return False
+
+
+def _search(free: dict[str, int], ordered: Sequence[PodGroup]) -> bool:
+    """Tell whether the pods fit, by trying placements. If there are too many pods or steps, the answer is yes."""
+    sizes = [pod for pod in ordered for _ in range(pod.count)]
+    return len(sizes) > _MOST_PODS or _Search(free, sizes, ordered).place(0)
+
+
+@dataclass(slots=True)
+class _Search:
+    """Exact search for places: it places one pod after the other, and takes pods back if a later pod finds no place."""
+
+    free: dict[str, int]
+    """Free devices by node; the numbers change while pods are placed and taken back."""
+    sizes: Sequence[PodGroup]
+    """One item for pod pod: the group that the pod belongs to."""
+    ordered: Sequence[PodGroup]
+    steps: int = 0
+
+    def place(self, index: int) -> bool:
+        """Place the pods from `index` on, and tell whether all of them have a place.
+
+        After too many steps, the answer is yes. Of nodes with equally many free devices that take the same groups of
+        pods, only the first node is tried.
+        """
+        if index == len(self.sizes) or self.steps > _MOST_STEPS:
+            return True
+        pod = self.sizes[index]
+        seen = set[tuple[int, tuple[bool, ...]]]()
+        for node in sorted(_takers(self.free, pod), key=lambda name: (self.free[name], name)):
+            kind = (self.free[node], tuple(node in pod.nodes for pod in self.ordered))
+            if kind not in seen:
+                seen.add(kind)
+                self.steps += 1
+                self.free[node] -= pod.size
+                if self.place(index + 1):
+                    return True
+                self.free[node] += pod.size
+        return False
+
+
+def _always(free: Mapping[str, int], pods: Sequence[PodGroup]) -> bool:
+    """Tell whether every pod finds a node, however the other pods are placed before it.
+
+    The other pods block a node if they leave fewer devices there than the pod needs. If blocking all nodes takes more
+    devices than the other pods request, the pod always finds a node.
+    """
+    for pod in pods:
+        rivals = [other for other in pods if other.nodes & pod.nodes]
+        taken = sum(other.size * other.count for other in rivals) - pod.size
+        step = gcd(*(other.size for other in rivals if other is not pod or pod.count > 1))
+        cost = 0
+        for name in pod.nodes:
+            room = free.get(name, 0)
+            if room < pod.size:
+                continue
+            least = room - pod.size + 1
+            if step:
+                blocked = -(-least // step) * step
+            else:
+                blocked = room + 1
+            if blocked > room:
+                break
+            cost += blocked
+        else:
+            if taken >= cost:
+                return False
+    return True
diff --git a/judging/report/paths.py b/judging/report/paths.py
new file mode 100644
index 00000000..e144c037
--- /dev/null
+++ b/judging/report/paths.py
@@ -0,0 +1,72 @@
+"""Changes of paths: an address of an HTTPRoute is added, is removed, or gets other backends or other weights."""
+
+from collections.abc import Iterable, Iterator, Mapping
+from dataclasses import dataclass
+from typing import Any
+
+from judging.report.events import Step
+from judging.report.words import PathOperation
+from models.trees import EMPTY
+from planning.ground import labels
+
+
+@dataclass(frozen=True, slots=True)
+class PathChange:
+    """Change of one address."""
+
+    service: str
+    operation: PathOperation
+    address: str
+    """Host, path and names of headers, such as `llm.example.com/qwen [x-team]`; no host if the route has none."""
+    text: str
+    """Destinations of requests to the address, before and after the change; empty for a new or removed address."""
+
+
+def changes(steps: Iterable[Step]) -> Iterator[PathChange]:
+    """Yield the changes of addresses. `steps` are the engine's steps on HTTPRoutes.
+
+    Nothing is yielded for an address that moves to another route with the same backends.
+    """
+    before = dict[str, tuple[str, Mapping[str, int]]]()
+    after = dict[str, tuple[str, Mapping[str, int]]]()
+    for step in steps:
+        service = _service(step)
+        before |= {address: (service, backends) for address, backends in _addresses(step.old)}
+        after |= {address: (service, backends) for address, backends in _addresses(step.new)}
+    for address in sorted({*before, *after}):
+        if address not in after:
+            yield PathChange(before[address][0], "delete", address, "")
+        elif address not in before:
+            yield PathChange(after[address][0], "create", address, "")
+        elif before[address][1] != after[address][1]:
+            yield PathChange(after[address][0], "update", address, _destinations(before[address][1], after[address][1]))
+
+
+def _service(step: Step) -> str:
+    """Return the service of a route: the value of the route's service label, else the name of the route."""
+    metadata = (step.new or step.old).get("metadata", EMPTY)
+    return metadata.get("labels", EMPTY).get(labels.SERVICE) or metadata.get("name", "")
+
+
+def _addresses(route: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int]]]:
+    """Yield backend address of a route, with the weights of its backends."""
+    spec = route.get("spec", EMPTY)
+    for rule in spec.get("rules") or ():
+        backends = {backend.get("name", ""): backend.get("weight", 1) for backend in rule.get("backendRefs") or ()}
+        for match in rule.get("matches") or (EMPTY,):
+            path = match.get("path", EMPTY).get("value", "/")
+            named = "".join(f" [{header.get('name', '')}]" for header in match.get("headers") or ())
+            for host in spec.get("hostnames") or ("",):
+                yield f"{host}{path}{named}", backends
+
+
+def _destinations(old: Mapping[str, int], new: Mapping[str, int]) -> str:
+    """Return the shares of the destinations of an address, before and after the change."""
+    return f"{_shares(old)} → {_shares(new)}"
+
+
+def _shares(backends: Mapping[str, int]) -> str:
+    total = sum(backends.values())
+    if len(backends) <= 1:
+        return next(iter(backends), "nothing")
+    return ", ".join(f"{name} {100 * weight // total if total else 0} %" for name, weight in backends.items())
diff --git a/judging/report/running.py b/judging/report/running.py
new file mode 100644
index 00000000..e953f4be
--- /dev/null
+++ b/judging/report/running.py
@@ -0,0 +1,127 @@
+"""Pods that run before a change, read from objects in the cluster or in Pulumi's state."""
+
+import re
+from collections.abc import Iterable, Mapping
+from dataclasses import dataclass
+from functools import reduce
+from typing import Any
+
+from models.accelerators import ExtendedResource
+from models.trees import EMPTY
+from planning.ground.api_groups import DEPLOYMENT_API, LEADER_WORKER_SET_API
+from planning.hardware.accelerators import AcceleratorClass
+
+WORKLOADS: Mapping[str, str] = {
+    "Deployment": DEPLOYMENT_API.partition("/")[0],
+    "LeaderWorkerSet": LEADER_WORKER_SET_API.partition("/")[0],
+}
+"""API groups of the kinds of workloads."""
+_TEMPLATES: Mapping[str, tuple[str, ...]] = {
+    "Deployment": ("spec", "template"),
+    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "workerTemplate"),
+}
+"""Path of the pod template by kind of workload; for a LeaderWorkerSet, the template of the workers."""
+_NUMBER = re.compile(r"[0-9]{1,9}")
+
+
+@dataclass(frozen=True, slots=True)
+class RunningPods:
+    """The pods of a workload before a change."""
+
+    replicas: int | None
+    """Number of replicas; None if the object states none, because an autoscaler decides."""
+    pods_per_replica: int
+    devices_per_pod: int
+    """Devices that a pod requests as an extended resource; 0 if the pod uses device claims."""
+    accelerator: str | None
+    """Accelerator class of these devices; None if no class has them."""
+    is_of_any_product: bool
+    """Whether the class demands no labels of nodes, or is unknown."""
+    content: Mapping[str, Any]
+    """The workload object."""
+
+
+def of_object(
+    kind: str, content: Mapping[str, Any], classes: Mapping[str, AcceleratorClass], planned: str | None = None
+) -> RunningPods | None:
+    """Return the pods of an object; None if the object is no workload, or has no content.
+
+    `planned` is the class of the pods after the change. It is preferred to other classes with the same devices.
+    """
+    if kind not in WORKLOADS or not content:
+        return None
+    spec = content.get("spec", EMPTY)
+    pod = template(kind, content).get("spec", EMPTY)
+    limits = [container.get("resources", EMPTY).get("limits", EMPTY) for container in pod.get("containers", ())]
+    devices = {name: int(number) for amounts in limits for name, number in amounts.items() if _is_device(name, number)}
+    size = 1
+    if kind == "LeaderWorkerSet":
+        size = spec.get("leaderWorkerTemplate", EMPTY).get("size", 1)
+    replicas = spec.get("replicas")
+    accelerator = _class(devices.keys(), pod, classes, planned)
+    return RunningPods(
+        replicas=None if replicas is None else int(replicas),
+        pods_per_replica=int(size),
+        devices_per_pod=sum(devices.values()),
+        accelerator=accelerator,
+        is_of_any_product=accelerator is None or not classes[accelerator].node_labels,
+        content=content,
+    )
+
+
+def template(kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
+    """Return the pod template of a workload; for a LeaderWorkerSet, the template of the workers."""
+    return reduce(lambda tree, key: tree.get(key, EMPTY), _TEMPLATES.get(kind, ("spec", "template")), content)
+
+
+def template_fields(kind: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
+    """Return the subtree of the pod template from a workload's tree of fields (FieldsV1)."""
+    return reduce(lambda tree, key: tree.get(f"f:{key}", EMPTY), _TEMPLATES[kind], fields)
+
+
+def leader_labels(kind: str, content: Mapping[str, Any]) -> Mapping[str, str]:
+    """Return the labels of a workload's pods; for a LeaderWorkerSet, the labels of the leaders."""
+    groups = content.get("spec", EMPTY).get("leaderWorkerTemplate", EMPTY)
+    if kind == "LeaderWorkerSet":
+        leader = groups.get("leaderTemplate", EMPTY)
+    else:
+        leader = template(kind, content)
+    return leader.get("metadata", EMPTY).get("labels", EMPTY)
+
+
+def _is_device(name: str, number: object) -> bool:
+    return "/" in name and _NUMBER.fullmatch(str(number)) is not None
+
+
+def _class(
+    resources: Iterable[str], pod: Mapping[str, Any], classes: Mapping[str, AcceleratorClass], planned: str | None
+) -> str | None:
+    """Return the class whose resource a pod requests and whose node labels it requires; None if there is no such class.
+
+    Of several such classes, the class with the most labels is chosen; of classes with equally many labels, `planned`.
+    """
+    labels = _required_labels(pod)
+    names = frozenset(resources)
+    fitting = (
+        (len(cls.node_labels), name == planned, name)
+        for name, cls in classes.items()
+        if isinstance(cls.allocation, ExtendedResource)
+        and cls.allocation.resource_name in names
+        and all(labels.get(key) == frozenset(values) for key, values in cls.node_labels.items())
+    )
+    return max(fitting, default=(0, False, None))[2]
+
+
+def _required_labels(pod: Mapping[str, Any]) -> dict[str, frozenset[str]]:
+    """Return the labels that the nodes of a pod must have, expression with its possible values."""
+    required = (
+        pod.get("affinity", EMPTY)
+        .get("nodeAffinity", EMPTY)
+        .get("requiredDuringSchedulingIgnoredDuringExecution", EMPTY)
+    )
+    labels = dict[str, frozenset[str]]()
+    for term in required.get("nodeSelectorTerms", ()):
+        for expression in term.get("matchExpressions", ()):
+            if expression.get("operator") == "In":
+                labels[expression.get("key", "")] = frozenset(expression.get("values", ()))
+    return {**labels, **{key: frozenset((value,)) for key, value in pod.get("nodeSelector", EMPTY).items()}}
diff --git a/judging/report/shapes.py b/judging/report/shapes.py
new file mode 100644
index 00000000..7d48615c
--- /dev/null
+++ b/judging/report/shapes.py
@@ -0,0 +1,101 @@
+"""Shapes of the values that reports read in objects of an event log.
+
+A preview has any text in place of a value that is unknown yet or secret, and a program may have resources of other
+providers, so an object of the log is not always an object as Kubernetes takes it. What has another shape is left out.
+"""
+
+from collections.abc import Callable, Mapping
+from typing import Any, cast
+
+Shape = Callable[[object], bool] | type[str] | list["Shape"] | dict[str, "Shape"]
+"""A check, text, a list of values of one shape, or a mapping with the shapes of some keys; `*` stands for all keys."""
+_LARGEST = 2**31
+"""First number that the API server takes for no number of replicas (int32)."""
+
+
+def _is_count(value: object) -> bool:
+    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
+
+
+def _is_quantity(value: object) -> bool:
+    return isinstance(value, str) or _is_count(value)
+
+
+_METADATA: dict[str, Shape] = {"name": str, "namespace": str, "labels": {"*": str}, "annotations": {}}
+_CONTAINER: dict[str, Shape] = {
+    "name": str,
+    "image": str,
+    "args": [str],
+    "env": [{"name": str}],
+    "resources": {"limits": {"*": _is_quantity}},
+}
+_TERMS: list[Shape] = [{"matchExpressions": [{"key": str, "operator": str, "values": [str]}]}]
+_AFFINITY: dict[str, Shape] = {
+    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": _TERMS}}
+}
+_TEMPLATE: dict[str, Shape] = {
+    "metadata": _METADATA,
+    "spec": {"containers": [_CONTAINER], "affinity": _AFFINITY, "nodeSelector": {"*": str}},
+}
+_GROUP: dict[str, Shape] = {"size": _is_count, "leaderTemplate": _TEMPLATE, "workerTemplate": _TEMPLATE}
+_RULE: dict[str, Shape] = {
+    "matches": [{"path": {"value": str}, "headers": [{"name": str}]}],
+    "backendRefs": [{"name": str, "weight": _is_count}],
+}
+_OBJECT: dict[str, Shape] = {
+    "apiVersion": str,
+    "kind": str,
+    "metadata": _METADATA,
+    "spec": {
+        "replicas": _is_count,
+        "template": _TEMPLATE,
+        "leaderWorkerTemplate": _GROUP,
+        "hostnames": [str],
+        "rules": [_RULE],
+    },
+}
+_ABSENT = object()
+
+
+def readable(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
+    """Return the inputs of a resource without values that a report cannot read."""
+    return cast("Mapping[str, Any]", _fitting(inputs, _OBJECT))
+
+
+def _fitting(value: object, shape: Shape) -> object:
+    """Return the parts of a value that have the shape; `_ABSENT` if the value itself has another one."""
+    if isinstance(shape, dict):
+        keys = cast("dict[str, Shape]", shape)
+        if isinstance(value, dict):
+            return _mapping(cast("Mapping[str, object]", value), keys)
+        return _ABSENT
+    if isinstance(shape, list):
+        item = cast("list[Shape]", shape)[0]
+        if isinstance(value, list):
+            return _list(cast("list[object]", value), item)
+        return _ABSENT
+    if shape is str:
+        fits = isinstance(value, str)
+    else:
+        fits = cast("Callable[[object], bool]", shape)(value)
+    if fits:
+        return value
+    return _ABSENT
+
+
+def _mapping(value: Mapping[str, object], shape: Mapping[str, Shape]) -> Mapping[str, object]:
+    every = shape.get("*")
+    readable_fields = dict[str, object]()
+    for key, child in value.items():
+        of_key = shape.get(key, every)
+        fitting = child
+        if of_key is not None:
+            fitting = _fitting(child, of_key)
+        if fitting is not _ABSENT:
+            readable_fields[key] = fitting
+    return readable_fields
+
+
+def _list(values: list[object], shape: Shape) -> list[object]:
+    fitting = (_fitting(value, shape) for value in values)
+    return [value for value in fitting if value is not _ABSENT]
diff --git a/judging/report/summary.py b/judging/report/summary.py
new file mode 100644
index 00000000..0056f168
--- /dev/null
+++ b/judging/report/summary.py
@@ -0,0 +1,361 @@
+"""Summary of a run: services, devices, money, paths and problems, from the engine's events, the plan and the facts."""
+
+from collections.abc import Iterable, Iterator, Mapping
+from dataclasses import dataclass
+from decimal import Decimal
+from typing import TypedDict
+
+from judging.report import bill, capacity, drift, edits, growth, memory_rows, paths, running, words
+from judging.report.capacity import Capacity
+from judging.report.drift import Drift
+from judging.report.events import Diagnostic, Events, Step
+from judging.report.growth import Change
+from judging.report.paths import PathChange
+from judging.report.running import WORKLOADS, RunningPods
+from judging.report.words import Operation
+from models import credentials
+from models.problems import LogLine
+from models.stack import Stack
+from planning import money
+from planning.ground import labels
+from planning.ground.cluster_facts import ClusterFacts, Place
+from planning.hardware import accelerators
+from planning.money import Cost, DeviceRange, Usage
+from planning.plans import StackPlan
+
+_OPERATIONS: Mapping[str, Operation] = {
+    "create": "create",
+    "update": "update",
+    "delete": "delete",
+    "replace": "replace",
+    "create-replacement": "replace",
+    "delete-replaced": "replace",
+}
+"""Operations on workloads, by the engine's names for them (sdk/go/common/apitype/history.go, OpType)."""
+_RESTARTING = ("spec.template", "spec.leaderWorkerTemplate")
+"""Prefixes of paths of properties. A difference in such a property replaces pods."""
+_HIDDEN = "…"
+_NOISE = ("an unhandled error occurred: program exited with non-zero exit code", "using pulumi-")
+"""Prefixes of messages that reports leave out: the exit of the program after its errors, and the plugin in use."""
+
+
+@dataclass(frozen=True, slots=True)
+class WorkloadLine:
+    """A workload that changes, and the consequences for its pods."""
+
+    name: str
+    service: str
+    """Name of the service."""
+    operation: Operation
+    edits: tuple[str, ...]
+    """Differences between its old and its new pods."""
+    fate: str
+    """Consequences for its pods, in words."""
+    outage: int | None
+    """Minutes without any ready replica; None if some replicas stay ready."""
+    remedy: str
+
+    @property
+    def mark(self) -> str:
+        """Return the sign of the line: `!` for an outage, else `+`, `-` or `~`."""
+        if self.outage is not None:
+            return "!"
+        return {"create": "+", "delete": "-"}.get(self.operation, "~")
+
+
+@dataclass(frozen=True, slots=True)
+class Summary:
+    """The contents of a report on a run."""
+
+    stack: str
+    """Name of the stack; empty if it is unknown."""
+    workloads: tuple[WorkloadLine, ...]
+    """Workloads that change: outages first, then by name."""
+    paths: tuple[PathChange, ...]
+    drift: tuple[Drift, ...]
+    """Objects that somebody changed or deleted; empty if the run did not refresh its state."""
+    others: Mapping[str, Mapping[str, int]]
+    """Number of objects that change, by operation and kind. Serving workloads and routes are left out."""
+    capacity: Capacity
+    before: Cost
+    """Cost of the stack's devices in a month before the run."""
+    after: Cost
+    """Cost of the stack's devices in a month after the run."""
+    currency: str
+    is_priced: bool
+    """Whether any accelerator class has a price."""
+    usages: tuple[Usage, ...]
+    profiles: Mapping[str, str]
+    """Selected serving profiles and the reasons for them, by the name of the service."""
+    errors: tuple[Diagnostic, ...]
+    warnings: tuple[Diagnostic, ...]
+    unchecked: tuple[str, ...]
+    """Checks that the run or the report could not make, with the reason."""
+    is_complete: bool
+    """Whether the engine's run came to its end."""
+
+    @property
+    def services(self) -> tuple[str, ...]:
+        """Return the names of the services that change, sorted."""
+        named = {line.service for line in self.workloads} | {change.service for change in self.paths}
+        return tuple(sorted(named - {""}))
+
+
+@dataclass(frozen=True, slots=True)
+class ComposedStack:
+    """The configuration and the plan of the stack that the run is about, and the facts of its cluster."""
+
+    stack: Stack
+    plan: StackPlan
+    facts: ClusterFacts
+
+
+def of_events(events: Events) -> Summary:
+    """Return the summary of a run whose configuration has mistakes. The summary has only diagnostics and drift."""
+    nothing = Cost(Decimal(0), Decimal(0))
+    return Summary(
+        stack=events.stack,
+        workloads=(),
+        paths=(),
+        drift=drift.of_events(events),
+        others={},
+        capacity=Capacity((), (), (), ()),
+        before=nothing,
+        after=nothing,
+        currency="",
+        is_priced=False,
+        usages=(),
+        profiles={},
+        **_diagnostics(events, frozenset(), ()),
+    )
+
+
+def summarize(events: Events, composed: ComposedStack) -> Summary:
+    """Return the summary of a run on a stack."""
+    steps = {
+        step.place: step for step in events.steps if step.is_custom and not step.is_drift and step.kind in WORKLOADS
+    }
+    changes = _changes(steps, composed)
+    gone = _gone(steps, composed)
+    lines = [*_lines(changes, steps, composed, gone), *_gone_lines(gone, steps, changes)]
+    ending = (*gone.values(), *_predecessors(steps, composed))
+    prices = composed.stack.prices
+    devices = capacity.of_changes(changes, ending, composed.facts)
+    return Summary(
+        stack=events.stack,
+        workloads=tuple(sorted(lines, key=lambda line: (line.outage is None, line.service, line.name))),
+        paths=tuple(paths.changes(step for step in events.changes if step.kind == "HTTPRoute")),
+        drift=drift.of_events(events),
+        others=_others(events),
+        capacity=devices,
+        before=money.cost(_devices_before(changes, ending), prices),
+        after=bill.cost(composed.plan, prices),
+        currency=prices.currency,
+        is_priced=bool(prices.per_device_hour),
+        usages=tuple(bill.usages(composed.stack, composed.plan)),
+        profiles=_profiles(composed.plan),
+        **_diagnostics(events, _public_texts(composed.plan), devices.unchecked),
+    )
+
+
+def _profiles(plan: StackPlan) -> dict[str, str]:
+    """Return the profiles by service. The profile of a canary or prefill is added if it is not the service's."""
+    profiles = dict[str, str]()
+    for service in plan.services:
+        texts = [profile.text for variant in service.variants for profile in variant.profiles.values()]
+        if texts:
+            profiles[service.primary.names.base] = "; ".join(dict.fromkeys(texts))
+    return profiles
+
+
+class _Diagnostics(TypedDict):
+    errors: tuple[Diagnostic, ...]
+    warnings: tuple[Diagnostic, ...]
+    unchecked: tuple[str, ...]
+    is_complete: bool
+
+
+def _public_texts(plan: StackPlan) -> frozenset[str]:
+    """Return names and sources of models. Reports may show these texts, but hide other values of arguments."""
+    variants = (variant for service in plan.services for variant in service.variants)
+    return frozenset(text for variant in variants for text in (variant.model, variant.source))
+
+
+def _diagnostics(events: Events, public: frozenset[str], unchecked: tuple[str, ...]) -> _Diagnostics:
+    """Return the errors and warnings of a run, diagnostic once, without texts that reports must hide.
+
+    Names of objects and the texts in `public` are not hidden. Warnings about checks that did not run become items of
+    `unchecked`, after those of the parameter, and are left out of `warnings`.
+    """
+    texts = frozenset(
+        text for step in events.steps for inputs in (step.old, step.new) for text in edits.sensitive(inputs)
+    )
+    hidden = texts - public - {name for step in events.steps for name in (step.name, *step.place)}
+    masked = dict.fromkeys(
+        _without_values(diagnostic, hidden)
+        for diagnostic in events.diagnostics
+        if not diagnostic.message.startswith(_NOISE)
+    )
+    warnings = [diagnostic for diagnostic in masked if diagnostic.severity == "warning"]
+    gaps = dict.fromkeys((*unchecked, *filter(None, map(_gap, warnings))))
+    return {
+        "errors": tuple(diagnostic for diagnostic in masked if diagnostic.severity == "error"),
+        "warnings": tuple(diagnostic for diagnostic in warnings if _gap(diagnostic) is None),
+        "unchecked": tuple(gaps),
+        "is_complete": events.is_complete,
+    }
+
+
+def _gap(diagnostic: Diagnostic) -> str | None:
+    """Return the check that a warning calls unchecked, with the reason; None for any other diagnostic."""
+    return LogLine.gap_words(diagnostic.message)
+
+
+def _changes(steps: Mapping[Place, Step], composed: ComposedStack) -> list[Change]:
+    """Return the changes of the workloads of the plan. The pods that run now follow from inputs in Pulumi's state."""
+    classes = accelerators.classes(composed.stack.accelerators)
+    old_pods = dict[Place, RunningPods]()
+    for change in growth.changes(composed.plan, {}, {}):
+        step = steps.get(change.place)
+        if step is None or _moves(step):
+            continue
+        old = running.of_object(step.kind, step.old, classes, change.accelerator)
+        old_pods |= {} if old is None else {change.place: old}
+    return growth.changes(composed.plan, old_pods, {place: _restarts(steps[place]) for place in old_pods})
+
+
+def _restarts(step: Step) -> bool:
+    """Tell whether a step replaces running pods."""
+    operation = _OPERATIONS.get(step.operation)
+    return operation == "replace" or any(path.startswith(_RESTARTING) for path in step.differences)
+
+
+def _gone(steps: Mapping[Place, Step], composed: ComposedStack) -> dict[Place, RunningPods]:
+    """Return the deleted workloads that serve models. Endpoint pickers, which lack a service's label, are left out."""
+    classes = accelerators.classes(composed.stack.accelerators)
+    deleted = ((place, step) for place, step in steps.items() if _OPERATIONS.get(step.operation) == "delete")
+    workloads = ((place, running.of_object(step.kind, step.old, classes)) for place, step in deleted if _owner(step)[0])
+    return {place: old for place, old in workloads if old is not None}
+
+
+def _predecessors(steps: Mapping[Place, Step], composed: ComposedStack) -> Iterator[RunningPods]:
+    """Yield the workloads that run under another name, or in another namespace, until their replacements are ready."""
+    classes = accelerators.classes(composed.stack.accelerators)
+    for step in steps.values():
+        old = None
+        if _moves(step) and _owner(step)[0]:
+            old = running.of_object(step.kind, step.old, classes)
+        if old is not None:
+            yield old
+
+
+def _lines(
+    changes: list[Change], steps: Mapping[Place, Step], composed: ComposedStack, gone: Mapping[Place, RunningPods]
+) -> Iterator[WorkloadLine]:
+    old_owners = {_owner(steps[place]) for place in gone}
+    for change in changes:
+        step = steps.get(change.place)
+        operation = None
+        if step is not None:
+            operation = _OPERATIONS.get(step.operation)
+        if step is None or operation is None:
+            continue
+        beside = (operation == "create" and _owner(step) in old_owners) or (operation == "replace" and _moves(step))
+        fate = words.fate(operation, change, _size(change, composed.stack), beside=beside)
+        edited_pods = ()
+        if step.old and step.new:
+            edited_pods = edits.edits(step.kind, step.old, step.new)
+        scaled = ()
+        if operation == "update":
+            scaled = _replica_edits(change)
+        room = ()
+        if edited_pods:
+            room = _headroom(change, step)
+        edited = (*edited_pods, *scaled, *room)
+        yield WorkloadLine(change.workload.name, change.service, operation, edited, fate.text, fate.outage, fate.remedy)
+
+
+def _headroom(change: Change, step: Step) -> tuple[str, ...]:
+    """Return the memory that a change takes away from the KV cache, as text."""
+    is_comparable = memory_rows.is_comparable(step.kind, step.old, step.new)
+    if is_comparable:
+        return memory_rows.headroom(change.workload, step.old)
+    return ()
+
+
+def _moves(step: Step) -> bool:
+    """Tell whether the new object has another name or namespace, so that the engine deletes the old object later."""
+    old, new = (inputs.get("metadata", {}) for inputs in (step.old, step.new))
+    return bool(old and new) and any(old.get(key) != new.get(key) for key in ("name", "namespace"))
+
+
+def _replica_edits(change: Change) -> tuple[str, ...]:
+    """Return the old and the new number of replicas if pods restart. The words for a restart have no old number."""
+    is_scaled = change.restarts and change.before != change.after and change.workload.autoscaler is None
+    if is_scaled:
+        return (f"replicas {change.before} → {change.after}",)
+    return ()
+
+
+def _gone_lines(
+    gone: Mapping[Place, RunningPods], steps: Mapping[Place, Step], changes: list[Change]
+) -> Iterator[WorkloadLine]:
+    created = {_owner(steps[change.place]) for change in changes if change.running is None and change.place in steps}
+    for place in gone:
+        owner = _owner(steps[place])
+        fate = words.departure(beside=owner in created)
+        yield WorkloadLine(place[3], owner[0], "delete", (), fate, None, "")
+
+
+def _owner(step: Step) -> tuple[str, str, str]:
+    """Return service, variant and role of a workload, from its labels."""
+    leader_labels = running.leader_labels(step.kind, step.new or step.old)
+    return (
+        leader_labels.get(labels.SERVICE, ""),
+        leader_labels.get(labels.VARIANT, ""),
+        leader_labels.get(labels.ROLE, ""),
+    )
+
+
+def _size(change: Change, stack: Stack) -> str | None:
+    """Return the bytes of a workload's weights; None if they are unknown."""
+    service = stack.services[change.service]
+    is_canary = service.canary is not None and "canary" in change.workload.path
+    if is_canary and service.canary is not None:
+        model = service.canary.model
+    else:
+        model = service.model
+    return model.size
+
+
+def _devices_before(changes: list[Change], ending: Iterable[RunningPods]) -> Iterator[DeviceRange]:
+    for change in changes:
+        old = change.running
+        if old is not None:
+            per_replica = (old.devices_per_pod or change.workload.layout.chips_per_pod) * old.pods_per_replica
+            count = change.before.times(per_replica * change.workload.accelerator.devices_per_chip)
+            yield DeviceRange(old.accelerator or change.accelerator, count.low, count.high)
+    for old in ending:
+        count = (1 if old.replicas is None else old.replicas) * old.devices_per_pod * old.pods_per_replica
+        yield DeviceRange(old.accelerator or "unknown", count, count)
+
+
+def _others(events: Events) -> dict[str, dict[str, int]]:
+    """Return the number of changed objects by operation and kind, without serving workloads and routes."""
+    numbers = dict[str, dict[str, int]]()
+    # The engine may report one replacement as several steps. Here, these steps have one key and count once.
+    steps = {(_OPERATIONS.get(step.operation, step.operation), step.urn): step for step in events.changes}
+    for (operation, _), step in steps.items():
+        is_server = step.kind in WORKLOADS and bool(_owner(step)[0])
+        if not is_server and step.kind != "HTTPRoute" and not step.type.startswith("pulumi:"):
+            kinds = numbers.setdefault(operation, {})
+            kinds[step.kind] = kinds.get(step.kind, 0) + 1
+    return numbers
+
+
+def _without_values(diagnostic: Diagnostic, hidden: frozenset[str]) -> Diagnostic:
+    """Return a diagnostic without credentials and without values of variables, arguments and annotations."""
+    message = diagnostic.message
+    for text in sorted((text for text in hidden if text in message), key=len, reverse=True):
+        message = message.replace(text, _HIDDEN)
+    return Diagnostic(diagnostic.severity, credentials.hide(message), diagnostic.resource, diagnostic.policy)
diff --git a/judging/report/times.py b/judging/report/times.py
new file mode 100644
index 00000000..018b6519
--- /dev/null
+++ b/judging/report/times.py
@@ -0,0 +1,64 @@
+"""Times of a rollout: minutes until pods are ready, from the bytes of their weights and the rates of a table."""
+
+from dataclasses import dataclass
+
+from judging.report.growth import Change
+from models.role import Recreate
+from models.vocabulary import amount
+
+_MINUTE = 60
+
+
+@dataclass(frozen=True, slots=True)
+class Rates:
+    """Rates at which pods become ready."""
+
+    fetch: int
+    """Bytes in a second from a source to a pod."""
+    load: int
+    """Bytes in a second from a volume to devices."""
+    begin: int
+    """Seconds of a start, without the time for fetching and loading weights."""
+
+
+def start_seconds(change: Change, size: str | None, rates: Rates) -> int:
+    """Return the seconds from a pod's creation until it is ready; `size` is the size of the weights.
+
+    The result is at most the progress deadline of the workload, which includes the startup budget. If the size is
+    unknown, the result is the deadline.
+    """
+    deadline = change.workload.progress_deadline
+    if size is None:
+        return deadline
+    count = int(amount(size))
+    fetched = 0
+    if change.workload.weights.fetches:
+        fetched = count // rates.fetch
+    return min(deadline, rates.begin + fetched + count // rates.load)
+
+
+def outage_seconds(change: Change, size: str | None, rates: Rates) -> int:
+    """Return the seconds without a ready replica if all replicas restart together.
+
+    Old pods drain, then new pods start. With a surge, new pods start while old pods drain, so the drain adds no time.
+    """
+    rollout = change.workload.rollout
+    drain = change.workload.drain.grace
+    waits = isinstance(rollout, Recreate) or not rollout.max_surge
+    return start_seconds(change, size, rates) + (drain if waits else 0)
+
+
+def rollout_seconds(change: Change, size: str | None, rates: Rates) -> int:
+    """Return the seconds from the start of a rollout to its end."""
+    rollout = change.workload.rollout
+    replicas = change.after.high
+    at_once = replicas
+    if not isinstance(rollout, Recreate):
+        at_once = max(1, rollout.max_surge + rollout.max_unavailable)
+    steps = max(1, -(-replicas // max(1, at_once)))
+    return steps * outage_seconds(change, size, rates)
+
+
+def minutes(seconds: int) -> int:
+    """Return whole minutes, at least one."""
+    return max(1, -(-seconds // _MINUTE))
diff --git a/judging/report/words.py b/judging/report/words.py
new file mode 100644
index 00000000..fed72225
--- /dev/null
+++ b/judging/report/words.py
@@ -0,0 +1,168 @@
+"""Words for the consequences of a change for pods and paths, from the table `words.yaml`."""
+
+from collections.abc import Mapping
+from dataclasses import dataclass
+from datetime import date
+from functools import cache
+from typing import Literal
+
+from judging.report import times
+from judging.report.growth import Change
+from judging.report.times import Rates
+from models.base import Spec
+from models.role import Recreate
+from models.vocabulary import Bytes, amount
+from planning.ground import tables
+
+Operation = Literal["create", "update", "delete", "replace"]
+"""Operation of Pulumi's engine on the object of a workload."""
+PathOperation = Literal["create", "update", "delete"]
+"""Operation on an address of a route."""
+
+
+class WordsRow(Spec):
+    """A row of the table: conditions, and the words if all conditions hold. An absent condition always holds.
+
+    The head of `words.yaml` explains the conditions.
+    """
+
+    operation: Operation
+    beside: bool | None = None
+    restarts: bool | None = None
+    scales: bool | None = None
+    before: Literal["none", "some"] | None = None
+    rollout: Literal["RollingUpdate", "Recreate"] | None = None
+    ready: Literal["none", "some"] | None = None
+    words: str
+    outage: bool = False
+    """Whether no replica is ready at some moment."""
+    remedy: bool = False
+    """Whether a surge or more replicas would avoid the outage."""
+
+
+class PathRow(Spec):
+    """Words for an operation on an address of a route."""
+
+    operation: PathOperation
+    words: str
+
+
+class _RatesTable(Spec):
+    fetch: Bytes
+    load: Bytes
+    begin: int
+
+
+class _Table(Spec):
+    source: str
+    date: date
+    proof: Literal["binary", "source", "none"]
+    rates: _RatesTable
+    rows: list[WordsRow]
+    paths: list[PathRow]
+
+
+@dataclass(frozen=True, slots=True)
+class Fate:
+    """Consequences of a change for the pods of a workload."""
+
+    text: str
+    outage: int | None
+    """Minutes without any ready replica; None if some replicas stay ready."""
+    remedy: str
+    """Advice against the outage; empty if there is no outage, or if no advice helps."""
+
+
+def rates() -> Rates:
+    """Return the rates of the table."""
+    rates = _table().rates
+    return Rates(int(amount(rates.fetch)), int(amount(rates.load)), rates.begin)
+
+
+def rows() -> list[WordsRow]:
+    """Return the rows of the table in their order."""
+    return _table().rows
+
+
+def path(operation: PathOperation, address: str, destinations: str) -> str:
+    """Return what happens to an address. `destinations` says where requests to it go before and after the change."""
+    row = next(row for row in _table().paths if row.operation == operation)
+    return row.words.format(address=address, destinations=destinations)
+
+
+@cache
+def _table() -> _Table:
+    return tables.read(_Table, "report/words.yaml", "judging")
+
+
+def fate(operation: Operation, change: Change, size: str | None, *, beside: bool = False) -> Fate:
+    """Return what happens to the pods of a workload. `size` is the size of their weights; None if unknown.
+
+    `beside` says whether other pods of the variant, with another name, run until the new pods are ready.
+    """
+    row = _row(_facts(operation, change, beside=beside))
+    seconds = times.start_seconds
+    if change.restarts and change.before.high and not beside:
+        if row.outage:
+            seconds = times.outage_seconds
+        else:
+            seconds = times.rollout_seconds
+    minutes = times.minutes(seconds(change, size, rates()))
+    text = row.words.format(minutes=minutes, about="up to" if size is None else "about", **_numbers(change))
+    return Fate(text, minutes if row.outage else None, _remedy(change) if row.remedy else "")
+
+
+def departure(*, beside: bool) -> str:
+    """Return what happens to the pods of a deleted workload; `beside` says whether other pods take their place."""
+    return _row({"operation": "delete", "beside": beside}).words
+
+
+def _row(facts: Mapping[str, object]) -> WordsRow:
+    """Return the first row whose conditions hold."""
+    return next(row for row in rows() if all(getattr(row, name) in {None, value} for name, value in facts.items()))
+
+
+def _facts(operation: Operation, change: Change, *, beside: bool) -> Mapping[str, object]:
+    rollout = change.workload.rollout
+    return {
+        "operation": operation,
+        "beside": beside,
+        "restarts": change.restarts,
+        "scales": change.before != change.after and change.workload.autoscaler is None,
+        "before": "some" if change.before.low else "none",
+        "rollout": rollout.type,
+        "ready": "some" if ready(change) else "none",
+    }
+
+
+def ready(change: Change) -> int:
+    """Return the number of replicas that stay ready at the worst moment, if the smallest number of replicas runs."""
+    rollout = change.workload.rollout
+    if isinstance(rollout, Recreate):
+        return 0
+    return max(0, min(change.before.low, change.after.low - rollout.max_unavailable))
+
+
+def _numbers(change: Change) -> dict[str, object]:
+    """Return the numbers that the words can contain."""
+    rollout = change.workload.rollout
+    step = 0
+    if not isinstance(rollout, Recreate):
+        step = max(1, rollout.max_surge + rollout.max_unavailable)
+    replicas = change.after.low
+    return {
+        "step": step,
+        "ready": ready(change),
+        "replicas": f"{replicas} replica{'' if replicas == 1 else 's'}" if not change.before.low else replicas,
+        "before": change.before,
+        "after": change.after,
+    }
+
+
+def _remedy(change: Change) -> str:
+    """Return advice against an outage. A surge helps only if no old pod ends before a new pod is ready."""
+    rollout = change.workload.rollout
+    more = ""
+    if not isinstance(rollout, Recreate):
+        more = f"replicas: {rollout.max_unavailable + 1}, or "
+    return f"{more}maxSurge: 1 with maxUnavailable: 0 avoids it"
diff --git a/judging/report/words.yaml b/judging/report/words.yaml
new file mode 100644
index 00000000..2a8d807c
--- /dev/null
+++ b/judging/report/words.yaml
@@ -0,0 +1,53 @@
+# Words for what happens to the pods of a workload, and the rates from which their minutes follow.
+#
+# The first row whose conditions all hold gives the words; conditions that a row leaves out hold always.
+#
+# operation   create, update, delete or replace: what the engine does to the workload object
+# beside      whether other pods of the same variant, under another name or in another namespace, run at the same time:
+#             old pods until the new pods are ready. The engine deletes an object first only if the new object has the
+#             same name and namespace
+#             (pulumi-kubernetes 4.25, provider/pkg/provider/provider.go, Diff: deleteBeforeReplace)
+# restarts    whether the pods are replaced, because their template changes
+# before      replicas before the change: none or some
+# rollout     RollingUpdate or Recreate
+# ready       replicas that stay ready at the worst moment: none or some. A Deployment keeps replicas - maxUnavailable of
+#             those that run, whatever maxSurge starts beside them (pkg/controller/deployment/rolling.go,
+#             reconcileOldReplicaSets: minAvailable)
+# scales      whether the number of replicas changes
+#
+# {about}     "about", or "up to" if the size of the weights is unknown: then {minutes} is the deadline of the start
+# {minutes}   from a pod's drain and start to its last step, as `judging.report.times` has it
+#
+# paths are words for addresses of routes: create for a new address, delete for an address that no route has any more,
+# update for an address whose requests go to other {destinations}. A gateway answers 404 if no route matches (Gateway
+# API, HTTPRouteMatch).
+source: kubernetes/kubernetes v1.36 pkg/controller/deployment; kubernetes-sigs/lws v0.9.0 pkg/controllers/leaderworkerset_controller.go
+date: 2026-11-23
+proof: source
+rates:
+  # Bytes in a second. The rates assume a good cluster: object storage or a registry in the same region over 10 Gbit/s,
+  # which four pods share, and weights from a local disk to devices. Deadlines of probes use the slower rates of
+  # planning/ground/lifecycle.py. Neither of the two rates is measured in a user's cluster.
+  fetch: 256Mi
+  load: 512Mi
+  # Seconds from the scheduling of a pod to its first byte of weights, and from its last byte to its readiness: pull of
+  # the image on a node that has most of the layers, start of Python, compilation, graphs.
+  begin: 120
+rows:
+  - {operation: delete, beside: true, words: ends when the new generation is ready}
+  - {operation: delete, words: removed}
+  - {operation: replace, beside: true, words: 'replaced under another name · the old pods end when the new ones are ready · {about} {minutes} min'}
+  - {operation: replace, words: 'replaced · **unavailable for {about} {minutes} min**', outage: true}
+  - {operation: create, beside: true, words: 'new generation beside the old · requests move when it is ready · {about} {minutes} min'}
+  - {operation: create, words: 'new · ready in {about} {minutes} min'}
+  - {operation: update, before: none, scales: true, words: 'starts {replicas} · ready in {about} {minutes} min'}
+  - {operation: update, before: none, words: 'nothing runs, so nothing restarts'}
+  - {operation: update, restarts: false, scales: true, words: 'replicas {before} → {after} · nothing restarts'}
+  - {operation: update, restarts: false, words: nothing restarts}
+  - {operation: update, rollout: Recreate, words: 'all end before the first starts · **unavailable for {about} {minutes} min**', outage: true}
+  - {operation: update, ready: none, words: 'no replica stays ready · **unavailable for {about} {minutes} min**', outage: true, remedy: true}
+  - {operation: update, words: 'restarts {step} by {step} · at least {ready} of {replicas} ready · {about} {minutes} min'}
+paths:
+  - {operation: create, words: '{address}'}
+  - {operation: delete, words: '{address} is gone (404)'}
+  - {operation: update, words: '{address}: {destinations}'}
diff --git a/judging/rights.py b/judging/rights.py
new file mode 100644
index 00000000..5cf31f5f
--- /dev/null
+++ b/judging/rights.py
@@ -0,0 +1,309 @@
+"""Rights that a user needs to preview a stack, to deploy it or to see its status: rules of Roles and a ClusterRole.
+
+The source of the provider's requests is provider/pkg/await of pulumi-kubernetes (4.25): `await.go` has the requests for
+all objects. `deployment.go` and `job.go` have the requests for pods, ReplicaSets and claims, which the provider reads
+while it waits for a Deployment or a Job.
+Reads of the API server's kinds and version need no rule, because every authenticated user has the ClusterRole
+`system:discovery`.
+"""
+
+from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
+from dataclasses import dataclass
+from enum import StrEnum
+from itertools import product
+
+from judging import additions, ownership
+from manifests.assembly import Component, objects
+from models.paths import Path
+from models.problems import Problem, gap, warning
+from planning.ground import bundles
+from planning.ground.api_groups import GATEWAY_GROUP, plural
+from planning.ground.cluster_facts import IDENTITY, Permissions, Unknown
+from planning.ground.needs import Needs
+
+_Rule = Mapping[str, list[str]]
+"""A rule in the form that it has in the manifest of a Role."""
+_GATEWAY_KIND = "Gateway"
+_RBAC = "rbac.authorization.k8s.io"
+_SECRETS = "secrets"
+_READ = ("get",)
+_LIST = ("list",)
+_WRITE = ("create", "patch")
+_DELETE = ("delete", "watch")
+_WAITED = ("list", "watch")
+_OF_PODS: Mapping[str, tuple[tuple[str, str], ...]] = {
+    "Deployment": (("", "persistentvolumeclaims"), ("", "pods"), ("apps", "replicasets")),
+    "Job": (("", "pods"),),
+}
+"""Groups and resources that the provider reads while it waits for an object, and in a refresh, by the object's kind."""
+_URLS = "/"
+"""Value of a rule's `group` if its resources are URL paths of the API server."""
+_CHECK = "the rights of this run"
+_EVERYWHERE = ""
+"""Value for a rule's namespace if the rule applies to the whole cluster."""
+
+
+class Purpose(StrEnum):
+    """Purpose for which a user needs rights."""
+
+    PREVIEW = "preview"
+    DEPLOY = "deploy"
+    STATUS = "status"
+
+
+@dataclass(frozen=True, slots=True, order=True)
+class Rule:
+    """A rule of a Role or ClusterRole."""
+
+    group: str
+    resources: tuple[str, ...]
+    verbs: tuple[str, ...]
+    names: tuple[str, ...] = ()
+    """Names of the objects; empty for all objects."""
+
+    @property
+    def manifest(self) -> dict[str, list[str]]:
+        """Return the rule in the form that it has in the manifest of a Role."""
+        if self.group == _URLS:
+            return {"nonResourceURLs": list(self.resources), "verbs": list(self.verbs)}
+        names = {}
+        if self.names:
+            names = {"resourceNames": list(self.names)}
+        return {"apiGroups": [self.group], "resources": list(self.resources), **names, "verbs": list(self.verbs)}
+
+
+@dataclass(frozen=True, slots=True)
+class RoleRight:
+    """Rights that a Role or ClusterRole of a stack gives. Only users who have these rights can create the Role."""
+
+    namespace: str
+    """Namespace of the Role; empty for a ClusterRole."""
+    rule: Mapping[str, list[str]]
+    """A rule in the form that it has in the manifest of a Role."""
+
+
+@dataclass(frozen=True, slots=True)
+class StackObjects:
+    """Objects of a stack, and the rights that the stack's Roles and ClusterRoles give."""
+
+    objects: frozenset[tuple[str, str]]
+    """Kind (`apiVersion/Kind`) and namespace of the objects; the namespace of a cluster-scoped object is empty."""
+    compared: frozenset[tuple[str, str]]
+    """Kind and namespace of the objects that a preview compares with the cluster, or whose marks it reads."""
+    role_rules: tuple[RoleRight, ...]
+    bound: frozenset[str]
+    """Names of ClusterRoles that the stack binds but does not create."""
+
+
+@dataclass(frozen=True, slots=True)
+class Rights:
+    """The smallest rules that suffice for a purpose, by namespace. An empty namespace stands for the ClusterRole."""
+
+    rules: Mapping[str, tuple[Mapping[str, list[str]], ...]]
+
+
+@dataclass(frozen=True, slots=True)
+class Options:
+    """Optional steps of a preview. Each step needs additional rights."""
+
+    secrets: bool = False
+    """Whether a preview checks that Secrets exist. The right that this check needs is the right to read their values,
+    too."""
+    dry_run: bool = False
+    """Whether a preview sends dry runs to the API server. Dry runs need the verbs for writing."""
+
+
+def of_components(components: Sequence[Component]) -> StackObjects:
+    """Return the objects that a stack makes, and the rights that the stack gives."""
+    items = list(objects(components))
+    roles = [item for item in items if item.manifest["kind"] in {"Role", "ClusterRole"}]
+    own_roles = {item.place[3] for item in roles if item.manifest["kind"] == "ClusterRole"}
+    refs = (item.manifest["roleRef"] for item in items if "roleRef" in item.manifest)
+    read = {(item.api, item.place[2]) for item in items if item.manifest["kind"] not in ownership.UNREAD}
+    return StackObjects(
+        objects=frozenset((item.api, item.place[2]) for item in items),
+        compared=additions.kinds(components) | read,
+        role_rules=tuple(RoleRight(item.place[2], rule) for item in roles for rule in item.manifest["rules"]),
+        bound=frozenset(ref["name"] for ref in refs if ref["kind"] == "ClusterRole" and ref["name"] not in own_roles),
+    )
+
+
+def rights(purpose: Purpose, stack_objects: StackObjects, needs: Needs, options: Options) -> Rights:
+    """Return the rights that suffice for a purpose.
+
+    The rules of namespaces that the stack creates are in the ClusterRole, because no Role can exist before its
+    namespace.
+    """
+    deploys = purpose is Purpose.DEPLOY
+    reads_secrets = options.secrets or deploys
+    writes = options.dry_run or deploys
+    rules = [*_reads(needs, secrets=reads_secrets), *_comparisons(stack_objects)]
+    if purpose is not Purpose.STATUS:
+        rules += _object_rules(stack_objects, _READ + (_WRITE if writes else ()), secrets=reads_secrets)
+        rules += _of_pods(stack_objects, _LIST)
+        rules += _grants(stack_objects) if writes else ()
+    if deploys:
+        rules += [*_object_rules(stack_objects, _DELETE, secrets=True), *_waits(stack_objects)]
+    return Rights(_rules_by_place(_Verbs.of(rules, needs.created)))
+
+
+def judge(needed: Rights, permissions: Permissions | Unknown) -> Iterator[Problem]:
+    """Yield a warning for each place in which a user lacks rights: a namespace, or the whole cluster.
+
+    A missing right is no error, because a run uses some rights only after a failure.
+    """
+    if isinstance(permissions, Unknown):
+        yield gap(Path(), _CHECK, permissions.reason)
+        return
+    for namespace, rules in needed.rules.items():
+        texts = list(dict.fromkeys(_lacking(rules, permissions, namespace)))
+        if texts and not permissions.is_complete:
+            yield gap(Path(), _CHECK, "the API server does not list all rules")
+            return
+        if texts:
+            where = "in the whole cluster"
+            if namespace:
+                where = f"in namespace {namespace}"
+            what = f"this run is not allowed to {', '.join(texts)} {where}, so it may fail, or wait without end"
+            yield warning(Path(), what, "bind the Roles that `python -m cli rights STACK --for deploy` prints")
+
+
+def _lacking(needed: Iterable[_Rule], permissions: Permissions, namespace: str) -> Iterator[str]:
+    """Yield verb and resource of each right that a user lacks."""
+    allowed = (*permissions.rules[_EVERYWHERE], *permissions.rules.get(namespace, ()))
+    for rule in needed:
+        for group, resource, verb in product(rule.get("apiGroups", ()), rule.get("resources", ()), rule["verbs"]):
+            if not any(_allows(other, group, resource, verb, rule.get("resourceNames", ())) for other in allowed):
+                yield f"{verb} {resource}"
+
+
+def _allows(rule: _Rule, group: str, resource: str, verb: str, names: Collection[str]) -> bool:
+    """Tell whether a rule allows a verb on the objects called `names`, or on all objects if `names` is empty."""
+    limit = rule.get("resourceNames")
+    return (
+        _has(rule.get("verbs", ()), verb)
+        and _has(rule.get("apiGroups", ()), group)
+        and _has(rule.get("resources", ()), resource)
+        and (not limit or (len(names) > 0 and {*names} <= {*limit}))
+    )
+
+
+def _has(values: Collection[str], value: str) -> bool:
+    return "*" in values or value in values
+
+
+def _reads(needs: Needs, *, secrets: bool) -> Iterator[tuple[str, Rule]]:
+    """Yield the rules for reading cluster facts."""
+    if needs.namespaces:
+        yield _EVERYWHERE, Rule("", ("namespaces",), _READ, tuple(sorted({*needs.namespaces, IDENTITY})))
+    for gateway in sorted(needs.gateways):
+        if (gateway.group, gateway.kind) == (GATEWAY_GROUP, _GATEWAY_KIND):
+            yield gateway.namespace, Rule(GATEWAY_GROUP, ("gateways",), _READ, (gateway.name,))
+    if needs.gateways:
+        yield _EVERYWHERE, Rule(GATEWAY_GROUP, ("httproutes",), _LIST)
+        names = tuple(sorted(bundles.versioned_definitions()))
+        yield _EVERYWHERE, Rule("apiextensions.k8s.io", ("customresourcedefinitions",), _READ, names)
+    yield from ((namespace, Rule("", ("services",), _LIST)) for namespace in sorted(needs.metered))
+    if needs.storage_classes:
+        yield _EVERYWHERE, Rule("storage.k8s.io", ("storageclasses",), _LIST)
+    if needs.priority_classes:
+        yield _EVERYWHERE, Rule("scheduling.k8s.io", ("priorityclasses",), _LIST)
+    yield from _capacity_reads(needs)
+    for reference in needs.secrets if secrets else ():
+        yield reference.namespace, Rule("", (_SECRETS,), _READ, (reference.name,))
+
+
+def _capacity_reads(needs: Needs) -> Iterator[tuple[str, Rule]]:
+    """Yield the rules for reading facts about devices."""
+    if needs.nodes:
+        yield _EVERYWHERE, Rule("", ("nodes",), _LIST)
+    for namespace in sorted(needs.quotas):
+        yield namespace, Rule("", ("resourcequotas",), _LIST)
+    if needs.slices:
+        yield _EVERYWHERE, Rule("resource.k8s.io", ("resourceslices",), _LIST)
+
+
+def _comparisons(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
+    for api, namespace in sorted(stack_objects.compared):
+        yield namespace, _rule(api, _LIST)
+
+
+def _object_rules(stack_objects: StackObjects, verbs: tuple[str, ...], *, secrets: bool) -> Iterator[tuple[str, Rule]]:
+    for api, namespace in sorted(stack_objects.objects):
+        rule = _rule(api, verbs)
+        if secrets or rule.resources != (_SECRETS,):
+            yield namespace, rule
+
+
+def _waits(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
+    """Yield the rules for the objects that the provider watches while it waits."""
+    for api, namespace in sorted(stack_objects.objects):
+        yield namespace, _rule(api, _WAITED)
+    yield from _of_pods(stack_objects, _WAITED)
+
+
+def _of_pods(stack_objects: StackObjects, verbs: tuple[str, ...]) -> Iterator[tuple[str, Rule]]:
+    """Yield the rules for the pods, ReplicaSets and claims that the provider reads together with a Deployment or a Job.
+
+    Without these rules, a refresh counts Deployments and Jobs as unhealthy, and shows an update.
+    """
+    for api, namespace in sorted(stack_objects.objects):
+        for group, resource in _OF_PODS.get(api.rpartition("/")[2], ()):
+            yield namespace, Rule(group, (resource,), verbs)
+
+
+def _grants(stack_objects: StackObjects) -> Iterator[tuple[str, Rule]]:
+    """Yield rules with the rights that a stack's Roles give, and a rule for binding existing ClusterRoles."""
+    for role_rule in stack_objects.role_rules:
+        rule = role_rule.rule
+        for group in rule.get("apiGroups", ()):
+            names = tuple(rule.get("resourceNames", ()))
+            yield role_rule.namespace, Rule(group, tuple(rule["resources"]), tuple(rule["verbs"]), names)
+        if "nonResourceURLs" in rule:
+            yield _EVERYWHERE, Rule(_URLS, tuple(rule["nonResourceURLs"]), tuple(rule["verbs"]))
+    if stack_objects.bound:
+        yield _EVERYWHERE, Rule(_RBAC, ("clusterroles",), ("bind",), tuple(sorted(stack_objects.bound)))
+
+
+def _rule(api: str, verbs: tuple[str, ...]) -> Rule:
+    version, _, kind = api.rpartition("/")
+    return Rule(version.rpartition("/")[0], (plural(kind),), verbs)
+
+
+@dataclass(frozen=True, slots=True)
+class _Verbs:
+    """Verbs by place, group, resource and names."""
+
+    verbs: Mapping[tuple[str, str, str, tuple[str, ...]], Collection[str]]
+
+    @classmethod
+    def of(cls, rules: Iterable[tuple[str, Rule]], created: Collection[str]) -> "_Verbs":
+        """Collect the verbs of rules. A rule for a namespace in `created` is widened to the whole cluster."""
+        verbs = dict[tuple[str, str, str, tuple[str, ...]], set[str]]()
+        for namespace, rule in rules:
+            place = namespace
+            if namespace in created:
+                place = _EVERYWHERE
+            for resource in rule.resources:
+                verbs.setdefault((place, rule.group, resource, rule.names), set()).update(rule.verbs)
+        return cls(verbs)
+
+    def minimal(self) -> Iterator[tuple[tuple[str, str, str, tuple[str, ...]], tuple[str, ...]]]:
+        """Yield the verbs that no wider rule has. Rules without names and rules for the whole cluster are wider."""
+        for (place, group, resource, names), verbs in sorted(self.verbs.items()):
+            wider = {(place, group, resource, ()), (_EVERYWHERE, group, resource, ())}
+            wider -= {(place, group, resource, names)}
+            missing = set(verbs).difference(*(self.verbs.get(key, ()) for key in wider))
+            if missing:
+                yield (place, group, resource, names), tuple(sorted(missing))
+
+
+def _rules_by_place(verbs_by_rule: _Verbs) -> dict[str, tuple[Mapping[str, list[str]], ...]]:
+    """Return the rules of each namespace. Resources of one group share a rule if verbs and names are the same."""
+    alike = dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[str]]()
+    for (place, group, resource, names), verbs in verbs_by_rule.minimal():
+        alike.setdefault((place, group, verbs, names), []).append(resource)
+    rules = dict[str, list[Mapping[str, list[str]]]]()
+    for (place, group, verbs, names), resources in alike.items():
+        rules.setdefault(place, []).append(Rule(group, tuple(resources), verbs, names).manifest)
+    return {place: tuple(rules[place]) for place in sorted(rules)}
diff --git a/judging/routes/__init__.py b/judging/routes/__init__.py
new file mode 100644
index 00000000..b58eed34
--- /dev/null
+++ b/judging/routes/__init__.py
@@ -0,0 +1,58 @@
+"""Planned routes beside other routes on the same gateways of the cluster: which of them takes requests of which."""
+
+from collections.abc import Iterable, Iterator
+from itertools import chain
+
+from judging.routes import collisions, hosts_and_ties, nested_paths
+from models.paths import Path
+from models.problems import Mode, Problem, gap
+from planning.ground.cluster_facts import LiveRoute, LiveRouteMatch, Routes, Unknown
+from planning.ground.marks import Identity, Verdict
+from planning.routes import request_claims
+from planning.routes.records import PlannedRoute
+from planning.routes.request_claims import PREFIX, RequestClaim
+
+__all__ = ["judge"]
+
+
+def judge(routes: Iterable[PlannedRoute], identity: Identity, live: Routes | Unknown, mode: Mode) -> Iterator[Problem]:
+    """Yield the problems between the routes of a stack and other routes on its gateways in the cluster.
+
+    A route of the cluster with the namespace and name of a planned route is the same object, so it is skipped. If the
+    cluster's routes are unknown, there is a single warning that nothing was compared.
+    """
+    planned = tuple(routes)
+    if mode == "skip" or not planned:
+        return
+    if isinstance(live, Unknown):
+        gateways = ", ".join(sorted({str(request_claims.reference(route).gateway) for route in planned}))
+        yield gap(Path(), f"collisions with other routes on {gateways}", live.reason)
+        return
+    names = {(route.namespace, route.name) for route in planned}
+    ours = request_claims.of_routes(planned)
+    theirs = dict[Verdict, list[RequestClaim]]()
+    others = [route for route in live.routes if (route.namespace, route.name) not in names]
+    for route in others:
+        theirs.setdefault(identity.verdict(route.mark), []).extend(_claims(route))
+    yield from collisions.judge(ours, theirs, mode)
+    yield from nested_paths.judge(ours, theirs, mode)
+    yield from hosts_and_ties.judge(ours, tuple(chain.from_iterable(map(_claims, others))))
+
+
+def _claims(route: LiveRoute) -> Iterator[RequestClaim]:
+    """Yield the claims of a route in the cluster. The holder's name includes the stack that the route belongs to."""
+    path = Path(f"HTTPRoute {route.namespace}/{route.name}")
+    holder = path
+    if route.mark.owner is not None:
+        holder = Path(f"HTTPRoute {route.namespace}/{route.name} of stack {route.mark.owner}")
+    for match in route.matches:
+        yield RequestClaim(path, holder, route.parents, route.hostnames, _normalize(match))
+
+
+def _normalize(match: LiveRouteMatch) -> LiveRouteMatch:
+    """Return the normal form of a match. Matches of the same requests have equal normal forms."""
+    path = match.path
+    if match.type == PREFIX:
+        path = request_claims.normal_path(path)
+    headers = tuple(sorted((kind, name.lower(), value) for kind, name, value in match.headers))
+    return LiveRouteMatch(match.type, path, headers, match.more)
diff --git a/judging/routes/collisions.py b/judging/routes/collisions.py
new file mode 100644
index 00000000..15fb3b36
--- /dev/null
+++ b/judging/routes/collisions.py
@@ -0,0 +1,33 @@
+"""Collisions of planned routes with other routes in the cluster: requests that either of two routes may receive."""
+
+from collections.abc import Iterable, Iterator, Mapping
+
+from models.problems import SEVERITIES, Mode, Problem, warning
+from planning.ground.marks import Verdict
+from planning.routes.collisions import REMEDY, ClaimIndex
+from planning.routes.request_claims import RequestClaim
+
+_OLDER_WINS = "keep only one of the two routes; while both exist, the older route gets the requests"
+_UNTIL_REMOVED = "this run removes that route; until then the older route gets the requests"
+
+
+def judge(
+    ours: Iterable[RequestClaim], theirs: Mapping[Verdict, Iterable[RequestClaim]], mode: Mode
+) -> Iterator[Problem]:
+    """Yield the collisions of planned claims with other claims, by the owners of the other routes.
+
+    A collision with a route of another stack or of somebody else is an error if `mode` is strict. A collision with a
+    route of this stack is a warning, because this run removes that route. A collision with an unmarked route is a
+    warning, too.
+    """
+    indices = dict[Verdict, ClaimIndex]()
+    for verdict in Verdict:
+        indices[verdict] = ClaimIndex()
+        for claim in theirs.get(verdict, ()):
+            indices[verdict].add(claim)
+    for verdict in (Verdict.ANOTHER, Verdict.FOREIGN):
+        for collision in indices[verdict].collisions(ours):
+            yield Problem(collision.at, collision.what, REMEDY, severity=SEVERITIES[mode])
+    for verdict, remedy in ((Verdict.UNMARKED, _OLDER_WINS), (Verdict.OURS, _UNTIL_REMOVED)):
+        for collision in indices[verdict].collisions(ours):
+            yield warning(collision.at, collision.what, remedy)
diff --git a/judging/routes/hosts_and_ties.py b/judging/routes/hosts_and_ties.py
new file mode 100644
index 00000000..01cb95d6
--- /dev/null
+++ b/judging/routes/hosts_and_ties.py
@@ -0,0 +1,14 @@
+"""Surprising precedence between planned routes and other routes of the cluster: narrower hosts, and ties."""
+
+from collections.abc import Iterator, Sequence
+
+from models.problems import Problem
+from planning.routes.hosts_and_ties import HostIndex, losses, ties
+from planning.routes.request_claims import RequestClaim
+
+
+def judge(ours: Sequence[RequestClaim], theirs: Sequence[RequestClaim]) -> Iterator[Problem]:
+    """Yield a warning for each surprising precedence between planned claims and other claims of the cluster."""
+    yield from losses(ours, HostIndex(theirs))
+    yield from losses(theirs, HostIndex(ours))
+    yield from dict.fromkeys(ties(ours, theirs))
diff --git a/judging/routes/nested_paths.py b/judging/routes/nested_paths.py
new file mode 100644
index 00000000..366dcce1
--- /dev/null
+++ b/judging/routes/nested_paths.py
@@ -0,0 +1,73 @@
+"""Requests that planned routes take from other routes of the cluster, or lose to them, because paths lie in paths."""
+
+from collections.abc import Iterable, Iterator, Mapping
+from dataclasses import dataclass, field
+from itertools import chain
+
+from models.problems import Mode, Problem, warning
+from planning.ground.marks import Verdict
+from planning.routes.nested_paths import ROOT, UNLESS_MEANT, PathIndex, name_list, name_of, taking
+from planning.routes.request_claims import RequestClaim
+
+_REMEDY = "use another path or hostname"
+
+
+@dataclass(frozen=True, slots=True)
+class _Loss:
+    """Requests that a planned claim loses to other claims."""
+
+    loser: RequestClaim
+    takers: dict[str, None] = field(default_factory=dict[str, None])
+
+
+def judge(
+    ours: Iterable[RequestClaim], theirs: Mapping[Verdict, Iterable[RequestClaim]], mode: Mode
+) -> Iterator[Problem]:
+    """Yield the problems of planned claims inside other claims of the cluster, and of other claims inside planned ones.
+
+    A planned route that takes requests from another stack, or from somebody else, on the same host is an error if
+    `mode` is strict. On a host below theirs it is a warning, because whoever names a host means its requests, and so it
+    is for a path inside of somebody's `/`, which may be a fallback or a redirection. What others take from planned
+    routes is a warning. Unmarked routes may be this stack's own. Routes of this stack that are not planned are skipped,
+    because this run removes them.
+    """
+    lasting = {verdict: claims for verdict, claims in theirs.items() if verdict is not Verdict.OURS}
+    for verdict, claims in lasting.items():
+        yield from _taken_from_others(ours, PathIndex(claims), verdict, mode)
+    yield from _lost_to_others(chain.from_iterable(lasting.values()), PathIndex(ours))
+
+
+def _taken_from_others(
+    ours: Iterable[RequestClaim], index: PathIndex, verdict: Verdict, mode: Mode
+) -> Iterator[Problem]:
+    """Yield a problem for each planned claim that takes requests from claims of the index.
+
+    `verdict` is the owner of the routes in the index.
+    """
+    for claim in ours:
+        host_names = {host for _, host in claim.parents_and_hosts()}
+        refusals = dict[str, None]()
+        notes = dict[str, None]()
+        for losers in index.losers(claim):
+            is_meant = losers.host not in host_names or verdict is Verdict.UNMARKED
+            may_be_fallback = verdict is Verdict.FOREIGN and losers.path == ROOT
+            if mode == "warn" or is_meant or may_be_fallback:
+                notes.update(losers.names)
+            else:
+                refusals.update(losers.names)
+        if refusals:
+            yield Problem(claim.at, taking(claim, refusals), _REMEDY)
+        if notes:
+            yield warning(claim.at, taking(claim, notes), UNLESS_MEANT)
+
+
+def _lost_to_others(theirs: Iterable[RequestClaim], index: PathIndex) -> Iterator[Problem]:
+    """Yield a warning for each path of planned claims in the index from which other claims take requests."""
+    losses = dict[int, _Loss]()
+    for taker in theirs:
+        for losers in index.losers(taker):
+            (first,) = losers.claim_set.first_of(losers.members, 1)
+            losses.setdefault(id(losers.claim_set), _Loss(first)).takers[name_of(taker)] = None
+    for loss in losses.values():
+        what = f"loses requests to {name_list(loss.takers)} ({loss.loser.match.path})"
+        yield warning(loss.loser.at, what, UNLESS_MEANT)
diff --git a/judging/schemas/DestinationRule-networking.istio.io-v1.yaml b/judging/schemas/DestinationRule-networking.istio.io-v1.yaml
new file mode 100644
index 00000000..617d7d5e
--- /dev/null
+++ b/judging/schemas/DestinationRule-networking.istio.io-v1.yaml
@@ -0,0 +1,48 @@
+# DestinationRule v1, the part that we render. Source: istio.io/api v1.28.0, networking/v1alpha3/destination_rule.proto.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: networking.istio.io/v1}
+  kind: {const: DestinationRule}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [host, trafficPolicy]
+    properties:
+      host: {type: string, minLength: 1}
+      trafficPolicy:
+        type: object
+        additionalProperties: false
+        properties:
+          portLevelSettings:
+            type: array
+            maxItems: 4096
+            items:
+              type: object
+              additionalProperties: false
+              required: [port, tls]
+              properties:
+                port:
+                  type: object
+                  additionalProperties: false
+                  required: [number]
+                  properties: {number: {type: integer, minimum: 0, maximum: 4294967295}}
+                tls:
+                  type: object
+                  additionalProperties: false
+                  properties:
+                    mode: {enum: [DISABLE, SIMPLE, MUTUAL, ISTIO_MUTUAL]}
+                    insecureSkipVerify: {type: boolean}
+                    credentialName: {type: string, minLength: 1}
+                    subjectAltNames: {type: array, minItems: 1, items: {type: string, minLength: 1}}
diff --git a/judging/schemas/GCPBackendPolicy-networking.gke.io-v1.yaml b/judging/schemas/GCPBackendPolicy-networking.gke.io-v1.yaml
new file mode 100644
index 00000000..ccf9fc81
--- /dev/null
+++ b/judging/schemas/GCPBackendPolicy-networking.gke.io-v1.yaml
@@ -0,0 +1,45 @@
+# GCPBackendPolicy v1, the part that we render. Source: GoogleCloudPlatform/gke-gateway-api, commit 0e9156b30506,
+# config/crd/networking.gke.io_gcpbackendpolicies.yaml.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: networking.gke.io/v1}
+  kind: {const: GCPBackendPolicy}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [targetRef]
+    properties:
+      targetRef:
+        type: object
+        additionalProperties: false
+        required: [group, kind, name]
+        properties:
+          group:
+            type: string
+            maxLength: 253
+            pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
+          kind: {type: string, minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
+          name: {type: string, minLength: 1, maxLength: 253}
+      default:
+        type: object
+        additionalProperties: false
+        properties:
+          timeoutSec: {type: integer, minimum: 1, maximum: 2147483647}
+          logging:
+            type: object
+            additionalProperties: false
+            properties:
+              enabled: {type: boolean}
+              sampleRate: {type: integer, minimum: 0, maximum: 1000000}
diff --git a/judging/schemas/HTTPRoute-gateway.networking.k8s.io-v1.yaml b/judging/schemas/HTTPRoute-gateway.networking.k8s.io-v1.yaml
new file mode 100644
index 00000000..7c71e8e9
--- /dev/null
+++ b/judging/schemas/HTTPRoute-gateway.networking.k8s.io-v1.yaml
@@ -0,0 +1,157 @@
+# HTTPRoute v1, the part that we render. Source: gateway-api v1.4.0, apis/v1/httproute_types.go.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: gateway.networking.k8s.io/v1}
+  kind: {const: HTTPRoute}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [parentRefs, rules]
+    properties:
+      parentRefs:
+        type: array
+        minItems: 1
+        maxItems: 32
+        items:
+          type: object
+          additionalProperties: false
+          required: [name]
+          properties:
+            group: {type: string, maxLength: 253}
+            kind: {type: string, minLength: 1, maxLength: 63}
+            namespace: {type: string, minLength: 1, maxLength: 63}
+            name: {type: string, minLength: 1, maxLength: 253}
+            sectionName: {type: string, minLength: 1, maxLength: 253}
+            port: {$ref: "#/$defs/port"}
+      hostnames: {type: array, maxItems: 16, items: {type: string, minLength: 1, maxLength: 253}}
+      rules: {type: array, minItems: 1, maxItems: 16, items: {$ref: "#/$defs/rule"}}
+$defs:
+  port: {type: integer, minimum: 1, maximum: 65535}
+  path: {type: string, pattern: "^/", maxLength: 1024}
+  duration: {type: string, pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$"}
+  header_name: {type: string, minLength: 1, maxLength: 256, pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$"}
+  filter:
+    type: object
+    additionalProperties: false
+    required: [type]
+    properties:
+      type: {enum: [URLRewrite, RequestHeaderModifier, RequestMirror]}
+      urlRewrite:
+        type: object
+        additionalProperties: false
+        required: [path]
+        properties:
+          path:
+            type: object
+            additionalProperties: false
+            required: [type, replacePrefixMatch]
+            properties: {type: {const: ReplacePrefixMatch}, replacePrefixMatch: {type: string, maxLength: 1024}}
+      requestHeaderModifier:
+        type: object
+        additionalProperties: false
+        properties:
+          set:
+            type: array
+            minItems: 1
+            maxItems: 16
+            items:
+              type: object
+              additionalProperties: false
+              required: [name, value]
+              properties: {name: {$ref: "#/$defs/header_name"}, value: {type: string, minLength: 1, maxLength: 4096}}
+          remove: {type: array, minItems: 1, maxItems: 16, uniqueItems: true, items: {type: string}}
+      requestMirror:
+        type: object
+        additionalProperties: false
+        required: [backendRef]
+        properties:
+          backendRef:
+            type: object
+            additionalProperties: false
+            required: [group, kind, name, port]
+            properties:
+              group: {type: string, maxLength: 253}
+              kind: {type: string, minLength: 1, maxLength: 63}
+              name: {type: string, minLength: 1, maxLength: 253}
+              namespace: {type: string, minLength: 1, maxLength: 63}
+              port: {$ref: "#/$defs/port"}
+          percent: {type: integer, minimum: 0, maximum: 100}
+    # A filter has the one member that its type names.
+    oneOf:
+      - properties: {type: {const: URLRewrite}, requestHeaderModifier: false, requestMirror: false}
+        required: [urlRewrite]
+      - properties: {type: {const: RequestHeaderModifier}, urlRewrite: false, requestMirror: false}
+        required: [requestHeaderModifier]
+      - properties: {type: {const: RequestMirror}, urlRewrite: false, requestHeaderModifier: false}
+        required: [requestMirror]
+  rule:
+    type: object
+    additionalProperties: false
+    # A prefix is rewritten beside exactly one match.
+    if:
+      required: [filters]
+      properties: {filters: {contains: {required: [urlRewrite]}}}
+    then:
+      required: [matches]
+      properties:
+        matches: {maxItems: 1, items: {required: [path]}}
+    properties:
+      matches:
+        type: array
+        minItems: 1
+        maxItems: 64
+        items:
+          type: object
+          additionalProperties: false
+          properties:
+            path:
+              type: object
+              additionalProperties: false
+              required: [type, value]
+              properties: {type: {enum: [Exact, PathPrefix, RegularExpression]}, value: {$ref: "#/$defs/path"}}
+            headers:
+              type: array
+              minItems: 1
+              maxItems: 16
+              items:
+                type: object
+                additionalProperties: false
+                required: [name, value]
+                properties:
+                  type: {enum: [Exact, RegularExpression]}
+                  name: {$ref: "#/$defs/header_name"}
+                  value: {type: string, minLength: 1, maxLength: 4096}
+      timeouts:
+        type: object
+        additionalProperties: false
+        minProperties: 1
+        properties: {request: {$ref: "#/$defs/duration"}, backendRequest: {$ref: "#/$defs/duration"}}
+      filters: {type: array, minItems: 1, maxItems: 16, items: {$ref: "#/$defs/filter"}}
+      backendRefs:
+        type: array
+        minItems: 1
+        maxItems: 16
+        items:
+          type: object
+          additionalProperties: false
+          required: [group, kind, name]
+          properties:
+            group: {type: string, maxLength: 253}
+            kind: {type: string, minLength: 1, maxLength: 63}
+            name: {type: string, minLength: 1, maxLength: 253}
+            namespace: {type: string, minLength: 1, maxLength: 63}
+            port: {$ref: "#/$defs/port"}
+            weight: {type: integer, minimum: 0, maximum: 1000000}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/HealthCheckPolicy-networking.gke.io-v1.yaml b/judging/schemas/HealthCheckPolicy-networking.gke.io-v1.yaml
new file mode 100644
index 00000000..e407c118
--- /dev/null
+++ b/judging/schemas/HealthCheckPolicy-networking.gke.io-v1.yaml
@@ -0,0 +1,54 @@
+# HealthCheckPolicy v1, the part that we render. Source: GoogleCloudPlatform/gke-gateway-api, commit 16e49509002d,
+# config/crd/networking.gke.io_healthcheckpolicies.yaml.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: networking.gke.io/v1}
+  kind: {const: HealthCheckPolicy}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [targetRef]
+    properties:
+      targetRef:
+        type: object
+        additionalProperties: false
+        required: [group, kind, name]
+        properties:
+          group:
+            type: string
+            maxLength: 253
+            pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
+          kind: {type: string, minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
+          name: {type: string, minLength: 1, maxLength: 253}
+      default:
+        type: object
+        additionalProperties: false
+        properties:
+          checkIntervalSec: {type: integer, minimum: 1, maximum: 300}
+          timeoutSec: {type: integer, minimum: 1, maximum: 300}
+          healthyThreshold: {type: integer, minimum: 1, maximum: 10}
+          unhealthyThreshold: {type: integer, minimum: 1, maximum: 10}
+          config:
+            type: object
+            additionalProperties: false
+            required: [type, httpHealthCheck]
+            properties:
+              type: {const: HTTP}
+              httpHealthCheck:
+                type: object
+                additionalProperties: false
+                properties:
+                  requestPath: {type: string, maxLength: 2048, pattern: "\\/[A-Za-z0-9\\/\\-._~%!?$&'()*+,;=:]*$"}
+                  port: {type: integer, minimum: 1, maximum: 65535}
diff --git a/judging/schemas/InferenceModelRewrite-inference.networking.x-k8s.io-v1alpha2.yaml b/judging/schemas/InferenceModelRewrite-inference.networking.x-k8s.io-v1alpha2.yaml
new file mode 100644
index 00000000..b8f71f13
--- /dev/null
+++ b/judging/schemas/InferenceModelRewrite-inference.networking.x-k8s.io-v1alpha2.yaml
@@ -0,0 +1,58 @@
+# InferenceModelRewrite v1alpha2, the part that we render. Source: gateway-api-inference-extension v1.3.0, config/crd/bases.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: inference.networking.x-k8s.io/v1alpha2}
+  kind: {const: InferenceModelRewrite}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [poolRef, rules]
+    properties:
+      poolRef: {$ref: "#/$defs/pool"}
+      rules: {type: array, items: {$ref: "#/$defs/rule"}}
+$defs:
+  rule:
+    type: object
+    additionalProperties: false
+    properties:
+      matches:
+        type: array
+        items:
+          type: object
+          additionalProperties: false
+          required: [model]
+          properties:
+            model:
+              type: object
+              additionalProperties: false
+              required: [value]
+              properties: {type: {const: Exact}, value: {type: string, minLength: 1}}
+      targets:
+        type: array
+        minItems: 1
+        items:
+          type: object
+          additionalProperties: false
+          required: [modelRewrite]
+          properties: {modelRewrite: {type: string}, weight: {type: integer, minimum: 1, maximum: 1000000}}
+  pool:
+    type: object
+    additionalProperties: false
+    required: [name]
+    properties:
+      group: {type: string, maxLength: 253, pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}
+      kind: {type: string, minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
+      name: {type: string, minLength: 1, maxLength: 253}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/InferenceModelRewrite-llm-d.ai-v1alpha2.yaml b/judging/schemas/InferenceModelRewrite-llm-d.ai-v1alpha2.yaml
new file mode 100644
index 00000000..dbcddf16
--- /dev/null
+++ b/judging/schemas/InferenceModelRewrite-llm-d.ai-v1alpha2.yaml
@@ -0,0 +1,58 @@
+# InferenceModelRewrite v1alpha2, the part that we render. Source: llm-d-router v0.10.0, config/crd/bases.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: llm-d.ai/v1alpha2}
+  kind: {const: InferenceModelRewrite}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [poolRef, rules]
+    properties:
+      poolRef: {$ref: "#/$defs/pool"}
+      rules: {type: array, items: {$ref: "#/$defs/rule"}}
+$defs:
+  rule:
+    type: object
+    additionalProperties: false
+    properties:
+      matches:
+        type: array
+        items:
+          type: object
+          additionalProperties: false
+          required: [model]
+          properties:
+            model:
+              type: object
+              additionalProperties: false
+              required: [value]
+              properties: {type: {const: Exact}, value: {type: string, minLength: 1}}
+      targets:
+        type: array
+        minItems: 1
+        items:
+          type: object
+          additionalProperties: false
+          required: [modelRewrite]
+          properties: {modelRewrite: {type: string}, weight: {type: integer, minimum: 1, maximum: 1000000}}
+  pool:
+    type: object
+    additionalProperties: false
+    required: [name]
+    properties:
+      group: {type: string, maxLength: 253, pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}
+      kind: {type: string, minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
+      name: {type: string, minLength: 1, maxLength: 253}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/InferenceObjective-inference.networking.x-k8s.io-v1alpha2.yaml b/judging/schemas/InferenceObjective-inference.networking.x-k8s.io-v1alpha2.yaml
new file mode 100644
index 00000000..98e5dbc3
--- /dev/null
+++ b/judging/schemas/InferenceObjective-inference.networking.x-k8s.io-v1alpha2.yaml
@@ -0,0 +1,34 @@
+# InferenceObjective v1alpha2, the part that we render. Source: gateway-api-inference-extension v1.3.0, config/crd/bases.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: inference.networking.x-k8s.io/v1alpha2}
+  kind: {const: InferenceObjective}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [poolRef]
+    properties:
+      priority: {type: integer, minimum: -2147483648, maximum: 2147483647}
+      poolRef: {$ref: "#/$defs/pool"}
+$defs:
+  pool:
+    type: object
+    additionalProperties: false
+    required: [name]
+    properties:
+      group: {type: string, maxLength: 253, pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}
+      kind: {type: string, minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
+      name: {type: string, minLength: 1, maxLength: 253}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/InferenceObjective-llm-d.ai-v1alpha2.yaml b/judging/schemas/InferenceObjective-llm-d.ai-v1alpha2.yaml
new file mode 100644
index 00000000..852620b5
--- /dev/null
+++ b/judging/schemas/InferenceObjective-llm-d.ai-v1alpha2.yaml
@@ -0,0 +1,34 @@
+# InferenceObjective v1alpha2, the part that we render. Source: llm-d-router v0.10.0, config/crd/bases.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: llm-d.ai/v1alpha2}
+  kind: {const: InferenceObjective}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [poolRef]
+    properties:
+      priority: {type: integer, minimum: -2147483648, maximum: 2147483647}
+      poolRef: {$ref: "#/$defs/pool"}
+$defs:
+  pool:
+    type: object
+    additionalProperties: false
+    required: [name]
+    properties:
+      group: {type: string, maxLength: 253, pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}
+      kind: {type: string, minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
+      name: {type: string, minLength: 1, maxLength: 253}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/InferencePool-inference.networking.k8s.io-v1.yaml b/judging/schemas/InferencePool-inference.networking.k8s.io-v1.yaml
new file mode 100644
index 00000000..acb2c20a
--- /dev/null
+++ b/judging/schemas/InferencePool-inference.networking.k8s.io-v1.yaml
@@ -0,0 +1,56 @@
+# InferencePool v1. Source: gateway-api-inference-extension v1.5.0, api/v1/inferencepool_types.go.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: inference.networking.k8s.io/v1}
+  kind: {const: InferencePool}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [selector, targetPorts, endpointPickerRef]
+    properties:
+      appProtocol: {enum: [http, kubernetes.io/h2c]}
+      selector:
+        type: object
+        additionalProperties: false
+        required: [matchLabels]
+        properties:
+          matchLabels: {type: object, minProperties: 1, maxProperties: 64, additionalProperties: {type: string, maxLength: 63}}
+      targetPorts:
+        type: array
+        minItems: 1
+        maxItems: 8
+        uniqueItems: true
+        items:
+          type: object
+          additionalProperties: false
+          required: [number]
+          properties: {number: {$ref: "#/$defs/port"}}
+      endpointPickerRef:
+        type: object
+        additionalProperties: false
+        required: [name, port]
+        properties:
+          group: {type: string, maxLength: 253}
+          kind: {type: string, minLength: 1, maxLength: 63}
+          name: {type: string, minLength: 1, maxLength: 253}
+          port:
+            type: object
+            additionalProperties: false
+            required: [number]
+            properties: {number: {$ref: "#/$defs/port"}}
+          failureMode: {enum: [FailOpen, FailClose]}
+$defs:
+  port: {type: integer, minimum: 1, maximum: 65535}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/LeaderWorkerSet-leaderworkerset.x-k8s.io-v1.yaml b/judging/schemas/LeaderWorkerSet-leaderworkerset.x-k8s.io-v1.yaml
new file mode 100644
index 00000000..0791ef2c
--- /dev/null
+++ b/judging/schemas/LeaderWorkerSet-leaderworkerset.x-k8s.io-v1.yaml
@@ -0,0 +1,59 @@
+# LeaderWorkerSet v1. Source: sigs.k8s.io/lws v0.9.0, api/leaderworkerset/v1/leaderworkerset_types.go.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: leaderworkerset.x-k8s.io/v1}
+  kind: {const: LeaderWorkerSet}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [leaderWorkerTemplate]
+    properties:
+      replicas: {type: integer, minimum: 0}
+      startupPolicy: {enum: [LeaderCreated, LeaderReady]}
+      networkConfig:
+        type: object
+        additionalProperties: false
+        required: [subdomainPolicy]
+        properties: {subdomainPolicy: {enum: [Shared, UniquePerReplica]}}
+      rolloutStrategy:
+        type: object
+        additionalProperties: false
+        required: [type]
+        properties:
+          type: {const: RollingUpdate}
+          rollingUpdateConfiguration:
+            type: object
+            additionalProperties: false
+            properties:
+              partition: {type: integer, minimum: 0}
+              maxUnavailable: {$ref: "#/$defs/intOrString"}
+              maxSurge: {$ref: "#/$defs/intOrString"}
+      leaderWorkerTemplate:
+        type: object
+        additionalProperties: false
+        required: [workerTemplate]
+        properties:
+          size: {type: integer}
+          restartPolicy: {enum: [RecreateGroupOnPodRestart, None]}
+          subGroupPolicy:
+            type: object
+            additionalProperties: false
+            properties: {subGroupSize: {type: integer, minimum: 1}, type: {enum: [LeaderWorker, LeaderExcluded]}}
+          leaderTemplate: {$ref: "#/$defs/template"}
+          workerTemplate: {$ref: "#/$defs/template"}
+$defs:
+  intOrString: {oneOf: [{type: integer, minimum: 0}, {type: string}]}
+  template: {$ref: "https://kubernetes.io/api/_definitions.json#/$defs/io.k8s.api.core.v1.PodTemplateSpec"}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/PodMonitor-monitoring.coreos.com-v1.yaml b/judging/schemas/PodMonitor-monitoring.coreos.com-v1.yaml
new file mode 100644
index 00000000..46743f78
--- /dev/null
+++ b/judging/schemas/PodMonitor-monitoring.coreos.com-v1.yaml
@@ -0,0 +1,91 @@
+# PodMonitor v1, the part that we render. Source: prometheus-operator v0.85.0,
+# example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: monitoring.coreos.com/v1}
+  kind: {const: PodMonitor}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [selector]
+    properties:
+      selector:
+        type: object
+        additionalProperties: false
+        properties:
+          matchLabels: {type: object, additionalProperties: {type: string}}
+      podMetricsEndpoints:
+        type: array
+        items:
+          type: object
+          additionalProperties: false
+          properties:
+            port: {type: string}
+            path: {type: string}
+            interval: {type: string, pattern: "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"}
+            scheme: {enum: [http, https]}
+            tlsConfig:
+              type: object
+              additionalProperties: false
+              properties: {insecureSkipVerify: {type: boolean}}
+            authorization:
+              type: object
+              additionalProperties: false
+              properties:
+                type: {type: string}
+                credentials:
+                  type: object
+                  additionalProperties: false
+                  required: [key]
+                  properties:
+                    name: {type: string}
+                    key: {type: string}
+                    optional: {type: boolean}
+            relabelings:
+              type: array
+              items:
+                type: object
+                additionalProperties: false
+                properties:
+                  action:
+                    enum:
+                      - replace
+                      - Replace
+                      - keep
+                      - Keep
+                      - drop
+                      - Drop
+                      - hashmod
+                      - HashMod
+                      - labelmap
+                      - LabelMap
+                      - labeldrop
+                      - LabelDrop
+                      - labelkeep
+                      - LabelKeep
+                      - lowercase
+                      - Lowercase
+                      - uppercase
+                      - Uppercase
+                      - keepequal
+                      - KeepEqual
+                      - dropequal
+                      - DropEqual
+                  modulus: {type: integer}
+                  regex: {type: string}
+                  replacement: {type: string}
+                  separator: {type: string}
+                  sourceLabels: {type: array, items: {type: string, pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$"}}
+                  targetLabel: {type: string}
diff --git a/judging/schemas/PodMonitoring-monitoring.googleapis.com-v1.yaml b/judging/schemas/PodMonitoring-monitoring.googleapis.com-v1.yaml
new file mode 100644
index 00000000..641976af
--- /dev/null
+++ b/judging/schemas/PodMonitoring-monitoring.googleapis.com-v1.yaml
@@ -0,0 +1,89 @@
+# PodMonitoring v1, the part that we render. Source: GoogleCloudPlatform/prometheus-engine, commit 00f28d4e96f7,
+# charts/operator/crds/monitoring.googleapis.com_podmonitorings.yaml.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: monitoring.googleapis.com/v1}
+  kind: {const: PodMonitoring}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [endpoints, selector]
+    properties:
+      selector:
+        type: object
+        additionalProperties: false
+        properties:
+          matchLabels: {type: object, additionalProperties: {type: string}}
+      endpoints:
+        type: array
+        minItems: 1
+        maxItems: 10
+        items:
+          type: object
+          additionalProperties: false
+          required: [interval, port]
+          properties:
+            port: {type: string, minLength: 1, maxLength: 253}
+            path: {type: string}
+            interval: {type: string, pattern: "^([0-9]+(h|m|s|ms))+$"}
+            scheme: {enum: [http, https]}
+            tls:
+              type: object
+              additionalProperties: false
+              properties: {insecureSkipVerify: {type: boolean}}
+            authorization:
+              type: object
+              additionalProperties: false
+              properties:
+                type: {type: string, not: {const: Basic}}
+                credentials:
+                  type: object
+                  additionalProperties: false
+                  properties:
+                    secret:
+                      type: object
+                      additionalProperties: false
+                      required: [key, name]
+                      properties:
+                        key: {type: string}
+                        name: {type: string}
+                        namespace: {type: string}
+      targetLabels:
+        type: object
+        additionalProperties: false
+        properties:
+          fromPod:
+            type: array
+            maxItems: 100
+            items:
+              type: object
+              additionalProperties: false
+              required: [from]
+              properties:
+                from: {type: string}
+                to:
+                  type: string
+                  pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$"
+                  not:
+                    enum:
+                      - project_id
+                      - location
+                      - cluster
+                      - namespace
+                      - job
+                      - instance
+                      - top_level_controller
+                      - top_level_controller_type
+                      - __address__
diff --git a/judging/schemas/ReferenceGrant-gateway.networking.k8s.io-v1beta1.yaml b/judging/schemas/ReferenceGrant-gateway.networking.k8s.io-v1beta1.yaml
new file mode 100644
index 00000000..618b8be2
--- /dev/null
+++ b/judging/schemas/ReferenceGrant-gateway.networking.k8s.io-v1beta1.yaml
@@ -0,0 +1,48 @@
+# ReferenceGrant v1beta1. Source: gateway-api v1.4.0, apis/v1beta1/referencegrant_types.go.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: gateway.networking.k8s.io/v1beta1}
+  kind: {const: ReferenceGrant}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [from, to]
+    properties:
+      from:
+        type: array
+        minItems: 1
+        maxItems: 16
+        items:
+          type: object
+          additionalProperties: false
+          required: [group, kind, namespace]
+          properties:
+            group: {type: string, maxLength: 253}
+            kind: {type: string, minLength: 1, maxLength: 63}
+            namespace: {type: string, minLength: 1, maxLength: 63}
+      to:
+        type: array
+        minItems: 1
+        maxItems: 16
+        items:
+          type: object
+          additionalProperties: false
+          required: [group, kind]
+          properties:
+            group: {type: string, maxLength: 253}
+            kind: {type: string, minLength: 1, maxLength: 63}
+            name: {type: string, minLength: 1, maxLength: 253}
+$defs:
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/ScaledObject-keda.sh-v1alpha1.yaml b/judging/schemas/ScaledObject-keda.sh-v1alpha1.yaml
new file mode 100644
index 00000000..267283a7
--- /dev/null
+++ b/judging/schemas/ScaledObject-keda.sh-v1alpha1.yaml
@@ -0,0 +1,106 @@
+# ScaledObject v1alpha1. Source: kedacore/keda v2.18.0, config/crd/bases/keda.sh_scaledobjects.yaml.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: keda.sh/v1alpha1}
+  kind: {const: ScaledObject}
+  metadata: {$ref: "#/$defs/metadata"}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [scaleTargetRef, triggers]
+    properties:
+      scaleTargetRef:
+        type: object
+        additionalProperties: false
+        required: [name]
+        properties:
+          apiVersion: {type: string}
+          kind: {type: string}
+          name: {type: string}
+          envSourceContainerName: {type: string}
+      pollingInterval: {$ref: "#/$defs/int32"}
+      initialCooldownPeriod: {$ref: "#/$defs/int32"}
+      cooldownPeriod: {$ref: "#/$defs/int32"}
+      idleReplicaCount: {$ref: "#/$defs/int32"}
+      minReplicaCount: {$ref: "#/$defs/int32"}
+      maxReplicaCount: {$ref: "#/$defs/int32"}
+      advanced:
+        type: object
+        additionalProperties: false
+        properties:
+          horizontalPodAutoscalerConfig:
+            type: object
+            additionalProperties: false
+            properties:
+              name: {type: string}
+              behavior:
+                type: object
+                additionalProperties: false
+                properties:
+                  scaleUp: {$ref: "#/$defs/rules"}
+                  scaleDown: {$ref: "#/$defs/rules"}
+          restoreToOriginalReplicaCount: {type: boolean}
+          scalingModifiers:
+            type: object
+            additionalProperties: false
+            properties:
+              activationTarget: {type: string}
+              formula: {type: string}
+              metricType: {enum: [AverageValue, Value]}
+              target: {type: string}
+      fallback:
+        type: object
+        additionalProperties: false
+        required: [failureThreshold, replicas]
+        properties:
+          behavior: {enum: [static, currentReplicas, currentReplicasIfHigher, currentReplicasIfLower]}
+          failureThreshold: {$ref: "#/$defs/int32"}
+          replicas: {$ref: "#/$defs/int32"}
+      triggers:
+        type: array
+        items:
+          type: object
+          additionalProperties: false
+          required: [type, metadata]
+          properties:
+            type: {type: string}
+            name: {type: string}
+            metricType: {type: string}
+            useCachedMetrics: {type: boolean}
+            metadata: {type: object, additionalProperties: {type: string}}
+            authenticationRef:
+              type: object
+              additionalProperties: false
+              required: [name]
+              properties: {kind: {type: string}, name: {type: string}}
+$defs:
+  int32: {type: integer, minimum: -2147483648, maximum: 2147483647}
+  rules:
+    type: object
+    additionalProperties: false
+    properties:
+      selectPolicy: {type: string}
+      stabilizationWindowSeconds: {$ref: "#/$defs/int32"}
+      tolerance: {oneOf: [{type: integer}, {type: string, pattern: "^[+-]?[0-9]*[.]?[0-9]*([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"}]}
+      policies:
+        type: array
+        items:
+          type: object
+          additionalProperties: false
+          required: [type, value, periodSeconds]
+          properties:
+            type: {type: string}
+            value: {$ref: "#/$defs/int32"}
+            periodSeconds: {$ref: "#/$defs/int32"}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
diff --git a/judging/schemas/ServiceMonitor-monitoring.coreos.com-v1.yaml b/judging/schemas/ServiceMonitor-monitoring.coreos.com-v1.yaml
new file mode 100644
index 00000000..46365936
--- /dev/null
+++ b/judging/schemas/ServiceMonitor-monitoring.coreos.com-v1.yaml
@@ -0,0 +1,91 @@
+# ServiceMonitor v1, the part that we render. Source: prometheus-operator v0.85.0,
+# example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml.
+$schema: https://json-schema.org/draft/2020-12/schema
+type: object
+additionalProperties: false
+required: [apiVersion, kind, metadata, spec]
+properties:
+  apiVersion: {const: monitoring.coreos.com/v1}
+  kind: {const: ServiceMonitor}
+  metadata:
+    type: object
+    additionalProperties: false
+    required: [name, namespace]
+    properties:
+      name: {type: string, minLength: 1, maxLength: 253}
+      namespace: {type: string, minLength: 1, maxLength: 63}
+      labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
+      annotations: {type: object, additionalProperties: {type: string}}
+  spec:
+    type: object
+    additionalProperties: false
+    required: [endpoints, selector]
+    properties:
+      selector:
+        type: object
+        additionalProperties: false
+        properties:
+          matchLabels: {type: object, additionalProperties: {type: string}}
+      endpoints:
+        type: array
+        items:
+          type: object
+          additionalProperties: false
+          properties:
+            port: {type: string}
+            path: {type: string}
+            interval: {type: string, pattern: "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"}
+            scheme: {enum: [http, https]}
+            tlsConfig:
+              type: object
+              additionalProperties: false
+              properties: {insecureSkipVerify: {type: boolean}}
+            authorization:
+              type: object
+              additionalProperties: false
+              properties:
+                type: {type: string}
+                credentials:
+                  type: object
+                  additionalProperties: false
+                  required: [key]
+                  properties:
+                    name: {type: string}
+                    key: {type: string}
+                    optional: {type: boolean}
+            relabelings:
+              type: array
+              items:
+                type: object
+                additionalProperties: false
+                properties:
+                  action:
+                    enum:
+                      - replace
+                      - Replace
+                      - keep
+                      - Keep
+                      - drop
+                      - Drop
+                      - hashmod
+                      - HashMod
+                      - labelmap
+                      - LabelMap
+                      - labeldrop
+                      - LabelDrop
+                      - labelkeep
+                      - LabelKeep
+                      - lowercase
+                      - Lowercase
+                      - uppercase
+                      - Uppercase
+                      - keepequal
+                      - KeepEqual
+                      - dropequal
+                      - DropEqual
+                  modulus: {type: integer}
+                  regex: {type: string}
+                  replacement: {type: string}
+                  separator: {type: string}
+                  sourceLabels: {type: array, items: {type: string, pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$"}}
+                  targetLabel: {type: string}
diff --git a/judging/server_rules.py b/judging/server_rules.py
new file mode 100644
index 00000000..45ec2d16
--- /dev/null
+++ b/judging/server_rules.py
@@ -0,0 +1,67 @@
+"""Rules of the API server that no schema has, for rendered objects.
+
+The rooms of planning apply these rules to what users write, at the paths where they write it. What is left to be found
+here is what a patch makes of an object.
+"""
+
+from collections.abc import Iterator, Mapping
+from typing import Any
+
+from manifests.objects import Manifest
+from models.paths import Path
+from models.problems import Problem
+from models.trees import mapping, sequence
+from planning.ground.patch import TEMPLATES
+from planning.refusals import autoscaling, resources, scheduling, sizes
+from planning.refusals.values import Tree, trees
+
+_ANNOTATIONS = Path("metadata", "annotations")
+
+
+def problems(manifest: Manifest) -> Iterator[Problem]:
+    """Yield the problems of an object, with paths in the object."""
+    yield from _annotations(Path(), manifest)
+    for at in TEMPLATES:
+        template = _at(manifest, at)
+        if template:
+            yield from _annotations(at, template)
+            yield from _pod(at / "spec", mapping(template.get("spec")))
+    if manifest["kind"] == "HorizontalPodAutoscaler":
+        spec = mapping(manifest.get("spec"))
+        yield from autoscaling.behavior(Path("spec", "behavior"), spec.get("behavior"))
+        for index, metric in enumerate(sequence(spec.get("metrics"))):
+            yield from autoscaling.metric(Path("spec", "metrics", index), metric)
+
+
+def _annotations(at: Path, tree: Tree) -> Iterator[Problem]:
+    written = {key: value for key, value in _at(tree, _ANNOTATIONS).items() if isinstance(value, str)}
+    yield from sizes.rendered_annotations(Path(*at, *_ANNOTATIONS), written)
+
+
+def _pod(at: Path, pod: Tree) -> Iterator[Problem]:
+    yield from scheduling.affinity(at / "affinity", pod.get("affinity"))
+    yield from scheduling.topology_spread(at / "topologySpreadConstraints", pod.get("topologySpreadConstraints"))
+    for field in ("initContainers", "containers"):
+        for here, container in trees(at / field, pod.get(field)):
+            amounts = mapping(container.get("resources"))
+            requests = _amounts(amounts.get("requests"))
+            limits = _amounts(amounts.get("limits"))
+            yield from resources.problems(here / "resources", requests, limits, computes=False)
+            yield from _texts(here, container)
+
+
+def _texts(at: Path, container: Tree) -> Iterator[Problem]:
+    """Check that a process can get the variables of a container."""
+    for here, variable in trees(at / "env", container.get("env")):
+        if "\0" in str(variable.get("value", "")):
+            yield Problem(here / "value", "has a NUL character", "remove it: no variable of a process may contain NUL")
+
+
+def _amounts(value: object) -> dict[str, str]:
+    return {name: str(quantity) for name, quantity in mapping(value).items()}
+
+
+def _at(tree: Mapping[str, Any], path: Path) -> Tree:
+    for key in path:
+        tree = mapping(tree.get(str(key)))
+    return tree
diff --git a/judging/situation.py b/judging/situation.py
new file mode 100644
index 00000000..7ac7f1cc
--- /dev/null
+++ b/judging/situation.py
@@ -0,0 +1,56 @@
+"""The situation that is judged: a rendered stack beside its cluster, Pulumi's state and an earlier preview."""
+
+from dataclasses import dataclass
+from datetime import datetime
+
+from judging.losses.continuity import Continuity
+from manifests.assembly import Component
+from models.load import Loaded
+from models.problems import Problem
+from models.stack import Mode, Stack
+from planning.ground.cluster_facts import ClusterFacts, LiveObjects, Unknown
+from planning.ground.instances import Instance
+from planning.ground.marks import Identity
+from planning.ground.needs import Needs
+from planning.plans import StackPlan
+
+
+@dataclass(frozen=True, slots=True)
+class Situation:
+    """A rendered stack, and all that it is compared with."""
+
+    loaded: Loaded
+    """The configuration, with the origin of each value."""
+    plan: StackPlan
+    components: tuple[Component, ...]
+    needs: Needs
+    """Needs of the objects of the components."""
+    instance: Instance
+    facts: ClusterFacts
+    earlier: ClusterFacts | None
+    """Facts of an earlier preview; None if no earlier preview is known."""
+    live: LiveObjects | Unknown
+    """Objects in the cluster that stacks made, and marks of objects whose names the stack uses."""
+    continuity: Continuity
+    """Relation of the objects to Pulumi's state."""
+    cluster: str | None
+    """Name of the cluster in the kubeconfig; None if it is unknown."""
+    now: datetime
+    """Time of the run, in UTC."""
+    selection: tuple[Problem, ...] = ()
+    """Warnings about profiles that were selected for other nodes than those of the cluster."""
+
+    @property
+    def stack(self) -> Stack:
+        """The configuration."""
+        return self.loaded.stack
+
+    @property
+    def mode(self) -> Mode:
+        """Value of `checks.preflight`."""
+        return self.loaded.stack.checks.preflight
+
+    @property
+    def identity(self) -> Identity:
+        """Names of the stack in the cluster, without earlier names that are names of other stacks."""
+        return self.continuity.owner or self.plan.identity
diff --git a/judging/transition.py b/judging/transition.py
new file mode 100644
index 00000000..ec83c204
--- /dev/null
+++ b/judging/transition.py
@@ -0,0 +1,168 @@
+"""Warnings about effects of a deployment that its preview does not show, such as a second set of pods."""
+
+from collections.abc import Iterator, Sequence
+
+from models.paths import Path
+from models.problems import Problem, gap, warning
+from planning.ground import labels
+from planning.ground.api_groups import GATEWAY_GROUP, POOL_GROUP
+from planning.ground.cluster_facts import LiveObjects, Pools, Unknown
+from planning.ground.pools import verdict
+from planning.plans import StackPlan, VariantPlan
+from planning.serving import Workload
+
+
+def has_generations(plan: StackPlan) -> bool:
+    """Tell whether any variant has a generation. If none has, the pools in the cluster need not be read."""
+    return any(variant.names.generation is not None for service in plan.services for variant in service.variants)
+
+
+def judge(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
+    """Yield the warnings about the objects of a stack in the cluster, except those about generations."""
+    yield from refusals(live)
+    yield from refused_pools(live)
+    yield from replicas(plan, live)
+    yield from metering(plan, live)
+    yield from ports(plan, live)
+
+
+def generations(plan: StackPlan, pools: Pools | Unknown) -> Iterator[Problem]:
+    """Yield a warning for every variant whose new pods cannot share a KV cache with its running pods.
+
+    If `pools` is `Unknown`, yield a warning for every variant that has a generation.
+    """
+    for service in plan.services:
+        for variant in service.variants:
+            if variant.names.generation is None:
+                continue
+            if isinstance(pools, Unknown):
+                yield gap(variant.path, "generations of running pods", pools.reason)
+            else:
+                yield from _new_generation(variant, pools)
+
+
+def refusals(live: LiveObjects) -> Iterator[Problem]:
+    """Yield a warning if the user has no right to list objects of some kinds, so that these objects went unchecked."""
+    if live.refused:
+        yield gap(Path(), "changes by others to objects", "the API server refused to list them", live.refused)
+
+
+def refused_pools(live: LiveObjects) -> Iterator[Problem]:
+    """Yield a warning for every pool that the controller of a gateway refuses. Requests to such a pool fail."""
+    for (group, kind, namespace, name), pool in sorted(live.objects.items()):
+        if (group, kind) == (POOL_GROUP, "InferencePool"):
+            is_accepted, reason = verdict(pool.content)
+            if is_accepted is False:
+                yield warning(Path(f"{kind} {namespace}/{name}"), f"the gateway does not accept this pool ({reason})")
+
+
+def metering(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
+    """Yield a warning for every metered service whose route in the cluster does not lead to the interceptor yet."""
+    if plan.interceptor is None:
+        return
+    target = f"Service {plan.interceptor.namespace}/{plan.interceptor.service}"
+    for service in plan.services:
+        route = service.route
+        primary = service.primary
+        current = None
+        if route is not None:
+            current = live.objects.get((GATEWAY_GROUP, "HTTPRoute", route.namespace, route.name))
+        if current is None or primary.metered_as is None:
+            continue
+        backends = {
+            f"{ref.get('kind', 'Service')} {ref.get('namespace', primary.names.namespace)}/{ref['name']}"
+            for rule in current.content["spec"].get("rules") or ()
+            for ref in rule.get("backendRefs") or ()
+        }
+        if backends - {target}:
+            refused = ""
+            if primary.policies:
+                refused = "; network policies refuse these requests until the route changes"
+            what = f"its requests move from {', '.join(sorted(backends - {target}))} to {target}{refused}"
+            remedy = "make sure that the interceptor answers, and that clients are authenticated in front of it"
+            yield warning(primary.path / "interceptor", what, remedy)
+
+
+def replicas(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
+    """Yield a warning for every workload whose number of replicas somebody else changed.
+
+    A run sets the configured number only if it refreshes (`--refresh`), or if it changes the workload anyway.
+    """
+    for service in plan.services:
+        for variant in service.variants:
+            for workload in variant.workloads:
+                yield from _replica_warnings(variant, workload, live)
+
+
+def ports(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
+    """Yield a warning for every pool whose ports change while its pods still serve the old ports.
+
+    A new generation has no such problem, because it gets a new pool while the old pool still exists.
+    """
+    for service in plan.services:
+        for variant in service.variants:
+            names = variant.names
+            current = live.objects.get((POOL_GROUP, "InferencePool", names.namespace, names.pool))
+            if current is None:
+                continue
+            old = tuple(port["number"] for port in current.content["spec"].get("targetPorts", ()))
+            if old and old != variant.target_ports:
+                changes = f"from {_range(old)} to {_range(variant.target_ports)}"
+                what = f"the pool's ports change {changes} before its pods are replaced"
+                remedy = "requests to the old pods may fail; let a canary take the requests meanwhile"
+                yield warning(variant.path, what, remedy)
+
+
+def _range(numbers: Sequence[int]) -> str:
+    first = min(numbers)
+    last = max(numbers)
+    if first == last:
+        return str(first)
+    return f"{first}-{last}"
+
+
+def _replica_warnings(variant: VariantPlan, workload: Workload, live: LiveObjects) -> Iterator[Problem]:
+    namespace = variant.names.namespace
+    place = (workload.api_version.partition("/")[0], workload.kind, namespace, workload.name)
+    current = live.objects.get(place)
+    writer = None
+    if current is not None:
+        writer = current.writer("spec", "replicas")
+    if workload.replicas is None or current is None or writer is None:
+        return
+    number = current.content["spec"]["replicas"]
+    if number == workload.replicas:
+        return
+    name = f"{workload.kind} {namespace}/{workload.name}"
+    what = (
+        f"{number} replica{'' if number == 1 else 's'} will become {workload.replicas}: {writer} scaled {name}, and a "
+        "run that refreshes the state or changes the object undoes this"
+    )
+    yield warning(workload.path / "replicas", what)
+
+
+def _new_generation(variant: VariantPlan, pools: Pools) -> Iterator[Problem]:
+    names = variant.names
+    pool_labels = {labels.SERVICE: names.service, labels.VARIANT: names.variant_name}
+    pool_generations = {
+        name: selector.get(labels.GENERATION)
+        for (namespace, name), selector in sorted(pools.selectors.items())
+        if namespace == names.namespace and pool_labels.items() <= selector.items()
+    }
+    if not pool_generations or names.generation in pool_generations.values():
+        return
+    old_pools = ", ".join(
+        f"{name} ({'one role' if generation is None else generation})" for name, generation in pool_generations.items()
+    )
+    device_count = sum(
+        workload.layout.devices_per_pod * workload.layout.pods_per_replica * workload.max_replicas
+        for workload in variant.workloads
+    )
+    devices = ""
+    if device_count:
+        devices = f", with up to {device_count} more devices in use meanwhile"
+    what = (
+        f"its new pods cannot share a KV cache with the pods of {old_pools}: pool {names.pool} is added{devices}, "
+        "then requests move to it, then the old pods end"
+    )
+    yield warning(variant.path, what)
diff --git a/judging/validation.py b/judging/validation.py
new file mode 100644
index 00000000..50f4ce9d
--- /dev/null
+++ b/judging/validation.py
@@ -0,0 +1,272 @@
+"""Strict validation of rendered objects against the schemas of their kinds.
+
+A misspelt field would get lost silently: the provider drops the field from objects of built-in kinds, and the API
+server drops it from objects of custom kinds. Every object is therefore checked before its registration. The schemas of
+built-in kinds come from the package kubernetes-validate, and the schemas of custom kinds are in `schemas/`. What the
+API server demands of single fields beyond these schemas is in `constraints.yaml`.
+
+`judging.admission` and `judging.server_rules` check rules that no schema has. A mistake in what a user wrote, such
+as a patch, is reported with its path in the configuration. Any other mistake is an internal error. Messages never
+contain values of environment variables or arguments.
+
+Exception
+└── SchemaError    rendered objects that do not fit their schemas
+"""
+
+import difflib
+import json
+import pathlib
+from collections.abc import Iterable, Iterator, Mapping, Sequence
+from dataclasses import dataclass, replace
+from functools import cache
+from importlib.resources import files
+from importlib.util import find_spec
+from typing import Any, cast
+
+import jsonschema_rs
+
+from judging import admission, server_rules
+from manifests.objects import Manifest, Rendered
+from models import origins
+from models.paths import Path
+from models.problems import ConfigError, Problem, echo
+from models.trees import EMPTY
+from planning.ground import yaml_text
+from planning.refusals import sizes
+
+_KUBERNETES = "v1.36.0"
+_DEFINITIONS = "_definitions.json"
+_DEFINITIONS_URI = f"https://kubernetes.io/api/{_DEFINITIONS}"
+_NOUNS = {
+    "array": "a list",
+    "boolean": "true or false",
+    "integer": "a whole number",
+    "number": "a number",
+    "object": "a mapping",
+    "string": "a string",
+}
+_BOUNDS = {
+    "int32": {"minimum": -(2**31), "maximum": 2**31 - 1},
+    "int64": {"minimum": -(2**63), "maximum": 2**63 - 1},
+}
+"""Numbers that the API server can read, by the format that the schema names."""
+
+
+class SchemaError(Exception):
+    """Rendered objects do not fit their schemas, in fields that users did not write."""
+
+
+@dataclass(frozen=True, slots=True)
+class _CompiledSchema:
+    """The schema of a kind: a compiled validator, and the document from which it was compiled."""
+
+    validator: jsonschema_rs.Validator
+    document: Mapping[str, Any]
+
+
+@dataclass(frozen=True, slots=True)
+class _Misfit:
+    """A value or key of an object that does not fit the schema: path in the object, reason and remedy."""
+
+    at: Path
+    what: str
+    remedy: str
+
+
+def check(objects: Iterable[Rendered], sections: Mapping[str, Path] = EMPTY) -> None:
+    """Check every object against the schema of its kind, and by the rules that no schema has.
+
+    `sections` has the path in the configuration of each owner of objects, for objects that are too large.
+
+    Raises `ConfigError` with all mistakes in what users wrote (`Rendered.origins`). If there are only other mistakes,
+    raises `SchemaError` with them.
+    """
+    problems = list[Problem]()
+    internal_errors = list[str]()
+    every = tuple(objects)
+    restricted = admission.restricted_namespaces(rendered.manifest for rendered in every)
+    for rendered in every:
+        manifest = rendered.manifest
+        schema = _compiled_schema(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))
+        if schema is None:
+            internal_errors.append(f"{_name(manifest)}: no schema is known for {manifest.get('apiVersion')}")
+            continue
+        for misfit in _misfits(schema, rendered):
+            config_path = origins.locate(rendered.origins, misfit.at)
+            if config_path is None:
+                internal_errors.append(f"{_name(manifest)}: {misfit.at or 'the object'}: {misfit.what}")
+            else:
+                problems.append(Problem(config_path, f"does not fit Kubernetes' schema ({misfit.what})", misfit.remedy))
+        too_large = sizes.manifest(manifest)
+        if too_large is not None:
+            problems.append(Problem(sections.get(rendered.id.owner, Path()), *too_large))
+        for problem in (*admission.problems(manifest, restricted), *server_rules.problems(manifest)):
+            config_path = origins.locate(rendered.origins, problem.path)
+            if config_path is None:
+                internal_errors.append(f"{_name(manifest)}: {problem}")
+            else:
+                problems.append(replace(problem, path=config_path))
+    if problems:
+        raise ConfigError(problems)
+    if internal_errors:
+        raise SchemaError("\n".join(internal_errors))
+
+
+def _name(manifest: Manifest) -> str:
+    """Return kind and name of an object. A missing kind or name is left out."""
+    return f"{manifest.get('kind', '')} {manifest.get('metadata', {}).get('name', '')}"
+
+
+def _misfits(schema: _CompiledSchema, rendered: Rendered) -> Iterator[_Misfit]:
+    # A verdict takes less time than a list of errors, and nearly no object has errors.
+    if schema.validator.is_valid(rendered.manifest):
+        return
+    for error in schema.validator.iter_errors(rendered.manifest):
+        yield from _error_misfits(schema, error)
+
+
+def _error_misfits(schema: _CompiledSchema, error: jsonschema_rs.ValidationError) -> Iterator[_Misfit]:
+    """Yield the misfits of a validation error.
+
+    The path of a misfit ends at the unknown or missing key. The path of jsonschema's error ends at the mapping that
+    has or lacks this key.
+    """
+    at = Path(*error.instance_path)
+    details = error.kind.as_dict()
+    shown = echo(at, error.instance)
+    match error.kind.name:
+        case "additionalProperties":
+            for key in details["unexpected"]:
+                yield _Misfit(at / key, f"unknown key {key}", _suggestion(key, _known_keys(schema, error)))
+        case "required":
+            yield _Misfit(at / details["property"], "is missing", "add it")
+        case "enum":
+            options = ", ".join(str(option) for option in details["options"])
+            yield _Misfit(at, f"is not one of {options}{_value_tail(shown)}", "choose one of them")
+        case "type":
+            yield _wrong_type(at, error.instance, details["types"])
+        case "minimum":
+            yield _Misfit(at, f"is below {details['limit']}{_value_tail(shown)}", f"write {details['limit']} or more")
+        case "maximum":
+            yield _Misfit(at, f"is above {details['limit']}{_value_tail(shown)}", f"write {details['limit']} or less")
+        case "oneOf" if types := _types(details["context"]):
+            yield _wrong_type(at, error.instance, types)
+        case _:
+            yield _Misfit(at, f"{error.message}{_value_tail(shown)}", "see Kubernetes' reference for allowed values")
+
+
+def _value_tail(shown: str) -> str:
+    """Return the end of a text about a value: `: value`, or "" if the value must not be shown.
+
+    `shown` comes from `echo`. Its parentheses are removed, because the message has parentheses around the text.
+    """
+    if shown:
+        return f": {shown[2:-1]}"
+    return ""
+
+
+def _wrong_type(at: Path, value: object, types: Sequence[str]) -> _Misfit:
+    expected = [name for name in dict.fromkeys(types) if name != "null"]
+    nouns = " or ".join(_NOUNS[name] for name in expected)
+    is_bare = expected == ["string"] and isinstance(value, bool | int | float)
+    remedy = "write it quoted"
+    if not is_bare:
+        remedy = f"write {nouns}"
+    return _Misfit(at, f"is not {nouns}{_value_tail(echo(at, value))}", remedy)
+
+
+def _types(alternatives: Sequence[Sequence[jsonschema_rs.ValidationError]]) -> list[str]:
+    """Return the types that the alternatives of a `oneOf` require. Empty if an alternative requires anything else."""
+    errors = [error for alternative in alternatives for error in alternative]
+    if any(error.kind.name != "type" for error in errors):
+        return []
+    return [name for error in errors for name in error.kind.as_dict()["types"]]
+
+
+def _suggestion(key: str, known: Sequence[str]) -> str:
+    close = difflib.get_close_matches(key, known, n=1)
+    if close:
+        return f"did you mean {close[0]}?"
+    if known:
+        return f"known here: {', '.join(known)}"
+    return "remove it"
+
+
+def _known_keys(schema: _CompiledSchema, error: jsonschema_rs.ValidationError) -> list[str]:
+    """Return the keys that the schema allows in the mapping that has an unknown key.
+
+    The schema of that mapping is in the kind's document, or in the definitions that built-in kinds share.
+    """
+    is_shared = (error.absolute_keyword_location or "").startswith(_DEFINITIONS_URI)
+    mapping_schema: Any = _definitions() if is_shared else schema.document
+    for part in error.schema_path[:-1]:
+        mapping_schema = mapping_schema[part]
+    return sorted(mapping_schema.get("properties", ()))
+
+
+@cache
+def _compiled_schema(api: str, kind: str) -> _CompiledSchema | None:
+    """Return the schema of a kind; None if no schema is known. Each schema is compiled once."""
+    custom = files("judging").joinpath("schemas", f"{kind}-{api.replace('/', '-')}.yaml")
+    if custom.is_file():
+        document = cast("dict[str, Any]", yaml_text.load(custom.read_text(encoding="utf-8")))
+        return _CompiledSchema(jsonschema_rs.validator_for(document, registry=_registry(), mask="the value"), document)
+    group, _, version = api.rpartition("/")
+    prefix = ""
+    if group:
+        prefix = f"{group.split('.')[0]}-"
+    builtin = _builtin_schemas() / f"{kind.lower()}-{prefix}{version}.json"
+    is_builtin_group = "." not in group or group.endswith(".k8s.io")
+    if not is_builtin_group or not builtin.is_file():
+        return None
+    document = json.loads(builtin.read_text(encoding="utf-8"))
+    uri = f"json-schema:///{builtin.name}"
+    registry = _registry()
+    return _CompiledSchema(
+        jsonschema_rs.validator_for(document, registry=registry, base_uri=uri, mask="the value"), document
+    )
+
+
+@cache
+def _builtin_schemas() -> pathlib.Path:
+    """Return the folder of the schemas of built-in kinds.
+
+    The package that contains them is not imported, because its import takes longer than all of this program's work.
+    """
+    spec = find_spec("kubernetes_validate")
+    if spec is None or not spec.submodule_search_locations:
+        raise ModuleNotFoundError("kubernetes-validate is not installed")
+    return pathlib.Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema" / f"{_KUBERNETES}-local-strict"
+
+
+@cache
+def _definitions() -> dict[str, Any]:
+    """Return the definitions that built-in kinds share, with the constraints that the API server adds."""
+    text = (_builtin_schemas() / _DEFINITIONS).read_text(encoding="utf-8")
+    definitions = json.loads(text, object_hook=_with_bounds)
+    for name, fields in _constraints().items():
+        for field, keywords in fields.items():
+            definitions["$defs"][name]["properties"][field].update(keywords)
+    return definitions
+
+
+def _with_bounds(schema: dict[str, Any]) -> dict[str, Any]:
+    """Return the schema of a whole number with the bounds of its format, and any other schema as it is."""
+    number_format = schema.get("format")
+    bounds = None
+    if isinstance(number_format, str):
+        bounds = _BOUNDS.get(number_format)
+    if bounds is None:
+        return schema
+    return schema | bounds
+
+
+def _constraints() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
+    """Return keywords of JSON Schema by definition and field."""
+    text = files("judging").joinpath("constraints.yaml").read_text(encoding="utf-8")
+    return cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", yaml_text.load(text))
+
+
+@cache
+def _registry() -> jsonschema_rs.Registry:
+    return jsonschema_rs.Registry([(_DEFINITIONS_URI, _definitions())])
diff --git a/judging/verdicts.py b/judging/verdicts.py
new file mode 100644
index 00000000..74a28054
--- /dev/null
+++ b/judging/verdicts.py
@@ -0,0 +1,60 @@
+"""All verdicts about a stack in its cluster, in the order in which they are printed."""
+
+from collections.abc import Iterator
+
+from judging import additions, ownership, preflight, rights, transition
+from judging.report import checks, running
+from judging.rights import Options, Purpose
+from judging.situation import Situation
+from manifests.assembly import objects
+from models.paths import Path
+from models.problems import Problem, errors, gap
+from planning.ground.cluster_facts import Permissions, Pools, Unknown
+from planning.hardware import accelerators
+
+
+def judge(situation: Situation) -> Iterator[Problem]:
+    """Yield the problems of a stack in its cluster. If one of them is an error, nothing may be registered.
+
+    In another cluster than that of earlier runs, no other problem of the cluster means anything.
+    """
+    yield from situation.continuity.problems
+    if errors(situation.continuity.problems):
+        return
+    yield from preflight.judge(situation)
+    yield from situation.selection
+    named = ownership.of_components(situation.components)
+    yield from ownership.judge(named, situation.live, situation.plan.identity, situation.mode, situation.instance)
+    yield from _capacity(situation)
+
+
+def announce(
+    situation: Situation, permissions: Permissions | Unknown | None, pools: Pools | Unknown
+) -> Iterator[Problem]:
+    """Yield warnings about effects of a deployment that its preview does not show.
+
+    `permissions` are those of the user; None if the run does not deploy. `pools` are the pools in the cluster.
+    """
+    if permissions is not None:
+        stack_objects = rights.of_components(situation.components)
+        required = rights.rights(Purpose.DEPLOY, stack_objects, situation.needs, Options())
+        yield from rights.judge(required, permissions)
+    yield from transition.generations(situation.plan, pools)
+    if not isinstance(situation.live, Unknown):
+        yield from transition.judge(situation.plan, situation.live)
+        yield from additions.judge(situation.components, situation.live)
+    elif not isinstance(situation.facts.apis, Unknown):
+        # If the kinds of the cluster are unknown, too, preflight has reported the failed read.
+        yield gap(Path(), "changes by others to objects", situation.live.reason)
+
+
+def _capacity(situation: Situation) -> Iterator[Problem]:
+    """Yield the problems of nodes and quotas that have too few devices for the deployment."""
+    templates = {
+        rendered.place: running.template(rendered.place[1], rendered.manifest)
+        for rendered in objects(situation.components)
+        if rendered.place[1] in running.WORKLOADS
+    }
+    classes = accelerators.classes(situation.stack.accelerators)
+    before = checks.ClusterBefore(situation.facts, situation.live, classes, templates)
+    yield from checks.judge(situation.plan, before, situation.stack.checks.capacity)
diff --git a/manifests/giving.py b/manifests/giving.py
deleted file mode 100644
index e2f81e70..00000000
--- a/manifests/giving.py
+++ /dev/null
@@ -1,23 +0,0 @@
-"""Record of the objects that a stack makes, and of the rights that the stack gives to its service accounts."""
-
-from collections.abc import Sequence
-
-from manifests import additions
-from manifests.assembly import Component, objects
-from planning import ownership
-from planning.rights import Granted, Made
-
-
-def of_components(components: Sequence[Component]) -> Made:
-    """Return the objects that a stack makes, and the rights that the stack gives."""
-    items = list(objects(components))
-    roles_made = [item for item in items if item.manifest["kind"] in {"Role", "ClusterRole"}]
-    names = {item.place[3] for item in roles_made if item.manifest["kind"] == "ClusterRole"}
-    refs = (item.manifest["roleRef"] for item in items if "roleRef" in item.manifest)
-    asked = frozenset((item.api, item.place[2]) for item in items if item.manifest["kind"] not in ownership.UNASKED)
-    return Made(
-        objects=frozenset((item.api, item.place[2]) for item in items),
-        compared=additions.kinds(components) | asked,
-        granted=tuple(Granted(item.place[2], rule) for item in roles_made for rule in item.manifest["rules"]),
-        bound=frozenset(ref["name"] for ref in refs if ref["kind"] == "ClusterRole" and ref["name"] not in names),
-    )
diff --git a/manifests/needs.py b/manifests/needs.py
deleted file mode 100644
index 78939f26..00000000
--- a/manifests/needs.py
+++ /dev/null
@@ -1,107 +0,0 @@
-"""Needs of a stack: what its objects refer to, such as Secrets and classes, and the Pod Security levels of its pods."""
-
-from collections.abc import Collection, Iterable, Iterator, Mapping
-from typing import Any
-
-from manifests import pod_security, pod_templates
-from manifests.objects import Rendered
-from manifests.pod_templates import PodTemplate
-from planning.ground import labels
-from planning.ground.cluster_facts import GatewayRef
-from planning.ground.needs import Needs, PodPrivileges, Reference
-
-_NONE: Mapping[str, Any] = {}
-
-
-def of(objects: Iterable[Rendered], gateways: Collection[GatewayRef]) -> Needs:
-    """Return what rendered objects need from a cluster. `gateways` are the Gateways that the routes attach to."""
-    rendered = tuple(objects)
-    created = frozenset(item.place[3] for item in rendered if item.manifest["kind"] == "Namespace")
-    namespaces = frozenset(item.place[2] for item in rendered) - {""}
-    templates = [(item, template) for item in rendered for template in pod_templates.templates(item.manifest)]
-    pods = [(item, template.spec) for item, template in templates]
-    made = {item.place[2:] for item in rendered if item.manifest["kind"] == "Secret"}
-    secrets = (_reference(name, item) for item, pod in pods for name in _secrets(pod))
-    return Needs(
-        kinds=frozenset(item.api for item in rendered),
-        gateways=frozenset(gateways),
-        namespaces=namespaces | created,
-        created=created,
-        secrets=_distinct(secret for secret in secrets if (secret.namespace, secret.name) not in made),
-        metered=frozenset(item.place[2] for item in rendered if _is_metered(item.manifest)),
-        storage_classes=_distinct(
-            _reference(name, item)
-            for item, names in (
-                *((item, _class_of_claim(item.manifest)) for item in rendered),
-                *((item, _classes_of_volumes(pod)) for item, pod in pods),
-            )
-            for name in names
-        ),
-        priority_classes=_distinct(
-            _reference(pod["priorityClassName"], item) for item, pod in pods if pod.get("priorityClassName")
-        ),
-        pods=tuple(_privileges(item, template) for item, template in templates),
-        nodes=bool(pods),
-        quotas=frozenset(item.place[2] for item, _ in pods),
-        slices=any(item.manifest["kind"] == "ResourceClaimTemplate" for item in rendered),
-    )
-
-
-def _is_metered(manifest: Mapping[str, Any]) -> bool:
-    """Tell whether an object is a Service with the label by which the interceptor finds Services."""
-    return manifest["kind"] == "Service" and labels.RESOURCE_ID in manifest["metadata"].get("labels", _NONE)
-
-
-def _distinct(references: Iterable[Reference]) -> tuple[Reference, ...]:
-    """Return the first reference of each owner to each object, in the order of `references`."""
-    first = dict[tuple[str, str, str], Reference]()
-    for reference in references:
-        first.setdefault((reference.owner, reference.namespace, reference.name), reference)
-    return tuple(first.values())
-
-
-def _reference(name: str, item: Rendered) -> Reference:
-    return Reference(name, item.place[2], item.id.owner, _title(item))
-
-
-def _title(item: Rendered) -> str:
-    _, kind, namespace, name = item.place
-    return f"{kind} {namespace}/{name}"
-
-
-def _privileges(item: Rendered, template: PodTemplate) -> PodPrivileges:
-    excesses = tuple(finding.excess for finding in pod_security.findings(template))
-    return PodPrivileges(excesses, item.place[2], item.id.owner, _title(item))
-
-
-def _secrets(pod: Mapping[str, Any]) -> Iterator[str]:
-    """Yield the Secrets without which a pod does not start. Optional references are left out."""
-    yield from (secret["name"] for secret in pod.get("imagePullSecrets", ()))
-    for volume in pod.get("volumes", ()):
-        yield from _hard_reference(volume.get("secret", _NONE), "secretName")
-        for source in volume.get("projected", _NONE).get("sources", ()):
-            yield from _hard_reference(source.get("secret", _NONE))
-    for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
-        for variable in container.get("env", ()):
-            yield from _hard_reference(variable.get("valueFrom", _NONE).get("secretKeyRef", _NONE))
-        for source in container.get("envFrom", ()):
-            yield from _hard_reference(source.get("secretRef", _NONE))
-
-
-def _hard_reference(reference: Mapping[str, Any], field: str = "name") -> Iterator[str]:
-    if reference.get(field) and not reference.get("optional"):
-        yield reference[field]
-
-
-def _class_of_claim(manifest: Mapping[str, Any]) -> Iterator[str]:
-    """Yield the StorageClass of a claim; an empty name for the default class."""
-    if manifest["kind"] == "PersistentVolumeClaim":
-        yield manifest["spec"].get("storageClassName", "")
-
-
-def _classes_of_volumes(pod: Mapping[str, Any]) -> Iterator[str]:
-    """Yield the StorageClasses of a pod's ephemeral volumes; an empty name for the default class."""
-    for volume in pod.get("volumes", ()):
-        template = volume.get("ephemeral", _NONE).get("volumeClaimTemplate", _NONE)
-        if template:
-            yield template["spec"].get("storageClassName", "")
diff --git a/planning/preflight/__init__.py b/planning/preflight/__init__.py
deleted file mode 100644
index a31ac17b..00000000
--- a/planning/preflight/__init__.py
+++ /dev/null
@@ -1,41 +0,0 @@
-"""Checks before a deployment: whether the cluster has the objects that a stack needs.
-
-A missing kind, namespace, class or listener is an error, because only a person can add it. A missing Secret, metric,
-node or approval of a controller is a warning, because it may come while pods wait. If facts could not be read, a
-warning names them. `checks.preflight: warn` turns the errors into warnings. With `skip`, only `origin`, `changes`,
-`addresses`, `pools` and `unresolved_ids` still report problems.
-"""
-
-from planning.preflight.admission import levels
-from planning.preflight.changes import EARLIER, changes
-from planning.preflight.gaps import gaps
-from planning.preflight.kinds import addresses, bundles, kinds, metrics
-from planning.preflight.listeners import listeners
-from planning.preflight.metering import metering, unresolved_ids
-from planning.preflight.namespaces import namespaces
-from planning.preflight.nodes import nodes
-from planning.preflight.origin import origin
-from planning.preflight.pools import pools
-from planning.preflight.references import classes, secrets
-from planning.preflight.severity import Mode
-
-__all__ = [
-    "EARLIER",
-    "Mode",
-    "addresses",
-    "bundles",
-    "changes",
-    "classes",
-    "gaps",
-    "kinds",
-    "levels",
-    "listeners",
-    "metering",
-    "metrics",
-    "namespaces",
-    "nodes",
-    "origin",
-    "pools",
-    "secrets",
-    "unresolved_ids",
-]
diff --git a/planning/preflight/owners.py b/planning/preflight/owners.py
deleted file mode 100644
index b0cd2a53..00000000
--- a/planning/preflight/owners.py
+++ /dev/null
@@ -1,85 +0,0 @@
-"""Paths in the configuration at which users name namespaces, Gateways, Secrets, and classes such as a StorageClass."""
-
-from collections.abc import Collection, Iterator, Mapping
-from dataclasses import dataclass
-from typing import Any, cast
-
-from models.paths import Path
-from planning import interceptor
-from planning.ground.needs import Reference
-from planning.plans import StackPlan
-
-_VARIANTS = frozenset({"canary"})
-"""Keys of a service whose values belong to another owner than the service itself."""
-
-
-_NAMED_BY_USERS = frozenset({"annotations", "env", "headers", "labels", "matchLabels", "nodeSelector", "setHeaders"})
-"""Keys whose values are mappings with names of users as keys."""
-
-
-@dataclass(frozen=True, slots=True)
-class Owners:
-    """Configuration of a stack, and the path of each owner in this configuration."""
-
-    tree: Mapping[str, Any]
-    """Merged tree of the configuration."""
-    paths: Mapping[str, Path]
-    """Path of each owner."""
-
-    @classmethod
-    def of(cls, tree: Mapping[str, Any], plan: StackPlan) -> "Owners":
-        """Return the owners of a stack's objects."""
-        variants = (variant for service in plan.services for variant in service.variants)
-        caches = {cache.owner: cache.fill.path for cache in plan.caches}
-        metering = {interceptor.OWNER: Path("interceptor")}
-        return cls(tree, {**{variant.owner: variant.path for variant in variants}, **caches, **metering})
-
-    def locate(self, reference: Reference, keys: Collection[str]) -> Path:
-        """Return the path at which a user wrote the name in `reference`. The path contains one of `keys`.
-
-        The name is searched in the owner's section, then at the top of the configuration. If the name is not found, the
-        result is the path of the owner.
-        """
-        at = self.paths.get(reference.owner, Path())
-        top = ((Path(key), self.tree.get(key)) for key in keys)
-        found = (*_leaves(self._value(at), at), *top)
-        return next((path for path, value in found if value == reference.name and _has_key(path, keys)), at)
-
-    def storage(self, owner: str) -> Path:
-        """Return the path of an owner's key `storage`. If the owner lacks this key, return the path of the owner."""
-        at = self.paths.get(owner, Path())
-        return at / "storage" if self._value(at / "storage") is not None else at
-
-    def gateway(self, key: str) -> Path:
-        """Return the path of the key that sets the Gateway for a service's route."""
-        at = Path("services", key, "route", "gateway")
-        return at if self._value(at) is not None else Path("gateway")
-
-    def namespace(self, name: str) -> Path:
-        """Return the path of the first service that names a namespace, else the path of the key `namespace`."""
-        keys = ((Path("services", key, "namespace"), name) for key in self._value(Path("services")) or ())
-        return next((at for at, _ in keys if self._value(at) == name), Path("namespace"))
-
-    def _value(self, at: Path) -> Any:  # noqa: ANN401, any value of a configuration
-        value: Any = self.tree
-        for part in at:
-            value = cast("Mapping[Any, Any]", value).get(part) if isinstance(value, Mapping) else None
-        return value
-
-
-def _has_key(path: Path, keys: Collection[str]) -> bool:
-    """Tell whether a path contains one of `keys`. A key to which a user gave its name, such as a label, is none."""
-    parents = ("", *path)
-    return any(part in keys and parent not in _NAMED_BY_USERS for parent, part in zip(parents, path, strict=False))
-
-
-def _leaves(value: object, at: Path) -> Iterator[tuple[Path, object]]:
-    if isinstance(value, Mapping):
-        for key, inner in cast("Mapping[str, object]", value).items():
-            if key not in _VARIANTS:
-                yield from _leaves(inner, at / key)
-    elif isinstance(value, list | tuple):
-        for index, inner in enumerate(cast("list[object]", value)):
-            yield from _leaves(inner, at / index)
-    else:
-        yield at, value
diff --git a/planning/preflight/pools.py b/planning/preflight/pools.py
deleted file mode 100644
index 22476681..00000000
--- a/planning/preflight/pools.py
+++ /dev/null
@@ -1,18 +0,0 @@
-"""Check whether gateways accept the pools of a stack in the cluster."""
-
-from collections.abc import Iterator
-
-from models.paths import Path
-from models.problems import Problem, warning
-from planning.ground.api_groups import POOL_GROUP
-from planning.ground.cluster_facts import LiveObjects
-from planning.ground.pools import verdict
-
-
-def pools(live: LiveObjects) -> Iterator[Problem]:
-    """Yield a warning for every pool that the controller of a gateway refuses. Requests to such a pool fail."""
-    for (group, kind, namespace, name), found in sorted(live.objects.items()):
-        if (group, kind) == (POOL_GROUP, "InferencePool"):
-            is_accepted, reason = verdict(found.content)
-            if is_accepted is False:
-                yield warning(Path(f"{kind} {namespace}/{name}"), f"the gateway does not accept this pool ({reason})")
diff --git a/planning/preflight/severity.py b/planning/preflight/severity.py
deleted file mode 100644
index 879f3d0c..00000000
--- a/planning/preflight/severity.py
+++ /dev/null
@@ -1,9 +0,0 @@
-"""Severity of problems with objects that a cluster lacks."""
-
-from collections.abc import Mapping
-from typing import Literal
-
-Mode = Literal["strict", "warn", "skip"]
-"""Value of `checks.preflight`."""
-SEVERITIES: Mapping[Mode, Literal["error", "warning"]] = {"strict": "error", "warn": "warning", "skip": "warning"}
-"""Severity, for each mode, of a problem that only a person can solve."""
diff --git a/planning/report/__init__.py b/planning/report/__init__.py
deleted file mode 100644
index 14b21580..00000000
--- a/planning/report/__init__.py
+++ /dev/null
@@ -1,8 +0,0 @@
-"""The report on a change: the devices that it needs, what happens to requests meanwhile, and what it costs."""
-
-from planning.report.bill import cost, usages
-from planning.report.checks import Mode, Present
-from planning.report.checks import problems as capacity_problems
-from planning.report.running import WORKLOADS, template
-
-__all__ = ["WORKLOADS", "Mode", "Present", "capacity_problems", "cost", "template", "usages"]
