"""Files that a container of vLLM finds in its mounts: model, adapters and certificates, all made here."""

from collections.abc import Sequence
from pathlib import Path

from local.vllm import families
from local.vllm.command import EngineCommand
from local.vllm.families import Family
from local.vllm.installation import Version
from tests.support.cluster import certificates
from tests.support.engine.adapters import make_adapter

CERTIFICATE = "--ssl-certfile="
KEY = "--ssl-keyfile="
MODULES = "--lora-modules"


def fill(arguments: Sequence[str], family: Family, version: Version, root: Path) -> None:
    """Write all files that the arguments of a process name. The directories of the mounts are below `root`."""
    families.write_model(model(arguments, root), family, version)
    for seed, path in enumerate(map(Path, adapters(arguments).values())):
        if not path.exists():
            make_adapter(path, family.config, seed=seed)
    _write_certificate(arguments)


def outside(process: EngineCommand, root: Path) -> list[str]:
    """Return the paths of files and of HOME that a process names and that no mount of its container has.

    The directories of the mounts are below `root`.
    """
    arguments = process.arguments[2:]
    paths = [*adapters(arguments).values(), *_certificate(arguments).values()]
    paths += [arguments[0]] if has_files(arguments) else []
    paths += [text for name, text in process.environment.items() if name == "HOME"]
    return [path for path in paths if not Path(path).is_relative_to(root)]


def model(arguments: Sequence[str], root: Path) -> Path:
    """Return the folder of the small model: that of the model, or one for a model that vLLM would fetch."""
    return Path(arguments[0]) if has_files(arguments) else root / "models"


def has_files(arguments: Sequence[str]) -> bool:
    """Tell whether the model of `vllm serve` is a folder. Else it is a name or a URL, and vLLM fetches the model."""
    return arguments[0].startswith("/")


def adapters(arguments: Sequence[str]) -> dict[str, str]:
    """Return the directories of the adapters by their names."""
    if MODULES not in arguments:
        return {}
    rest = arguments[arguments.index(MODULES) + 1 :]
    end = next((index for index, text in enumerate(rest) if text.startswith("-")), len(rest))
    return dict(text.split("=", 1) for text in rest[:end])


def _certificate(arguments: Sequence[str]) -> dict[str, str]:
    """Return the paths of certificate and key by their flags."""
    return {flag: text.removeprefix(flag) for text in arguments for flag in (CERTIFICATE, KEY) if text.startswith(flag)}


def _write_certificate(arguments: Sequence[str]) -> None:
    places = _certificate(arguments)
    if not places:
        return
    folder = Path(places[CERTIFICATE]).parent
    folder.mkdir(parents=True, exist_ok=True)
    certificates.make(folder)
    (folder / "server.pem").replace(places[CERTIFICATE])
    (folder / "server-key.pem").replace(places[KEY])
