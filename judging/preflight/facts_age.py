"""Check of a facts file: whether it describes this cluster, and whether it is at most a day old."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from models.paths import Path
from models.problems import Problem, warning
from planning.ground.cluster_facts import ClusterFacts
from planning.ground.inventory import TIME_FORMAT

_MAX_AGE = timedelta(days=1)
FILE = Path("cluster", "facts")
"""Key that names the file from which a stack takes its facts."""
_REMEDY = "write it again with python -m cli facts"


def judge(facts: ClusterFacts | None, cluster: str | None, now: datetime, at: Path = FILE) -> Iterator[Problem]:
    """Yield a warning if a file's facts describe another cluster than `cluster`, or are older than a day.

    `now` is a time in UTC. `at` is the key that names the file. If the name of a cluster is unknown, the names are not
    compared.
    """
    origin = None
    if facts is not None:
        origin = facts.origin
    if origin is None:
        return
    if cluster is not None and origin.cluster is not None and origin.cluster != cluster:
        yield warning(at, f"the file describes cluster {origin.cluster}, but this run is for {cluster}", _REMEDY)
    try:
        age = now - datetime.strptime(origin.time, TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        yield warning(at, f"the file has no time of the form {TIME_FORMAT}", _REMEDY)
        return
    if age > _MAX_AGE:
        hours = int(age.total_seconds() // 3600)
        yield warning(at, f"the file is {hours} hours old ({origin.time})", _REMEDY)
