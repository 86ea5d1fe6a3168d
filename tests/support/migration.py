"""Conversions of documents of other systems, and what is in them."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

import yaml

from cli.convert import PrintedConfiguration, convert
from migration import modelservice_chart
from migration.files import documents

AIM_MODEL = """
model:
  custom:
    baseImage: registry.example/aim/base:1
    modelSources: [{modelId: acme/chat, sourceUri: "hf://acme/chat"}]
    hardware: {gpu: {requests: 1, model: MI300X}}
"""
"""Lines of the spec of an AIMService."""


def llm_service(spec: str, annotations: str = "{}") -> str:
    """Return an LLMInferenceService with the name `chat` and lines of a spec."""
    return (
        "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\n"
        f"metadata: {{name: chat, namespace: ml, annotations: {annotations}}}\nspec:\n{spec}"
    )


def aim_service(spec: str, labels: str = "{}") -> str:
    """Return an AIMService with the name `chat` and lines of a spec."""
    return (
        "apiVersion: aim.eai.amd.com/v1alpha1\nkind: AIMService\n"
        f"metadata: {{name: chat, namespace: ml, labels: {labels}}}\nspec:\n{textwrap.indent(spec, '  ')}"
    )


def aim_object(kind: str, name: str, spec: str, rest: str = "") -> str:
    """Return another object of aim-engine, with a spec and with further lines."""
    return (
        f"apiVersion: aim.eai.amd.com/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
        f"spec:\n{textwrap.indent(spec, '  ')}\n{rest}"
    )


def chart_values(container: str, rest: str = "") -> str:
    """Return values of the chart llm-d-modelservice with one role and one container."""
    return (
        f"modelArtifacts: {{name: acme/chat}}\n{rest}\nprefill: {{create: false}}\n"
        f"decode: {{containers: [{container}]}}\n"
    )


def objects(text: str, *companions: str) -> PrintedConfiguration:
    """Convert objects."""
    beside = [document for companion in companions for document in documents(companion, "beside.yaml")]
    return convert(documents(text, "chat.yaml"), beside)


def chart(text: str) -> PrintedConfiguration:
    """Convert values of the chart llm-d-modelservice."""
    return convert(documents(text, "values.yaml"), [], modelservice_chart.NAME, "ml")


def stack(printed: PrintedConfiguration) -> dict[str, Any]:
    """Return the configuration of a stack."""
    return yaml.safe_load(printed.text)["config"]["inference-stacks:stack"]


def only_service(printed: PrintedConfiguration) -> dict[str, Any]:
    """Return the only service."""
    (service,) = stack(printed)["services"].values()
    return service


def places(printed: PrintedConfiguration, fate: str) -> set[str]:
    """Return the paths of the notes of a fate."""
    return {str(note.path) for note in printed.notes if note.fate == fate}


CREDENTIALS = ("hf_" + "aB3dE6gH9j" * 4, "plain-words-of-a-secret")
"""Credentials in what an API server adds to objects: one has the shape of a token, and one has none."""
SAMPLES = File(__file__).parents[1] / "migration" / "samples"
OBJECTS = (
    *("kserve-roles.yaml", "modelservice-alt.yaml", "modelservice-full.yaml", "modelservice-min.yaml"),
    *(path.name for path in sorted(SAMPLES.glob("aim*.yaml")) if path.stem != "aim-live"),
    "zerfoo-object.yaml",
)
"""Samples whose documents are objects of a cluster. What an API server adds decides about none of them."""


def stored(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as an API server returns it after `kubectl apply` and a controller's status.

    What the server and kubectl add holds credentials.
    """
    text = " ".join(CREDENTIALS)
    metadata = dict(tree["metadata"])
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({**tree, "env": text})}
    metadata |= {
        "annotations": {**annotations, **metadata.get("annotations", {})},
        "creationTimestamp": "2026-11-28T10:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["example.org/cleanup"],
        "generation": 3,
        "managedFields": [
            {
                "apiVersion": tree["apiVersion"],
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {f'v:"{text}"': {}, 'k:{"name":"main"}': {".": {}}}},
                "manager": "kubectl-client-side-apply",
                "operation": "Update",
                "time": "2026-11-28T10:00:00Z",
            }
        ],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1"}],
        "resourceVersion": "4711",
        "selfLink": "/apis",
        "uid": "7b1f2a30-0000-4000-8000-000000000000",
    }
    condition = {"type": "Ready", "status": "False", "message": text, "lastTransitionTime": "2026-11-28T10:00:00Z"}
    return {**tree, "metadata": metadata, "status": {"conditions": [condition], "observedGeneration": 3}}
