"""Deviations of objects of several kinds: names, labels, selectors, and what is told to whoever waits."""

import re
from typing import Any

from tests.heritage.fidelity.deviation import container, deviation, pod, retold

SERVING = ("Deployment decode", "Deployment prefill")
DEPLOYMENTS = (*SERVING, "Deployment EPP")
MONITORS = ("PodMonitor *",)
_OURS = "inference-stacks.io/"
_APP = "app.kubernetes.io"


def _labelled(manifest: Any) -> list[Any]:
    """Return the metadata of an object, and of its pods."""
    return [
        manifest["metadata"],
        *([manifest["spec"]["template"]["metadata"]] if manifest["kind"] == "Deployment" else []),
    ]


def _role(manifest: Any) -> str:
    return manifest["metadata"]["name"].rpartition("-")[2]


@deviation("3.2 selectors", "*", about="*", only=("full", "alt"))
def generations(manifest: Any, theirs: Any) -> None:
    """Take the generation out of names and labels."""
    for labels in _maps(manifest):
        labels.pop(f"{_OURS}generation", None)
    mark = re.compile(rf"({theirs.key})-[0-9a-f]{{5}}(?![0-9a-z])")
    changed = retold(manifest, lambda text: mark.sub(r"\1", text))
    manifest.clear()
    manifest.update(changed)


def _maps(manifest: Any) -> list[Any]:
    """Return every map of labels, selectors included."""
    spec = manifest.get("spec", {})
    selector = spec.get("selector", {})
    return [each["labels"] for each in _labelled(manifest)] + [selector.get("matchLabels", selector)]


@deviation("3.1 labels", "*", about=f"*/labels/{_APP}/*")
def common_labels(manifest: Any, theirs: Any) -> None:
    """Call ourselves as they do; a picker's objects are called like the picker."""
    picker = f"{theirs.key}-epp"
    serves = manifest["kind"] == "PodMonitor" or _role(manifest) in {"decode", "prefill"}
    of_picker = not serves and manifest["kind"] not in {"InferencePool", "HTTPRoute"}
    for each in _labelled(manifest):
        each["labels"][f"{_APP}/managed-by"] = "model-operator"
        each["labels"][f"{_APP}/part-of"] = "otterscale-system"
        each["labels"][f"{_APP}/component"] = f"model-{_role(manifest)}" if serves else "epp"
        if of_picker:
            each["labels"][f"{_APP}/name"] = picker


@deviation("3.2 spelling", *SERVING, about="*/labels/llm-d.ai/inference-serving")
def spelling(manifest: Any, _: Any) -> None:
    del manifest["spec"]["template"]["metadata"]["labels"]["llm-d.ai/inference-serving"]


@deviation(
    "3.2 selectors", *DEPLOYMENTS, *MONITORS, "Service EPP", "InferencePool", "ServiceMonitor EPP",
    about=("*/labels/inference-stacks.io/*", "*/labels/inferencepool", "/spec/selector/*"),
)  # fmt: skip
def selectors(manifest: Any, theirs: Any) -> None:
    """Select by the labels that say what a pod is."""
    for each in _labelled(manifest):
        each["labels"] = {key: text for key, text in each["labels"].items() if not key.startswith(_OURS)}
    labels = dict(manifest["metadata"]["labels"])
    serves = {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": labels[f"{_APP}/name"]}
    if manifest["kind"] == "Service":
        manifest["spec"]["selector"] = labels
    elif manifest["kind"] == "InferencePool":
        del labels[f"{_APP}/component"]
        manifest["spec"]["selector"]["matchLabels"] = {**labels, **serves}
    elif manifest["kind"] == "PodMonitor":
        manifest["spec"]["selector"]["matchLabels"] = {**labels, **serves, "llm-d.ai/role": _role(manifest)}
    elif manifest["kind"] == "ServiceMonitor":
        manifest["spec"]["selector"]["matchLabels"] = labels
    else:
        template = manifest["spec"]["template"]["metadata"]["labels"]
        if _role(manifest) == "epp":
            template["inferencepool"] = f"{theirs.key}-epp"
        manifest["spec"]["selector"]["matchLabels"] = dict(template)


@deviation("W5 version", "*", about=f"*/labels/{_APP}/version")
def version(manifest: Any, _: Any) -> None:
    for each in _labelled(manifest):
        each["labels"][f"{_APP}/version"] = "v1.0.1"


@deviation(
    "N1, N2, N4 names", *DEPLOYMENTS, *MONITORS, "InferencePool", "HTTPRoute",
    about=(
        "/metadata/name", f"*/{_APP}/name", "*/llm-d.ai/model", "*/args/--pool-name=*",
        "*/backendRefs/*", "*/headers/*/value",
    ),
)  # fmt: skip
def names(manifest: Any, theirs: Any) -> None:
    """Write the name as it was given, but in the picker's own names."""
    key_pattern = re.compile(rf"(?<![-.\w]){theirs.key}(?!-epp)(?![.\w])")
    changed = retold(manifest, lambda text: key_pattern.sub(theirs.name, text))
    manifest.clear()
    manifest.update(changed)


@deviation(
    "N3 cluster-scoped names", "ClusterRole *", "ClusterRoleBinding *", about=("/metadata/name", "*/roleRef/name")
)
def cluster_scoped_names(manifest: Any, _: Any) -> None:
    manifest["metadata"]["name"] = manifest["metadata"]["name"].removeprefix("inference-stacks:").replace(":", "-")


@deviation(
    "9 waits", *DEPLOYMENTS, "Service EPP",
    about=("/spec/progressDeadlineSeconds", "/metadata/annotations/pulumi.com/*"),
)  # fmt: skip
def waits(manifest: Any, _: Any) -> None:
    manifest["spec"].pop("progressDeadlineSeconds", None)
    for annotation in ("waitFor", "skipAwait"):
        manifest["metadata"].get("annotations", {}).pop(f"pulumi.com/{annotation}", None)


@deviation("3.2 service links", *DEPLOYMENTS, about="*/enableServiceLinks")
def service_links(manifest: Any, _: Any) -> None:
    del pod(manifest)["enableServiceLinks"]


@deviation("3.2 termination message", *DEPLOYMENTS, about="*/terminationMessagePolicy")
def termination_message(manifest: Any, _: Any) -> None:
    for each in [*pod(manifest).get("initContainers", []), container(manifest)]:
        del each["terminationMessagePolicy"]


@deviation("3.4 read-only root", *DEPLOYMENTS, about="*/readOnlyRootFilesystem")
def read_only_root(manifest: Any, _: Any) -> None:
    for each in [*pod(manifest).get("initContainers", []), container(manifest)]:
        each["securityContext"].pop("readOnlyRootFilesystem", None)


@deviation("3.7, 3.14 traced name", *DEPLOYMENTS, about="*/env/OTEL_SERVICE_NAME/value", only=("full",))
def traced_name(manifest: Any, _: Any) -> None:
    """Call all pickers alike in traces, and all sidecars."""
    alike = {"epp": "gateway-api-inference-extension", "routing-proxy": "llm-d-routing-sidecar"}
    for each in [*pod(manifest).get("initContainers", []), container(manifest)]:
        for variable in each.get("env", []):
            if variable["name"] == "OTEL_SERVICE_NAME" and each["name"] in alike:
                variable["value"] = alike[each["name"]]


DEVIATIONS = [
    generations, common_labels, spelling, selectors, version, waits, service_links, termination_message, read_only_root,
    traced_name,
]  # fmt: skip
LAST = [names, cluster_scoped_names]
"""After everything else that has the service's name in it."""
