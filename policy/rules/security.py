"""Rules on pods: `restricted-pods`, `no-patch`, `no-trust-remote-code`, `no-credentials-in-args`, `no-wildcards`."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from policy.rules import contracts, pod_security, pods, tables, trees
from policy.rules.pods import JudgedContainer
from policy.rules.records import DeployedObject, PolicyFinding, Settings, View, of_object
from policy.rules.trees import Tree

_TRUST = re.compile(r"(?<![\w-])--?trust[-_]remote[-_]code(?![\w-])(?:[=\s]+(?P<value>\w+))?", re.IGNORECASE)
_TRUST_VARIABLE = re.compile(r"(?:^|_)TRUST_REMOTE_CODE$")
_OFF = frozenset({"0", "false", "no", "off"})
_FLAG = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_REFERENCE = re.compile(r"\$\([A-Za-z_][A-Za-z0-9_]*\)|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?")
_PATH = re.compile(r"(?:~|\.{1,2})?/\S*|[\w.-]+\.(?:cer|crt|jks|json|key|p12|pem|pub|txt|yaml)")
_WORDS = re.compile(r"[A-Za-z]+(?:[-_ ][A-Za-z]+)*|\d+|<[^<>]*>")
_STAR = "*"


def restricted_pods(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the settings of pods that the newest rules of the Pod Security level `restricted` do not admit."""
    if item.namespace in settings["exempt"]:
        return
    for template in pods.templates(item):
        for unmet in pod_security.violations(template):
            remedy = unmet.remedy
            if template.key("pod"):
                remedy = f"{remedy}: {template.key('pod')} or its patch sets it"
            place = ".".join(part for part in (template.at, unmet.at) if part)
            yield of_object(item, place, f"is not admitted at the level restricted ({unmet.what})", remedy)


def no_trust_remote_code(item: DeployedObject, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the containers that run code of model repositories."""
    for container in pods.containers(item):
        line = " ".join(container.arguments)
        flags = [match for match in _TRUST.finditer(line) if str(match["value"]).lower() not in _OFF]
        if flags:
            remedy = "remove --trust-remote-code"
            if container.template.key("engine"):
                remedy = f"remove --trust-remote-code from {container.template.key('engine.args')}"
            yield of_object(item, container.at, "runs code of model repositories", remedy)
        for name, value in _variables(container):
            if _TRUST_VARIABLE.search(name) and value.lower() not in {*_OFF, ""}:
                what = f"runs code of model repositories ({name})"
                yield of_object(item, container.at, what, f"remove the variable {name}")


def no_credentials_in_args(item: DeployedObject, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the arguments and variables of containers that hold a credential as text; no finding shows it."""
    for container in pods.containers(item):
        remedy = "put it into a Secret, and refer to the Secret by a variable with secretKeyRef"
        for index, name in enumerate(_credential_arguments(container)):
            if name:
                what = f"holds a credential as text (argument {index}, {name})"
                yield of_object(item, container.at, what, remedy)
        for name, value in _variables(container):
            if _is_credential(name, value):
                what = f"holds a credential as text (variable {name})"
                yield of_object(item, container.at, what, remedy)


def _credential_arguments(container: JudgedContainer) -> Iterator[str]:
    """Yield a name for each argument that holds a credential, and an empty text for each other argument."""
    former = ""
    for argument in container.arguments:
        match = _FLAG.fullmatch(argument)
        flag = former
        value = argument
        former = ""
        if match is not None:
            flag = match["name"]
            value = match["value"] or ""
            former = flag if match["value"] is None else ""
        kind = ""
        if _is_credential(flag, value) or _shape(argument) or _in_json(value):
            kind = f"--{flag}" if flag else "a text"
        yield kind


def _in_json(text: str) -> bool:
    """Tell whether a text is a JSON document with a credential."""
    if "{" not in text:
        return False
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return any(_is_credential(name, value) for name, value in _settings(document))


def _settings(document: object) -> Iterator[tuple[str, str]]:
    if isinstance(document, dict):
        for name, value in cast("dict[str, Any]", document).items():
            if isinstance(value, str):
                yield name, value
            yield from _settings(value)
    elif isinstance(document, list):
        for item in cast("list[Any]", document):
            yield from _settings(item)


def _is_credential(name: str, value: str) -> bool:
    """Tell whether a value is a credential, by its name or by its shape."""
    if not value or _REFERENCE.fullmatch(value):
        return False
    if _shape(value):
        return True
    is_plain = _PATH.fullmatch(value) is not None or _WORDS.fullmatch(value) is not None
    return _names_credential(name) and (not is_plain or _names_password(name))


def _shape(text: str) -> bool:
    return any(pattern.search(text) for contains, pattern in _shapes() if any(word in text for word in contains))


def _names_credential(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").upper()
    if any(words.endswith(harmless) for harmless in _harmless()):
        return False
    return any(words == word or words.endswith(f"_{word}") for word in _credential_words())


def _names_password(name: str) -> bool:
    """Tell whether people choose the values of such a name, so that words may be a credential, too."""
    return name.upper().replace("-", "_").endswith(("PASSWORD", "PASSPHRASE", "PASSWD"))


@cache
def _credential_words() -> tuple[str, ...]:
    words = {
        word: setting for word, setting in tables.read("credentials")["words"].items() if not setting.get("random")
    }
    plain = [word for word in words if words[word].get("objects", True) or word in {"SECRET", "CREDENTIAL"}]
    return tuple(word for word in plain if words[word].get("alone", True))


@cache
def _harmless() -> tuple[str, ...]:
    return tuple(name for entry in tables.read("credentials")["harmless"] for name in entry["names"])


@cache
def _shapes() -> tuple[tuple[list[str], re.Pattern[str]], ...]:
    return tuple((shape["contains"], re.compile(shape["pattern"])) for shape in tables.read("credentials")["shapes"])


def _variables(container: JudgedContainer) -> Iterator[tuple[str, str]]:
    """Yield name and value of each variable whose value is a text of the object."""
    for variable in trees.mappings(container.tree, "env"):
        yield trees.text(variable, "name"), trees.text(variable, "value")


def no_patch(view: View, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the parts of inference stacks that a patch of the configuration changes."""

    def judge(at: str, variant: Tree, _: Tree) -> Iterator[PolicyFinding]:
        if "patched" not in variant:
            what = "has outputs that do not tell about patches"
            yield PolicyFinding(at, what, "deploy it with a newer program", is_known=False)
        for part in trees.texts(variant, "patched"):
            key = f"{at}.patch"
            if part != "decode":
                key = f"{at}.{part.replace('-', '.sets.', 1)}.patch"
            yield PolicyFinding(at, f"changes rendered objects by a patch ({part})", f"remove {key}")

    yield from contracts.of_variants(view, judge)


def no_wildcards(item: DeployedObject, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the rules of Roles that permit everything of a kind."""
    if item.kind not in {"Role", "ClusterRole"}:
        return
    for index, rule in enumerate(trees.mappings(item.manifest, "rules")):
        fields = [
            name for name in ("apiGroups", "resources", "verbs", "nonResourceURLs") if _STAR in trees.texts(rule, name)
        ]
        if fields:
            what = f"permits everything ({', '.join(fields)}: '*')"
            yield of_object(item, f"rules[{index}]", what, "list what the account needs")
