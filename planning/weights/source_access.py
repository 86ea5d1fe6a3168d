"""Settings with which sources of weights are opened: Secret, server and region, and the variables that say them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from models.origins import Name
from models.paths import Path
from models.secrets import TokenSecret
from models.service import Model
from models.source import scheme
from models.weight_parts import WeightPart
from planning.ground.environment import EnvValue, literal

_TOKEN = "HF_TOKEN"  # noqa: S105, the name of a variable
"""Variable with the token of a hub, and the key of the token in a Secret that names no other key."""
NO_TELEMETRY: Mapping[str, EnvValue] = {"HF_HUB_DISABLE_TELEMETRY": "1"}
"""Variable that lets clients of a hub send no telemetry."""
_AWS_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """The settings with which a source is opened."""

    secret: Name | None
    """Secret with the credentials; None if there is none."""
    endpoint: str | None
    """URL of the server; None for the default server of the scheme, such as huggingface.co."""
    region: str | None
    token_key: str = _TOKEN
    """Key of the Secret that has the token of a hub."""


def of_model(model: Model, secrets_at: Path) -> SourceAccess:
    """Return the settings with which the source of a model is opened."""
    return _access(model.secrets, secrets_at, model.endpoint, model.region)


def _access(secrets: Sequence[str | TokenSecret], at: Path, endpoint: str | None, region: str | None) -> SourceAccess:
    """Return the settings with which a source is opened. The Secret is the first in the list at a path."""
    match tuple(secrets):
        case (TokenSecret(name=name, key=key), *_):
            return SourceAccess(Name(name, Path(*at, 0, "name")), endpoint, region, key)
        case (str(name), *_):
            return SourceAccess(Name(name, at / 0), endpoint, region)
        case _:
            return SourceAccess(None, endpoint, region)


def of_part(model: Model, at: Path, part: WeightPart, part_at: Path) -> SourceAccess:
    """Return the settings with which the source of an adapter or a draft model is opened: its own, else the model's.

    `at` and `part_at` are the paths of the model and of the part in the configuration.

    A part inherits the model's settings only if its source has the model's scheme. It inherits Secret and region only
    if it also uses the model's server.
    """
    explicit = _access(part.secrets or (), part_at / "secrets", part.endpoint, part.region)
    if scheme(part.source) != scheme(model.source):
        return explicit
    if part.endpoint not in {None, model.endpoint}:
        return explicit
    holder = of_model(model, at / "secrets") if part.secrets is None else explicit
    return replace(holder, endpoint=model.endpoint, region=part.region or model.region)


def hub_variables(access: SourceAccess) -> dict[str, EnvValue]:
    """Return the variables with which programs open a repository of a hub."""
    variables = dict[str, EnvValue](NO_TELEMETRY)
    if access.endpoint is not None:
        variables["HF_ENDPOINT"] = access.endpoint
    if access.secret is not None:
        variables[_TOKEN] = _key(access.secret, access.token_key)
    return variables


def bucket_variables(access: SourceAccess) -> dict[str, EnvValue]:
    """Return the variables with which programs open an S3 bucket."""
    variables = dict[str, EnvValue]()
    if access.endpoint is not None:
        variables["AWS_ENDPOINT_URL"] = access.endpoint
    if access.region is not None:
        variables["AWS_DEFAULT_REGION"] = literal(access.region)
    if access.secret is not None:
        variables |= {key: _key(access.secret, key) for key in _AWS_KEYS}
    return variables


def _key(secret: Name, key: str) -> EnvValue:
    return {"secretKeyRef": {"name": secret.text, "key": key}}
