"""Program that has imported the deployment program, and forks itself for each run of it: `fork_server.py SOCKET`.

What a run is to have, `fork_client.py` sends: arguments, environment, folder and standard files.
"""

from __future__ import annotations

import ast
import ctypes
import fcntl
import gc
import marshal
import os
import runpy
import select
import selectors
import signal
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MARK = "INFERENCE_STACKS_RUN"
"""The variable that marks processes of a run (`local.engine.PulumiEngine.MARK`)."""
LONGEST_MARK = 1000
"""Bytes that the server's own environment has for the mark of a run."""


def preload() -> None:
    """Import what the deployment program imports, and keep it out of the garbage collector's sight."""
    import pulumi.runtime  # noqa: F401, PLC0415 - the executor imports it before the program

    sys.path.insert(0, str(ROOT))
    main = ast.parse((ROOT / "__main__.py").read_text(encoding="utf-8"))
    main.body = [node for node in main.body if isinstance(node, ast.Import | ast.ImportFrom)]
    exec(compile(main, "__main__.py", "exec"), {})
    gc.collect()
    gc.freeze()


def mark_process(value: str) -> None:
    """Write the mark of a run to where `/proc/PID/environ` shows it, in the place of the server's own.

    A process shows the environment that it began with.
    """
    start, end = (int(field) for field in Path("/proc/self/stat").read_text().rpartition(")")[2].split()[47:49])
    begin = start + ctypes.string_at(start, end - start).index(f"{MARK}=".encode()) + len(MARK) + 1
    text = os.fsencode(value)
    if len(text) > LONGEST_MARK:
        raise ValueError(f"the mark of a run is longer than {LONGEST_MARK} bytes: {value}")
    ctypes.memmove(begin, text.ljust(LONGEST_MARK, b"\0"), LONGEST_MARK)


def receive(connection: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    """Take over the standard files of a client; return its arguments, folder and environment."""
    size, files, _, _ = socket.recv_fds(connection, 8, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    text = b""
    while len(text) < int.from_bytes(size, "little"):
        text += connection.recv(2**16)
    return marshal.loads(text)


def run(connection: socket.socket) -> None:
    """Run the executor in this process as its client asks. The kernel ends this process when the client ends."""
    arguments, folder, environment = receive(connection)
    # The kernel signals whatever happens to the connection: after the request, that is its end alone.
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([connection], [], [], 0)[0]:
        sys.exit("the client ended before its run began")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    mark_process(environment.get(MARK, ""))
    sys.argv = arguments
    sys.path[:2] = [str(Path(arguments[0]).parent)]
    runpy.run_path(arguments[0], run_name="__main__")


def serve(path: str) -> None:
    """Fork for each client, and tell it the exit code. Returns in a forked process alone, after its run."""
    clients = dict[int, tuple[int, socket.socket]]()
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(f"{path}.new")
        listener.listen()
        Path(f"{path}.new").rename(path)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not listener:
                    pid, connection = clients.pop(key.fd)
                    selector.unregister(key.fd)
                    _report(pid, key.fd, connection)
                    continue
                connection, _ = listener.accept()
                if (pid := os.fork()) == 0:
                    break
                waited = os.pidfd_open(pid)
                clients[waited] = pid, connection
                selector.register(waited, selectors.EVENT_READ)
            else:
                continue
            break
    for _, other in clients.values():
        other.close()
    run(connection)


def _report(pid: int, waited: int, connection: socket.socket) -> None:
    """Tell a client how its run ended."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(waited)
    with connection:
        try:
            connection.sendall(bytes([code if code >= 0 else 128 - code]))
        except BrokenPipeError:
            # The client was killed.
            return


if __name__ == "__main__":
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    preload()
    serve(sys.argv[1])
