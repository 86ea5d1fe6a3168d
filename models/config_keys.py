"""The keys of the program's own configuration namespace, `inference-stacks`."""

import difflib
from collections.abc import Iterable

from models.paths import Path
from models.problems import Problem

NAMESPACE = "inference-stacks"
ROOT = f"{NAMESPACE}:stack"
"""Key with the configuration of the stack; paths in messages start below it."""
KUBECONFIG = f"{NAMESPACE}:kubeconfig"
"""Key with the kubeconfig of the cluster, as an encrypted value."""
PREVIEWED = f"{NAMESPACE}:previewed"
"""Key with the path of a facts file, such as the file of an earlier preview. A run lists what has changed in the
cluster since that file was written."""
KEYS = (ROOT, KUBECONFIG, PREVIEWED)


def problems(keys: Iterable[str]) -> list[Problem]:
    """Return a problem for each unknown key in this namespace. Keys in other namespaces are ignored.

    A misspelt key must not be ignored: if `KUBECONFIG` is misspelt, the program would deploy to another cluster.
    """
    unknown = sorted(key for key in keys if key.startswith(f"{NAMESPACE}:") and key not in KEYS)
    return [Problem(Path(key), "unknown key", _suggestion(key)) for key in unknown]


def _suggestion(key: str) -> str:
    names = {known.removeprefix(f"{NAMESPACE}:"): known for known in KEYS}
    close = difflib.get_close_matches(key.removeprefix(f"{NAMESPACE}:").lower(), names, n=1)
    return f"did you mean {names[close[0]]}?" if close else f"known here: {', '.join(KEYS)}"
