"""The index of llm-d's library for precise prefix caching, which listens to the events of an engine."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local import processes
from local.tools import Tool

CONNECTED = "Connected subscriber socket"
"""Message of the library when it listens to a pod."""


class CacheIndex:
    """A process with an index. It has the parameters of a picker's plugin, and listens to pods by name and endpoint."""

    def __init__(self, tool: Tool, directory: Path, parameters: Mapping[str, Any], pods: Mapping[str, str]) -> None:
        directory.mkdir(parents=True)
        config = directory / "config.json"
        rows = [{"name": name, "endpoint": endpoint} for name, endpoint in pods.items()]
        config.write_text(json.dumps({"parameters": parameters, "pods": rows}), encoding="utf-8")
        self._log = directory / "log"
        with self._log.open("wb") as log:
            command = processes.tied_command([str(tool.path), str(config)])
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)

    def listens(self) -> bool:
        """Return whether it has connected to a pod."""
        assert self._process.poll() is None, self.log()
        return CONNECTED in self.log()

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def scores(self, model: str, tokens: Sequence[int]) -> dict[str, float]:
        """Return the number of leading blocks of the tokens that the cache of each pod has, by the pod's name."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"model": model, "tokens": list(tokens)}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline()) or {}

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
