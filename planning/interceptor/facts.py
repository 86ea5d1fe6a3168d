"""Facts of the interceptor's program from the table `phoebe.yaml`: headers, paths, modes and settings of images."""

from typing import Literal

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced

Mode = Literal["label", "header"]


class MeteringHeaders(Sourced):
    """Names of headers of the requests that lead to the interceptor."""

    auth_id: str
    """Identity that requests are billed to. The component that authenticates clients sets this header."""
    resource_id: str
    """Id of the model, by which requests are billed and routed."""
    upstream: str
    """Address that the interceptor forwards to, in mode header."""
    forged: list[str]
    """Headers that routes remove from the requests of clients."""


class ServiceSearch(Sourced):
    """How the interceptor finds Services by their labels."""

    domain: str
    """Cluster domain: end of the host names of the Services to which the interceptor forwards requests."""
    port: str
    """Name of the port that the interceptor prefers among the ports of a Service."""


class PodFacts(Sourced):
    """Files and paths of the image."""

    settings: str
    """Folder of the settings."""
    settings_file: str
    program: str
    """Folder of the program."""
    health: str
    """Path of the health check. The check depends on no other process."""


class Shutdown(Sourced):
    """Times of the shutdown of a process."""

    requests: int
    """Seconds that running requests have until the process ends."""


class ImageLine(Sourced):
    """A line of images: tags of images with the same mode and the same settings."""

    mode: Mode
    tags: list[str]
    settings: list[Literal["listenPort", "idleTimeout", "registry", "emit"]]
    """Groups of settings that images of the line read."""


class Facts(Spec):
    """All facts of the table."""

    headers: MeteringHeaders
    routing: ServiceSearch
    pod: PodFacts
    shutdown: Shutdown
    repositories: list[str]
    """Last path segments of the repositories whose tags are known."""
    lines: list[ImageLine]

    def line(self, mode: Mode) -> ImageLine:
        """Return the line of a mode."""
        return next(line for line in self.lines if line.mode == mode)

    def line_of(self, image: str) -> ImageLine | None:
        """Return the line of an image by its tag; None if the image is unknown."""
        repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
        if repository not in self.repositories:
            return None
        return next((line for line in self.lines if tag in line.tags), None)


def facts() -> Facts:
    """Return the facts of the interceptor."""
    return tables.read(Facts, "interceptor/phoebe.yaml")
