"""Arguments of the inference server."""

from models.problems import Problem
from models.service import Service

MODEL_MOUNT = "/models"
_FIELD_OF = {
    "--data-parallel-size": "set parallelism.data",
    "--dp": "set parallelism.data",
    "--enable-prompt-tokens-details": "it is always on",
    "--host": "every address of the pod is served",
    "--max-model-len": "set model.maxModelLen",
    "--model": "set model.source",
    "--port": "set engine.port",
    "--served-model-name": "set model.name",
    "--tensor-parallel-size": "set parallelism.tensor",
    "--tp": "set parallelism.tensor",
}
"""vLLM's flags that have a field, with what to do instead."""


def arguments(service: Service) -> tuple[str, ...]:
    """Return vLLM's arguments: the model's folder, one `--flag=value` token for each field, then the user's own."""
    parallel = service.parallelism
    generated = {
        "--port": service.engine.port,
        "--served-model-name": service.model.name,
        "--tensor-parallel-size": parallel.tensor if parallel.tensor > 1 else None,
        "--data-parallel-size": parallel.data if parallel.data > 1 else None,
        "--max-model-len": service.model.max_model_len,
    }
    tokens = [f"{flag}={value}" for flag, value in generated.items() if value is not None]
    return (MODEL_MOUNT, *tokens, "--enable-prompt-tokens-details", *service.engine.args)


def problems(path: str, service: Service) -> list[Problem]:
    """Refuse arguments that repeat a field or each other. Values are not echoed: an argument may hold a credential."""
    found, seen = list[Problem](), dict[str, int]()
    for index, argument in enumerate(service.engine.args):
        if not argument.startswith("-"):
            continue
        flag = _flag(argument)
        at = f"{path}.engine.args[{index}]"
        if flag in _FIELD_OF:
            found.append(Problem(at, f"repeats a field ({flag})", f"remove it and {_FIELD_OF[flag]}"))
        elif flag in seen:
            found.append(Problem(at, f"repeats args[{seen[flag]}] ({flag})", "keep one of them"))
        seen.setdefault(flag, index)
    return found


def _flag(argument: str) -> str:
    """Return the flag's canonical spelling: vLLM takes `_` for `-` and one dash before a long name's short form."""
    name = argument.split("=", 1)[0].lstrip("-").replace("_", "-")
    return f"--{name}"
