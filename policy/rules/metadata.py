"""Rules on labels: `required-labels`, `namespace-owner`."""

from collections.abc import Iterator, Mapping, Sequence

from policy.rules import pods, trees
from policy.rules.records import DeployedObject, PolicyFinding, Settings, of_object


def required_labels(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the labels that workloads lack, and those whose value is not allowed."""
    required: Mapping[str, Sequence[str]] = settings["labels"]
    if item.kind not in pods.KINDS or not required:
        return
    labels = item.labels
    for key, values in sorted(required.items()):
        value = labels.get(key)
        example = next(iter(values), "…")
        remedy = f"write the label {key}: {example}"
        if item.is_ours:
            keys = [template.key("labels") for template in pods.templates(item)]
            service = next((text.partition(" of ")[2] for text in keys if text), "the stack")
            remedy = f"write labels: {{{key}: {example}}} into {service}"
        if value is None:
            yield of_object(item, "metadata.labels", f"lacks the label {key}", remedy)
        elif values and value not in values:
            what = f"has a value of {key} that is not allowed ({value})"
            yield of_object(item, "metadata.labels", what, f"{remedy} (allowed: {', '.join(values)})")


def namespace_owner(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the Namespaces without an owner in a label or an annotation."""
    key: str = settings["key"]
    if item.kind != "Namespace" or not key:
        return
    owners = [trees.text(trees.mapping(item.manifest, "metadata", field), key) for field in ("labels", "annotations")]
    if not any(owners):
        remedy = f"write the label {key}"
        if item.is_ours:
            remedy = f"write labels: {{{key}: …}} into the stack"
        yield of_object(item, "metadata.labels", f"names no owner ({key})", remedy)
