"""Pod templates of objects of all kinds that make pods, their containers, and the keys that decide on them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policy.rules import trees
from policy.rules.records import OURS, DeployedObject
from policy.rules.trees import Tree

_TEMPLATES = {
    "CronJob": ("spec.jobTemplate.spec.template",),
    "DaemonSet": ("spec.template",),
    "Deployment": ("spec.template",),
    "Job": ("spec.template",),
    "LeaderWorkerSet": ("spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"),
    "Pod": ("",),
    "PodTemplate": ("template",),
    "ReplicaSet": ("spec.template",),
    "ReplicationController": ("spec.template",),
    "StatefulSet": ("spec.template",),
}
"""Places of pod templates by kind. A Pod is a template itself."""
KINDS = tuple(_TEMPLATES)
"""Kinds of objects that make pods."""
WORKERS = "spec.leaderWorkerTemplate.workerTemplate"
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_REMOTE = ("hf://", "s3://", "gs://", "https://")
"""Begins of the sources that the downloader fetches; the others are ModelKits."""
_SERVICE = f"{OURS}/service"
_PICKER = f"{OURS}/endpoint-picker"
_WORKER = f"{OURS}/worker-of"
_IMAGES = {
    "epp": "endpointPicker.image",
    "proxy": "endpointPicker.proxy.image",
    "vllm": "engine.image",
    "engine": "engine.image",
}
"""Keys of a service, or of its canary, with the image of a container of that name."""


@dataclass(frozen=True, slots=True)
class TemplateOfPods:
    """A pod template of an object."""

    item: DeployedObject
    at: str
    """Path of the template in the object; empty for a Pod."""
    tree: Tree

    @property
    def spec(self) -> Tree:
        """Return the pod spec."""
        return trees.mapping(self.tree, "spec")

    @property
    def spec_at(self) -> str:
        """Return the path of the pod spec in the object."""
        return ".".join(part for part in (self.at, "spec") if part)

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of the pods."""
        return trees.labels(self.tree, "metadata", "labels")

    def key(self, key: str) -> str:
        """Return a key of the role whose pods these are, with its service; empty for objects of others."""
        if not self.item.is_ours:
            return ""
        return key_of(self.labels, key)


@dataclass(frozen=True, slots=True)
class JudgedContainer:
    """A container of a pod template."""

    template: TemplateOfPods
    field: str
    """The list that the container is in: `initContainers`, `containers` or `ephemeralContainers`."""
    tree: Tree

    @property
    def name(self) -> str:
        """Return its name."""
        return trees.text(self.tree, "name")

    @property
    def at(self) -> str:
        """Return its path in the object."""
        return f"{self.template.spec_at}.{self.field}[{self.name}]"

    @property
    def image(self) -> str:
        """Return its image; empty if it has none."""
        return trees.text(self.tree, "image")

    @property
    def arguments(self) -> list[str]:
        """Return its command and its arguments."""
        return [*trees.texts(self.tree, "command"), *trees.texts(self.tree, "args")]

    @property
    def image_key(self) -> str:
        """Return the key of the configuration that decides on its image; for objects of others, the field."""
        if not self.template.item.is_ours:
            return f"{self.at}.image"
        if self.name in {"model-download", "model-unpack"} or self.name.startswith("adapter-"):
            is_remote = any(word.startswith(_REMOTE) for word in self.arguments)
            return "images.downloader" if is_remote else "images.kit"
        if self.name == "interceptor":
            return "interceptor.deploy.image"
        if self.name == "routing-proxy":
            return key_of({_SERVICE: self.template.labels.get(_SERVICE, "")}, "sidecar.image") or f"{self.at}.image"
        key = _IMAGES.get(self.name, f"pod.{self.field}.{self.name}.image")
        return self.template.key(key) or f"{self.at}.image"


def key_of(labels: Mapping[str, str], key: str) -> str:
    """Return a key of the configuration of a role, with its service, such as `prefill.replicas of service qwen`.

    `labels` are those of the pods, or a selector of them. The result is empty if they name no service.
    """
    service = labels.get(_SERVICE) or labels.get(_PICKER) or labels.get(_WORKER)
    if not service:
        return ""
    parts = [_role(labels.get(f"{OURS}/role", "")), key]
    if labels.get(f"{OURS}/variant") == "canary":
        parts.insert(0, "canary")
    return f"{'.'.join(part for part in parts if part)} of service {service}"


def templates(item: DeployedObject) -> Iterator[TemplateOfPods]:
    """Yield the pod templates of an object."""
    for at in _TEMPLATES.get(item.kind, ()):
        tree = item.manifest
        if at:
            tree = trees.mapping(item.manifest, *at.split("."))
        if trees.mapping(tree, "spec"):
            yield TemplateOfPods(item, at, tree)


def containers(item: DeployedObject) -> Iterator[JudgedContainer]:
    """Yield the containers of all pod templates of an object."""
    for template in templates(item):
        yield from of_template(template)


def of_template(template: TemplateOfPods) -> Iterator[JudgedContainer]:
    """Yield the containers of a pod template."""
    for field in _LISTS:
        for tree in trees.mappings(template.spec, field):
            yield JudgedContainer(template, field, tree)


def _role(role: str) -> str:
    """Return the path of a role below its variant; that of an undivided decode role is empty."""
    stage, _, name = role.partition("-")
    if name:
        return f"{stage}.sets.{name}"
    if stage in {"", "decode"}:
        return ""
    return stage
