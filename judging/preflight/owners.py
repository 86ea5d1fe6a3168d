"""Paths in the configuration at which users name namespaces, Gateways, Secrets, and classes such as a StorageClass."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from models.paths import Path
from planning import interceptor
from planning.ground.needs import Reference
from planning.plans import StackPlan

_VARIANTS = frozenset({"canary"})
"""Keys of a service whose values belong to another owner than the service itself."""


_NAMED_BY_USERS = frozenset({"annotations", "env", "headers", "labels", "matchLabels", "nodeSelector", "setHeaders"})
"""Keys whose values are mappings with names of users as keys."""


@dataclass(frozen=True, slots=True)
class Owners:
    """Configuration of a stack, and the path of each owner in this configuration."""

    tree: Mapping[str, Any]
    """Merged tree of the configuration."""
    paths: Mapping[str, Path]
    """Path of each owner."""

    @classmethod
    def of(cls, tree: Mapping[str, Any], plan: StackPlan) -> "Owners":
        """Return the owners of a stack's objects."""
        variants = (variant for service in plan.services for variant in service.variants)
        caches = {cache.owner: cache.fill.path for cache in plan.caches}
        metering = {interceptor.OWNER: Path("interceptor")}
        return cls(tree, {**{variant.owner: variant.path for variant in variants}, **caches, **metering})

    def locate(self, reference: Reference, keys: Collection[str]) -> Path:
        """Return the path at which a user wrote the name in `reference`. The path contains one of `keys`.

        The name is searched in the owner's section, then at the top of the configuration. If the name is not found, the
        result is the path of the owner.
        """
        at = self.paths.get(reference.owner, Path())
        top = ((Path(key), self.tree.get(key)) for key in keys)
        found = (*_leaves(self._value(at), at), *top)
        return next((path for path, value in found if value == reference.name and _has_key(path, keys)), at)

    def storage(self, owner: str) -> Path:
        """Return the path of an owner's key `storage`. If the owner lacks this key, return the path of the owner."""
        at = self.paths.get(owner, Path())
        return at / "storage" if self._value(at / "storage") is not None else at

    def gateway(self, key: str) -> Path:
        """Return the path of the key that sets the Gateway for a service's route."""
        at = Path("services", key, "route", "gateway")
        return at if self._value(at) is not None else Path("gateway")

    def namespace(self, name: str) -> Path:
        """Return the path of the first service that names a namespace, else the path of the key `namespace`."""
        keys = ((Path("services", key, "namespace"), name) for key in self._value(Path("services")) or ())
        return next((at for at, _ in keys if self._value(at) == name), Path("namespace"))

    def _value(self, at: Path) -> Any:  # noqa: ANN401, any value of a configuration
        value: Any = self.tree
        for part in at:
            value = cast("Mapping[Any, Any]", value).get(part) if isinstance(value, Mapping) else None
        return value


def _has_key(path: Path, keys: Collection[str]) -> bool:
    """Tell whether a path contains one of `keys`. A key to which a user gave its name, such as a label, is none."""
    parents = ("", *path)
    return any(part in keys and parent not in _NAMED_BY_USERS for parent, part in zip(parents, path, strict=False))


def _leaves(value: object, at: Path) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            if key not in _VARIANTS:
                yield from _leaves(inner, at / key)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("list[object]", value)):
            yield from _leaves(inner, at / index)
    else:
        yield at, value
