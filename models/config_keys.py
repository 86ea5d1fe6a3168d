"""The keys of the program's own configuration namespace. Its name is that of the project, `inference-stacks`."""

import difflib
from collections.abc import Iterable, Sequence

from models.paths import Path
from models.problems import Problem

NAMESPACE = "inference-stacks"
"""Name of this project. A project with another name has keys in the namespace of that name, as Pulumi has it."""
ROOT = f"{NAMESPACE}:stack"
"""Key with the configuration of the stack; paths in messages start below it."""
KUBECONFIG = f"{NAMESPACE}:kubeconfig"
"""Key with the kubeconfig of the cluster, as an encrypted value."""
PREVIEWED = f"{NAMESPACE}:previewed"
"""Key with the path of a facts file, such as the file of an earlier preview. A run lists what has changed in the
cluster since that file was written."""
OUTSIDE_WINDOWS = f"{NAMESPACE}:outsideWindows"
"""Key with a day, as year-month-day. On that day, a run may deploy outside of the stack's windows."""
KEYS = (ROOT, KUBECONFIG, PREVIEWED, OUTSIDE_WINDOWS)


def of_project(key: str, project: str) -> str:
    """Return one of `KEYS` in the namespace of a project."""
    return f"{project}:{key.partition(':')[2]}"


def problems(keys: Iterable[str], project: str = NAMESPACE) -> list[Problem]:
    """Return a problem for each unknown key in the namespace of a project. Keys in other namespaces are ignored.

    A misspelt key must not be ignored: if `KUBECONFIG` is misspelt, the program would deploy to another cluster. In a
    project with another name, a key in the namespace `inference-stacks` is a mistake, too: nobody reads it.
    """
    known = [of_project(key, project) for key in KEYS]
    unknown = sorted(key for key in keys if key.startswith(f"{project}:") and key not in known)
    unread = sorted(key for key in keys if key in KEYS and project != NAMESPACE)
    return [
        *(Problem(Path(key), "unknown key", _suggestion(key, known)) for key in unknown),
        *(Problem(Path(key), f"is not read in project {project}", _rename_remedy(key, project)) for key in unread),
    ]


def kubeconfig_problem(project: str = NAMESPACE) -> Problem:
    """Return the problem of a kubeconfig that is no encrypted value.

    A kubeconfig names a server, and files and programs of the caller whose identity the server gets. Only somebody who
    can encrypt values of the stack may write it.
    """
    key = of_project(KUBECONFIG, project)
    return Problem(Path(key), "is not encrypted", f"run pulumi config set --secret {key}")


def missing(project: str) -> Problem:
    """Return the problem of a project whose configuration has no value for the key of the stack."""
    key = of_project(ROOT, project)
    return Problem(Path(key), "is missing or empty", "write at least namespace and services")


def _rename_remedy(key: str, project: str) -> str:
    return f"rename it to {of_project(key, project)}, or write name: {NAMESPACE} in Pulumi.yaml"


def _suggestion(key: str, known: Sequence[str]) -> str:
    names = {name.partition(":")[2]: name for name in known}
    close = difflib.get_close_matches(key.partition(":")[2].lower(), names, n=1)
    if close:
        return f"did you mean {names[close[0]]}?"
    return f"known here: {', '.join(known)}"
