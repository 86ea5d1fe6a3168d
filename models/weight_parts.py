"""Spec of weights that an engine loads beside those of the model."""

from pydantic import Field

from models.pins import PinnedSource
from models.secrets import SourceSecrets
from models.source import ModelSource
from models.vocabulary import Bytes, Text, Url


class WeightPart(PinnedSource):
    """Weights that an engine loads beside those of the model, such as an adapter or a draft model."""

    source: ModelSource
    """Source of the weights."""
    size: Bytes | None = Field(default=None, examples=["1Gi"])
    """Bytes of the weights."""
    secrets: SourceSecrets | None = Field(default=None, examples=[["hf-token"]])
    """The existing Secret with the credentials for the source. It has the same keys as a Secret of model.secrets.
    Absent: the model's Secret if both sources have the same scheme and endpoint; otherwise none."""
    endpoint: Url | None = Field(default=None, examples=["http://minio.storage:9000"])
    """URL of the S3 store or of the Hugging Face hub. Absent: the model's if both sources have the same scheme;
    otherwise the URL of AWS or of huggingface.co."""
    region: Text | None = Field(default=None, examples=["eu-central-1"])
    """Region of the bucket. Absent: the model's if both sources have the same scheme and endpoint."""
