"""Sources that engines open themselves (`storage.type: engine`): the name of the model, variables and servers.

Sources: vllm 0.26.0, 0.30.0 and 0.32.0, vllm/config/model.py (maybe_pull_model_tokenizer_for_runai, revisions) and
vllm/config/vllm.py (object storage needs a streamer); run-ai/runai-model-streamer, docs/src/env-vars.md, and vLLM's
docs/models/extensions/runai_model_streamer.md (variables of object storage).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.paths import Path
from models.service import Model
from models.source import hub, scheme
from planning.ground.environment import EnvValue
from planning.ground.mounts import ENGINE_HOME
from planning.weights import source_access
from planning.weights.source_access import SourceAccess

_CACHE = f"{ENGINE_HOME}/huggingface"
"""Folder in which an engine keeps what it fetches from a hub. It is in the volume of the engine's home."""


@dataclass(frozen=True, slots=True)
class EngineAccess:
    """Variables with which an engine opens the source of its model."""

    env: Mapping[str, EnvValue]
    secret_at: Path | None
    """Path of the name of the Secret in the variables; None if there is none."""


NONE = EngineAccess({}, None)
"""The access of an engine that loads its weights from a folder."""


def of_model(model: Model, at: Path, *, identity: bool) -> EngineAccess:
    """Return the variables with which an engine opens a source `hf://` or `s3://`. `at` is the path of the model.

    `identity` says whether the pods have an account that may have access to the source.
    """
    access = source_access.of_model(model, at / "secrets")
    secret_at = None if access.secret is None else access.secret.at
    return EngineAccess(dict(_variables(model, access, identity=identity)), secret_at)


def _variables(model: Model, access: SourceAccess, *, identity: bool) -> Iterator[tuple[str, EnvValue]]:
    if scheme(model.source) == "hf":
        yield "HF_HOME", _CACHE
        yield from source_access.hub_variables(access).items()
        return
    yield from source_access.bucket_variables(access).items()
    if access.endpoint is not None:
        yield "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING", "0"
    if access.endpoint is not None and not identity:
        yield "AWS_EC2_METADATA_DISABLED", "true"


def name(model: Model) -> str:
    """Return the name by which an engine opens a source: a repository, or the URL of a prefix."""
    if scheme(model.pinned_source) == "hf":
        return hub(model.pinned_source)[0]
    return model.pinned_source.rstrip("/")


def revision(model: Model) -> str | None:
    """Return the revision of the repository; None for the default branch, and for other sources."""
    if scheme(model.pinned_source) == "hf":
        return hub(model.pinned_source)[1]
    return None
