"""SDKs of the package, as the generators of the engine's version write them, and programs with them."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.report import Report
from local.tools import Tool, build, cache_directory, table
from tests.support.sdks import node

GO_PROGRAM = Path(__file__).parent / "go"
"""Folder with a program in Go, and the modules with their checksums."""
GO_SDK = "inference-stacks.io/sdk/go/inferencestacks"
"""Path of the SDK's package in Go."""


def generate(tool: Tool, schema: Mapping[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Write the SDKs of a package with a schema below a folder: `nodejs`, `go` and `python`."""
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return subprocess.run([str(tool.path), str(path), str(folder)], capture_output=True, text=True, check=False)


def compile_typescript(sdk: Path) -> None:
    """Compile the SDK of TypeScript as `pulumi package add` does, into its folder `bin`."""
    packages = node.packages()
    (sdk / "node_modules").symlink_to(packages)
    node.run(str(packages / "typescript" / "bin" / "tsc"), "--project", str(sdk), folder=sdk)
    (sdk / "bin" / "package.json").write_bytes((sdk / "package.json").read_bytes())


def ask(folder: Path, sdk: Path, programs: Mapping[str, str]) -> dict[str, Any]:
    """Write programs in TypeScript into a folder that has the SDK among its packages, and ask an editor about them.

    `programs` has texts by name of the file. The answers have the same names. They hold `mistakes` by line,
    `completions` by mark, and `javascript`, the compiled program.
    """
    packages = folder / "node_modules"
    packages.mkdir()
    for name in ("@pulumi", "@types", "typescript"):
        (packages / name).symlink_to(node.packages() / name)
    (packages / "@inference-stacks").mkdir()
    (packages / "@inference-stacks" / "pulumi").symlink_to(sdk)
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    paths = [str(folder / name) for name in programs]
    return json.loads(node.run(str(node.FOLDER / "language.cjs"), *paths, folder=folder, modules=node.packages()))


def make_go(folder: Path, sdk: Path) -> Path:
    """Make a folder with the program in Go and the SDK beside it. Return the path of the program."""
    for path in GO_PROGRAM.iterdir():
        shutil.copy(path, folder)
    (folder / "sdk").symlink_to(sdk)
    return folder / "main.go"


def compile_go(program: Path) -> str:
    """Compile a program with the SDK. Return the messages of the compiler; none if it finds no mistake.

    Go is the one on PATH, or that of the tools' cache. It downloads modules once on a machine. Types are checked
    without the optimisation of the SDK, which takes gigabytes.
    """
    toolchain, _ = table.read()
    builder = build.Builder(cache_directory(), toolchain, Report())
    go, variables = builder._go_toolchain()
    settings = {"CGO_ENABLED": "0", "GOWORK": "off"}
    if variables:
        settings["GOCACHE"] = str(builder._compiler_cache("sdk"))
    command = [str(go), "build", "-trimpath", f"-gcflags={GO_SDK}=-N -l", "-o", os.devnull, "."]
    environment = {**os.environ, **variables, **settings}
    done = subprocess.run(command, cwd=program.parent, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
