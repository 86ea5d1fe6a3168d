"""Reader of what the engines of LLMInferenceServices run: program, arguments, variables, devices and parallelism."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from migration import flags, pods, serving_pods
from migration.accounts import Original, all_leaves
from migration.flags import ReadArguments, Token
from migration.serving_pods import Role
from models.flags import parse
from models.paths import Path
from models.trees import mapping, sequence
from planning.hardware import accelerators

_ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
"""Variable whose words KServe's configs add to the arguments."""
_SERVERS = "VLLM_API_SERVER_COUNT"
"""Variable of which the script for data parallelism in KServe's configs makes an argument (kserve at aaac4e29,
config/llmisvcconfig/config-llm-worker-data-parallel.yaml)."""
_NO_SERVERS = "only KServe's script for workers with data parallelism reads it, and here another program runs"
_NO_NUMBER = "KServe's script makes an argument of it, which needs a number in the file"
_ROCE = "KSERVE_INFER_ROCE"
_CACHE = "HF_HUB_CACHE"
_CACHE_FOLDER = "/models"
"""Variable of KServe's configs, and its value, which is the folder of the weights here."""
_TOKEN = "HF_TOKEN"  # noqa: S105, the name of a variable
_SHELLS = frozenset({"sh", "bash"})
_OPERATORS = re.compile(r"[;&|<>`\n]|\$\(")
_REFERENCE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)(?::-)?\}?")
_SHIPPED = ("vllm serve", _ADDITIONAL, "served-model-name")
"""Parts of the scripts in KServe's own configs."""
_SCRIPT = "it is the script of KServe's configs, which starts vLLM"
_SERVE = (("vllm", "serve"), ("python", "-m", "vllm.entrypoints.openai.api_server"))
_VERSION = re.compile(r"python3(\.[0-9]{1,3})?")
_OPTION_OF_SCRIPT = re.compile(r"-[elux]{0,4}c")
"""Options of a shell before a script, with others that change nothing about a single command."""
_LENGTH_WITH_SCRIPT = 3
"""Number of words of a shell with a script: the shell, its options and the script."""
_PARALLELISM = ("tensor", "pipeline", "data", "dataLocal")
_ANNOTATIONS = Path("metadata", "annotations")
_DRA = "serving.kserve.io/exp-dra-"
_COUNT = re.compile(r"[1-9][0-9]{0,3}")
_CPU = "cpu"
_EVENTS = "--kv-events-config"
_EVENTS_HERE = "events of the KV cache go to readers as kvCache.events says"


def read(role: Role, spec: Path, engine: Path | None) -> None:
    """Read the engine's container of a role, and the parallelism of the role."""
    arguments = ReadArguments()
    if engine is not None:
        key = role.key_of("engine")
        role.set(pods.image(role.original, engine / "image", key), "engine", "image")
        role.set(role.original.text(engine / "imagePullPolicy"), "engine", "imagePullPolicy")
        arguments = _program(role, spec, engine)
    layout = _layout(role, spec / "parallelism", arguments)
    devices = _accelerator(role, engine, layout)
    if engine is not None:
        role.set(pods.resources(role.original, engine / "resources", devices), "resources")
        serving_pods.keep_image(role, engine / "image")
    _offloading(role, spec / "kvCacheOffloading")


def _program(role: Role, spec: Path, engine: Path) -> ReadArguments:
    """Read command, arguments and variables of the engine. Returns the flags that are keys."""
    original = role.original
    variables = _variables(role, engine)
    additional = _words(original, engine, _ADDITIONAL)
    model = mapping(role.converted.service.get("model"))
    command = flags.tokens(original, engine / "command")
    texts = flags.tokens(original, engine / "args")
    if not command or _is_shipped(text for _, text in command):
        original.drop(engine / "command", _SCRIPT)
        servers = _servers(role, spec, engine, [text for _, text in command])
        variables.pop(_SERVERS, None)
        return _set(role, flags.read_tokens(original, [*servers, *additional, *texts], model), variables)
    tokens = tokens_of_program(command, texts, variables)
    if tokens is None:
        return _custom(role, engine, variables)
    if any(_ADDITIONAL in text for _, text in (*command, *texts)):
        tokens += additional
    return _set(role, flags.read_tokens(original, tokens, model), variables)


