"""Program that lets a fork server run a deployment: `python -I -S fork_client.py FOLDER PYTHON ARGUMENT…`.

It lives until that run ends. PYTHON replaces it if modules of the deployment's program are not those that the server
has imported.
"""

import array
import marshal
import os
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LAYERS = ("components", "composition", "facts", "judging", "manifests", "models", "planning")
EXECUTOR = "pulumi-language-python-exec"
"""The language host's program that runs a deployment's program."""


def is_known(arguments: list[str]) -> bool:
    """Return whether arguments of the executor name a program with the modules of this repository."""
    project = Path(arguments[arguments.index("--pwd") + 1], arguments[-1])
    return all((project / name).resolve() == ROOT / name for name in LAYERS)


def next_server(folder: Path) -> str:
    """Return the socket of the server whose turn it is: consecutive runs differ in the seed of their hashes."""
    sockets = sorted(folder.glob("*.socket"))
    with (folder / "turns").open("ab", buffering=0) as file:
        file.write(b".")
        return str(sockets[file.tell() % len(sockets)])


def run(path: str, arguments: list[str]) -> int:
    """Let a server run the executor with the files, environment and folder of this process; return the exit code.

    The server ends that run when this process ends.
    """
    request = marshal.dumps((arguments, str(Path.cwd()), dict(os.environ)))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        files = array.array("i", (0, 1, 2))
        size = len(request).to_bytes(8, "little")
        connection.sendmsg([size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        connection.sendall(request)
        code = connection.recv(1)
        return code[0] if code else 1


if __name__ == "__main__":
    folder, python, *called = sys.argv[1:]
    if not is_known(called):
        os.execv(python, [python, *called])
    sys.exit(run(next_server(Path(folder)), called))
