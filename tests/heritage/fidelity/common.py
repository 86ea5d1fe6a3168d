"""Deviations of objects of several kinds: names, labels, selectors, and what is told to whoever waits."""

import re
from typing import Any

from tests.heritage.fidelity.deviation import container, deviation, pod, retold

SERVING = ("Deployment decode", "Deployment prefill")
DEPLOYMENTS = (*SERVING, "Deployment EPP")
MONITORS = ("PodMonitor *",)
_OURS = "inference-stacks.io/"
_APP = "app.kubernetes.io"


def _labelled(one: Any) -> list[Any]:
    """Return the metadata of an object, and of its pods."""
    return [one["metadata"], *([one["spec"]["template"]["metadata"]] if one["kind"] == "Deployment" else [])]


def _role(one: Any) -> str:
    return one["metadata"]["name"].rpartition("-")[2]


@deviation("3.2 selectors", "*", about="*", only=("full", "alt"))
def generations(one: Any, theirs: Any) -> None:
    """Take the generation out of names and labels."""
    for labels in _maps(one):
        labels.pop(f"{_OURS}generation", None)
    mark = re.compile(rf"({theirs.key})-[0-9a-f]{{5}}(?![0-9a-z])")
    changed = retold(one, lambda text: mark.sub(r"\1", text))
    one.clear()
    one.update(changed)


def _maps(one: Any) -> list[Any]:
    """Return every map of labels, selectors included."""
    spec = one.get("spec", {})
    selector = spec.get("selector", {})
    return [each["labels"] for each in _labelled(one)] + [selector.get("matchLabels", selector)]


@deviation("3.1 labels", "*", about=f"*/labels/{_APP}/*")
def common_labels(one: Any, theirs: Any) -> None:
    """Call ourselves as they do; a picker's objects are called like the picker."""
    picker = f"{theirs.key}-epp"
    serves = one["kind"] == "PodMonitor" or _role(one) in {"decode", "prefill"}
    of_picker = not serves and one["kind"] not in {"InferencePool", "HTTPRoute"}
    for each in _labelled(one):
        each["labels"][f"{_APP}/managed-by"] = "model-operator"
        each["labels"][f"{_APP}/part-of"] = "otterscale-system"
        each["labels"][f"{_APP}/component"] = f"model-{_role(one)}" if serves else "epp"
        if of_picker:
            each["labels"][f"{_APP}/name"] = picker


@deviation("3.2 spelling", *SERVING, about="*/labels/llm-d.ai/inference-serving")
def spelling(one: Any, _: Any) -> None:
    del one["spec"]["template"]["metadata"]["labels"]["llm-d.ai/inference-serving"]


@deviation(
    "3.2 selectors", *DEPLOYMENTS, *MONITORS, "Service EPP", "InferencePool", "ServiceMonitor EPP",
    about=("*/labels/inference-stacks.io/*", "*/labels/inferencepool", "/spec/selector/*"),
)  # fmt: skip
def selectors(one: Any, theirs: Any) -> None:
    """Select by the labels that say what a pod is."""
    for each in _labelled(one):
        each["labels"] = {key: text for key, text in each["labels"].items() if not key.startswith(_OURS)}
    own = dict(one["metadata"]["labels"])
    serves = {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": own[f"{_APP}/name"]}
    if one["kind"] == "Service":
        one["spec"]["selector"] = own
    elif one["kind"] == "InferencePool":
        del own[f"{_APP}/component"]
        one["spec"]["selector"]["matchLabels"] = {**own, **serves}
    elif one["kind"] == "PodMonitor":
        one["spec"]["selector"]["matchLabels"] = {**own, **serves, "llm-d.ai/role": _role(one)}
    elif one["kind"] == "ServiceMonitor":
        one["spec"]["selector"]["matchLabels"] = own
    else:
        template = one["spec"]["template"]["metadata"]["labels"]
        if _role(one) == "epp":
            template["inferencepool"] = f"{theirs.key}-epp"
        one["spec"]["selector"]["matchLabels"] = dict(template)


@deviation("W5 version", "*", about=f"*/labels/{_APP}/version")
def version(one: Any, _: Any) -> None:
    for each in _labelled(one):
        each["labels"][f"{_APP}/version"] = "v1.0.1"


@deviation(
    "N1, N2, N4 names", *DEPLOYMENTS, *MONITORS, "InferencePool", "HTTPRoute",
    about=(
        "/metadata/name", f"*/{_APP}/name", "*/llm-d.ai/model", "*/args/--pool-name=*",
        "*/backendRefs/*", "*/headers/*/value",
    ),
)  # fmt: skip
def names(one: Any, theirs: Any) -> None:
    """Write the name as it was given, but in the picker's own names."""
    own = re.compile(rf"(?<![-.\w]){theirs.key}(?!-epp)(?![.\w])")
    changed = retold(one, lambda text: own.sub(theirs.name, text))
    one.clear()
    one.update(changed)


@deviation(
    "N3 cluster-scoped names", "ClusterRole *", "ClusterRoleBinding *", about=("/metadata/name", "*/roleRef/name")
)
def cluster_scoped_names(one: Any, _: Any) -> None:
    one["metadata"]["name"] = one["metadata"]["name"].removeprefix("inference-stacks:").replace(":", "-")


@deviation(
    "9 waits", *DEPLOYMENTS, "Service EPP",
    about=("/spec/progressDeadlineSeconds", "/metadata/annotations/pulumi.com/*"),
)  # fmt: skip
def waits(one: Any, _: Any) -> None:
    one["spec"].pop("progressDeadlineSeconds", None)
    for annotation in ("waitFor", "skipAwait"):
        one["metadata"].get("annotations", {}).pop(f"pulumi.com/{annotation}", None)


@deviation("3.2 service links", *DEPLOYMENTS, about="*/enableServiceLinks")
def service_links(one: Any, _: Any) -> None:
    del pod(one)["enableServiceLinks"]


@deviation("3.4 read-only root", *DEPLOYMENTS, about="*/readOnlyRootFilesystem")
def read_only_root(one: Any, _: Any) -> None:
    for each in [*pod(one).get("initContainers", []), container(one)]:
        each["securityContext"].pop("readOnlyRootFilesystem", None)


@deviation("3.7, 3.14 traced name", *DEPLOYMENTS, about="*/env/OTEL_SERVICE_NAME/value", only=("full",))
def traced_name(one: Any, _: Any) -> None:
    """Call all pickers alike in traces, and all sidecars."""
    alike = {"epp": "gateway-api-inference-extension", "routing-proxy": "llm-d-routing-sidecar"}
    for each in [*pod(one).get("initContainers", []), container(one)]:
        for variable in each.get("env", []):
            if variable["name"] == "OTEL_SERVICE_NAME" and each["name"] in alike:
                variable["value"] = alike[each["name"]]


DEVIATIONS = [
    generations, common_labels, spelling, selectors, version, waits, service_links, read_only_root, traced_name,
]  # fmt: skip
LAST = [names, cluster_scoped_names]
"""After everything else that has the service's name in it."""