def _set(role: Role, arguments: ReadArguments, variables: dict[str, Any]) -> ReadArguments:
    """Set the arguments and variables of a role."""
    serving_pods.set_arguments(role, arguments.keys)
    rest = _without_events(role, arguments.rest)
    role.set(rest, "engine", "args")
    role.set(variables, "engine", "env")
    _note_former_objects(role, [*rest, *(text for text in variables.values() if isinstance(text, str))])
    return arguments


def _without_events(role: Role, rest: Sequence[str]) -> list[str]:
    """Return arguments without those about events of the KV cache, which become a key."""
    words = list[str]()
    for flag in parse(rest):
        if flag.name == _EVENTS:
            role.converted.enable("kvCache", "events")
            role.original.remark("differs", _EVENTS_HERE, role.converted.key_of("kvCache"))
        else:
            words += flag.tokens
    return words


def _note_former_objects(role: Role, texts: Sequence[str]) -> None:
    """Ask about texts that name the Service of KServe's endpoint picker."""
    service = f"{role.original.name}-epp-service"
    if any(service in text for text in texts):
        role.original.remark("ask", f"the engine calls the Service {service}, which goes with KServe's object")


def _custom(role: Role, engine: Path, variables: dict[str, Any]) -> ReadArguments:
    """Let the engine run a program of its own as it is."""
    command, arguments = pods.program(role.original, engine)
    role.set("custom", "engine", "type")
    _note_former_objects(role, [*command, *arguments])
    role.set(command, "engine", "command")
    role.set(arguments, "engine", "args")
    role.set(variables, "engine", "env")
    return ReadArguments()


def _is_shipped(command: Iterable[str]) -> bool:
    return any(_is_script(text) for text in command)


def _is_script(text: str) -> bool:
    return "eval" in text and all(part in text for part in _SHIPPED)


def _variables(role: Role, engine: Path) -> dict[str, Any]:
    """Read the variables of the engine, but those with a meaning of their own in KServe's configs."""
    original = role.original
    variables = pods.variables(original, engine / "env")
    for item in original.items(engine / "env"):
        name = original.peek(item / "name")
        if name == _ROCE:
            fate = "cannot" if original.peek(item / "value") == "true" else "dropped"
            reason = "it makes a script of KServe's configs look for network cards on the node"
            original.note(item, fate, reason, role.key_of("engine") if fate == "cannot" else None)
    variables.pop(_ROCE, None)
    variables.pop(_ADDITIONAL, None)
    if variables.get(_CACHE) == _CACHE_FOLDER:
        del variables[_CACHE]
    source = str(role.converted.service.get("model", {}).get("source", ""))
    token = mapping(mapping(variables.get(_TOKEN)).get("secretKeyRef"))
    if token.get("name") and source.startswith("hf://"):
        del variables[_TOKEN]
        if token.get("optional"):
            original.remark("differs", f"the Secret {token['name']} of {_TOKEN} has to exist", role.key_of("model"))
        secret: Any = token["name"]
        if token.get("key") != _TOKEN:
            secret = {"name": token["name"], "key": token.get("key")}
        role.converted.set([secret], "model", "secrets")
    return variables


def _words(original: Original, engine: Path, name: str) -> list[tuple[Path, str]]:
    """Return the words in the value of a variable, each with its place."""
    for item in original.items(engine / "env"):
        value = original.peek(item / "value")
        if original.peek(item / "name") == name and isinstance(value, str) and not original.is_hidden(item / "value"):
            original.take(item / "name")
            original.take(item / "value")
            return [(item / "value" / index, word) for index, word in enumerate(_split(value))]
    return []


def _servers(role: Role, spec: Path, engine: Path, script: Sequence[str]) -> list[Token]:
    """Return the argument for the number of HTTP servers that a script of KServe's configs makes of a variable.

    Without a script in the files, KServe takes the one that fits workers and parallelism.
    """
    original = role.original
    is_read = any(_SERVERS in text for text in script)
    if not script and original.has(spec / "worker"):
        is_read = any(original.peek(spec / "parallelism" / name) for name in ("data", "dataLocal"))
    tokens = list[Token]()
    for item in original.items(engine / "env"):
        if original.peek(item / "name") != _SERVERS:
            continue
        value = original.peek(item / "value")
        if not is_read:
            original.note(item, "dropped", _NO_SERVERS)
        elif isinstance(value, str) and _COUNT.fullmatch(value):
            tokens = [(item / "value", f"--api-server-count={value}")]
        else:
            original.note(item, "cannot", _NO_NUMBER, role.key_of("engine"))
    return tokens


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def tokens_of_program(
    command: Sequence[Token], arguments: Sequence[Token], variables: Mapping[str, Any]
) -> list[Token] | None:
    """Return the arguments of vLLM in a command line, each with its place; None if it starts something else.

    The place of a word of a script is below that of the script.
    """
    tokens = [*command, *arguments]
    texts = [text for _, text in tokens]
    if texts and _name_of(texts[0]) in _SHELLS:
        if len(texts) != _LENGTH_WITH_SCRIPT or _OPTION_OF_SCRIPT.fullmatch(texts[1]) is None:
            return None
        place, script = tokens[-1]
        tokens = [(place / index, word) for index, word in enumerate(_words_of_script(script, variables))]
    for serve in _SERVE:
        program = [text for _, text in tokens[: len(serve)]]
        if [_name_of(program[0]), *program[1:]] == list(serve) if program else False:
            return _with_flag_of_model(tokens[len(serve) :])
    return None


