"""How an engine gets its weights: from a folder, or from the source itself (`storage.type: engine`)."""

from enum import Enum

from models.service import Variant
from models.source import scheme
from models.storage import EngineLoaded


class Loading(Enum):
    """A way in which an engine loads its weights."""

    FOLDER = "folder"
    """From a folder of the pod, into which a container, a Job or a claim has put them."""
    FETCHED = "fetched"
    """The engine fetches them to the disk of the node, and loads them from there."""
    STREAMED = "streamed"
    """The engine reads them from the source into the memory of the devices."""

    @property
    def is_by_engine(self) -> bool:
        """Tell whether the engine asks the source."""
        return self is not Loading.FOLDER


LOADABLE = ("hf", "s3")
"""Schemes of the sources that engines open themselves."""


def of(spec: Variant) -> Loading:
    """Return how the engines of a variant get their weights. vLLM streams only from object storage."""
    if not isinstance(spec.storage, EngineLoaded) or scheme(spec.model.source) not in LOADABLE:
        return Loading.FOLDER
    if scheme(spec.model.source) == "s3":
        return Loading.STREAMED
    return Loading.FETCHED
