"""Runs commands of the program, each in a process of its own that reaches nothing but stand-ins on loopback.

Every name leads to an address of its own in 127.77.0.0/16, by which a connection says whom it is for. A connection to
any other address is noted and refused. Standard input has a JSON document with `ports` (ports of the stand-ins, by the
port that is connected to), `folder`, `log` and `commands` (arguments by label).
"""

import errno
import gc
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
_HERE = ("127.0.0.1", "::1", "localhost", None, "")
_NETWORK = "127.77.0."


class Watch:
    """Names, and the connections of this process."""

    def __init__(self, ports: Mapping[str, int], note: Callable[[str], None]) -> None:
        self._ports = ports
        self._note = note
        self._names = list[str]()
        self._resolve = socket.getaddrinfo
        self._connect = socket.socket.connect

    def install(self) -> None:
        """Replace the functions by which Python resolves names and connects."""
        watch = self

        def connect(self: socket.socket, address: Any) -> None:
            watch.connect(self, address)

        def connect_ex(self: socket.socket, address: Any) -> int:
            try:
                watch.connect(self, address)
            except OSError as error:
                return error.errno or errno.ECONNREFUSED
            return 0

        socket.getaddrinfo = self.resolve  # type: ignore[assignment]
        socket.socket.connect = connect  # type: ignore[method-assign]
        socket.socket.connect_ex = connect_ex  # type: ignore[method-assign]

    def resolve(self, host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        """Return the address of a name. Addresses are passed on."""
        name = host.decode() if isinstance(host, bytes) else host
        if name not in _HERE and any(character.isalpha() for character in name) and ":" not in name:
            if name not in self._names:
                self._names.append(name)
            name = f"{_NETWORK}{1 + self._names.index(name)}"
        return self._resolve(name, port, *arguments, **options)

    def connect(self, connection: socket.socket, address: Any) -> None:
        """Note a connection, and lead it to a stand-in. Raises ConnectionRefusedError if there is none."""
        if connection.family == socket.AF_UNIX or address[0] in _HERE:
            self._connect(connection, address)
            return
        host, port = address[:2]
        name = self._names[int(host.removeprefix(_NETWORK)) - 1] if host.startswith(_NETWORK) else host
        self._note(name if port in {80, 443} else f"{name}:{port}")
        if name == host or str(port) not in self._ports:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        self._connect(connection, ("127.0.0.1", self._ports[str(port)]))


def main() -> None:
    """Run the commands one after another. Each line of the log has a label, and a server or `exit CODE`."""
    task = json.load(sys.stdin)
    label = ""

    def note(server: str) -> None:
        with Path(task["log"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps([label, server]) + "\n")

    Watch(task["ports"], note).install()
    _import()
    for label, arguments in task["commands"].items():  # noqa: B007, `note` reads the label
        child = os.fork()
        if not child:
            os._exit(_run(arguments, Path(task["folder"])))
        note(f"exit {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")


def _import() -> None:
    """Import what most commands need. The children share it, and leave it to the end, as `python -m cli` does."""
    gc.disable()
    for module in ("cli.commands", "facts.registry", "facts.hub", "boto3.session", "botocore.config"):
        importlib.import_module(module)


def _run(arguments: list[str], folder: Path) -> int:
    os.chdir(folder)
    with (folder / "output.txt").open("a", encoding="utf-8") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        print(*arguments, flush=True)
        code = 70
        try:
            code = _called(*arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return code


def _called(program: str, *arguments: str) -> int:
    match program:
        case "cli":
            from cli import commands  # noqa: PLC0415, as above

            return commands.main([*arguments])
        case "local":
            from local import main  # noqa: PLC0415, as above

            return main.main(arguments)
        case _:
            return _program(*arguments)


def _program(stack: str) -> int:
    """Run the program of the engine under mocks, which stand for the engine."""
    from tests.support import program  # noqa: PLC0415, as above

    text = Path(f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    os.chdir(ROOT)
    program.run(json.loads(text)["config"]["inference-stacks:stack"])
    return 0


if __name__ == "__main__":
    main()