def _name_of(program: str) -> str:
    """Return the name of a program without its folder and, if it is an interpreter, without its version."""
    return _VERSION.sub("python", program.rpartition("/")[2])


def _with_flag_of_model(tokens: Sequence[Token]) -> list[Token]:
    """Return arguments with a flag before the model in front of them, which needs none."""
    if tokens and not tokens[0][1].startswith("-"):
        return [(tokens[0][0], "--model"), *tokens]
    return list(tokens)


def _words_of_script(script: str, variables: Mapping[str, Any]) -> list[str]:
    """Return the words of a script of one command; an empty list for any other script.

    A script in which a shell expands more than whole words, of which the values are known, is another one, too. What a
    value holds is expanded by no shell, but by Kubernetes: `$(POD_IP)`.
    """
    line = script.replace("\\\n", " ").strip()
    if _OPERATORS.search(line):
        return []
    words = list[str]()
    for word in _split(line.removeprefix("exec ")):
        reference = _REFERENCE.fullmatch(word)
        if reference is None and "$" in word:
            return []
        if reference is None:
            words.append(word)
        elif reference[1] != _ADDITIONAL:
            words.append(str(variables.get(reference[1])))
            if not isinstance(variables.get(reference[1]), str):
                return []
    return words


def _layout(role: Role, parallelism: Path, arguments: ReadArguments) -> dict[str, int]:
    """Read the parallelism of a role. Numbers in the arguments of the engine come later, and win."""
    original = role.original
    layout = dict[str, int]()
    for name in _PARALLELISM:
        number = original.number(parallelism / name)
        argument = arguments.keys.get(("parallelism", name))
        if isinstance(argument, int):
            if number not in (None, argument):
                original.note(parallelism / name, "cannot", "the arguments of the engine say another number")
            number = argument
        if number is not None:
            layout[name] = number
            role.set(number, "parallelism", name)
    if original.switch(parallelism / "expert"):
        role.converted.set(True, *role.keys, "parallelism", "expert")
    return layout


def _accelerator(role: Role, engine: Path | None, layout: Mapping[str, int]) -> dict[str, int]:
    """Set the accelerator of a role, and return the number of devices of a pod by the name of their resource."""
    number = layout.get("tensor", 1) * layout.get("dataLocal", layout.get("data", 1))
    claim = _claim(role, engine, number)
    if claim is not None:
        role.set(claim, "accelerator")
        return {}
    for name, resource in _resources():
        for group in ("limits", "requests"):
            if engine is not None and role.original.has(engine / "resources" / group / resource):
                role.set(name, "accelerator")
                return {resource: number}
    role.set(_CPU, "accelerator")
    return {}


def _resources() -> Iterator[tuple[str, str]]:
    """Yield the classes that stand for all products of a vendor, each with the resource of its devices."""
    for name, shipped in accelerators.classes({}).items():
        resource = getattr(shipped.allocation, "resource_name", None)
        if resource is not None and shipped.product is None:
            yield name, resource


def _claim(role: Role, engine: Path | None, number: int) -> str | None:
    """Set a class whose devices KServe claims by annotations, and return its name; None without such annotations."""
    original = role.original
    device_class = original.text(_ANNOTATIONS / f"{_DRA}device-class")
    if device_class is None:
        return None
    allocation: dict[str, Any] = {"type": "resource-claim", "deviceClassName": device_class}
    selectors = original.text(_ANNOTATIONS / f"{_DRA}cel-selector")
    if selectors:
        allocation["selectors"] = [line.strip() for line in selectors.splitlines() if line.strip()]
    count = original.text(_ANNOTATIONS / f"{_DRA}device-count") or "1"
    if not _COUNT.fullmatch(count):
        original.note(_ANNOTATIONS / f"{_DRA}device-count", "cannot", "it is no number of devices")
    elif int(count) != number:
        if number == 1:
            role.set(int(count), "parallelism", "tensor")
            original.note(_ANNOTATIONS / f"{_DRA}device-count", "differs", "the engine uses all devices that it gets")
        else:
            original.note(_ANNOTATIONS / f"{_DRA}device-count", "cannot")
    container = original.peek(_ANNOTATIONS / f"{_DRA}container-name")
    if container is not None and engine is not None and container != original.peek(engine / "name"):
        original.note(_ANNOTATIONS / f"{_DRA}container-name", "cannot")
    vendor = next((name for name in ("nvidia", "amd", "gaudi", "intel", "tpu") if name in device_class), "nvidia")
    vendor = {"gaudi": "intel-gaudi", "tpu": "google"}.get(vendor, vendor)
    name = f"{role.converted.key}-devices"
    role.converted.set_in_stack({"vendor": vendor, "allocation": allocation}, "accelerators", name)
    return name


def _offloading(role: Role, offloading: Path) -> None:
    """Read the tiers of the KV cache."""
    original = role.original
    if not original.has(offloading) or role.keys:
        return
    tiers: list[dict[str, Any]] = []
    size = pods.quantity(original, offloading / "cpu")
    if size is not None:
        tiers.append({"type": "cpu", "size": size})
    if original.peek(offloading / "evictionPolicy") not in (None, "lru"):
        original.note(offloading / "evictionPolicy", "cannot")
    for index, item in enumerate(original.items(offloading / "secondary")):
        volume = _volume(role, item / "fileSystem", f"kv-cache-{index}")
        if volume is not None:
            tiers.append({"type": "file-system", "volume": volume})
    role.converted.set(tiers or None, "kvCache", "tiers")


def _volume(role: Role, system: Path, name: str) -> str | None:
    """Set a volume for blocks of the KV cache, and return its name."""
    original = role.original
    claim = system / "pvc" / "ref"
    volume: dict[str, Any] = {"mountPath": f"/mnt/{name}"}
    if original.has(system / "emptyDir"):
        volume |= {"type": "empty-dir", "sizeLimit": pods.quantity(original, system / "emptyDir" / "size")}
    elif original.has(claim):
        volume |= {
            "type": "claim",
            "claimName": original.text(claim / "name"),
            "subPath": original.text(claim / "path"),
        }
    else:
        return None
    role.converted.set({key: value for key, value in volume.items() if value}, "pod", "volumes", name)
    return name


def compare_workers(original: Original, pod: Path, worker: Path) -> None:
    """Drop what the template of a replica's further pods shares with that of its first pod, and note the rest."""
    first = _items_by_name(original.peek(pod))
    other = original.peek(worker)
    for leaf in all_leaves(other):
        value = _at(other, leaf)
        if isinstance(value, str) and _is_script(value):
            original.drop(Path(*worker, *leaf), _SCRIPT)
        elif _at(first, _path_by_names(other, leaf)) != value:
            original.note(Path(*worker, *leaf), "cannot", "all pods of a replica have the template of its first pod")


def _items_by_name(value: object) -> object:
    """Return a tree whose lists of named items are mappings by name."""
    if isinstance(value, Mapping):
        return {key: _items_by_name(inner) for key, inner in mapping(cast("object", value)).items()}
    if isinstance(value, list):
        items = enumerate(sequence(cast("object", value)))
        return {_name(item, index): _items_by_name(item) for index, item in items}
    return value


def _name(item: object, index: int) -> str | int:
    """Return the name of an item of a list; its number if it has none."""
    name = mapping(item).get("name")
    return name if isinstance(name, str) else index


def _path_by_names(tree: object, leaf: Path) -> Path:
    """Return a path with names in place of the numbers of items."""
    parts = list[str | int]()
    for part in leaf:
        tree = _at(tree, Path(part))
        parts.append(_name(tree, part) if isinstance(part, int) else part)
    return Path(*parts)


def _at(tree: object, path: Path) -> object:
    for part in path:
        if isinstance(tree, Mapping):
            tree = cast("Mapping[Any, Any]", tree).get(part)
        elif isinstance(part, int) and part < len(sequence(tree)):
            tree = sequence(tree)[part]
        else:
            return None
    return tree
