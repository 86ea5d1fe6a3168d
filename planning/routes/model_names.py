"""Names of models in the bodies of requests. A payload processor finds the base model of a service by these names.

A processor writes the base model of the requested name into a header, or an empty text for a name that it does not
know. The processor learns names from ConfigMaps, and knows one base model for each name.
"""

from collections.abc import Iterable, Iterator

from models.paths import Path
from models.problems import Problem
from models.source import served_name
from planning.ground.cluster_facts import GatewayRef
from planning.routes.records import ModelNames, PlannedRoute
from planning.variant.context import VariantContext


def plan(variant: VariantContext) -> ModelNames | None:
    """Return the model names of a service; None if no match of the service's route names a model."""
    base = _base_model(variant)
    if base is None:
        return None
    header = variant.release.picker.headers.base_model
    return ModelNames(base, tuple(sorted(_other_names(variant) - {base})), header)


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Reject a match with a model that the header never holds, because this model is not the service's base model."""
    base = _base_model(variant)
    path = variant.path
    for index, match in enumerate(variant.service.route.matches):
        if match.model is None or match.model == base:
            continue
        what = f"is never in the header, which holds the service's base model {base} ({match.model})"
        remedy = f"write {base}; the match then includes requests for the service's adapters and rewrites"
        at = path / "route" / "matches" / index / "model"
        yield Problem(at, what, remedy, (path / "model", path / "engine"))


def collisions(routes: Iterable[PlannedRoute]) -> Iterator[Problem]:
    """Reject a name that two services on one gateway use for different base models."""
    holders = dict[tuple[GatewayRef, str], tuple[str, PlannedRoute]]()
    for ref, route, names in _with_names(routes):
        for name in (names.base, *names.others):
            base, holder = holders.setdefault((ref, name), (names.base, route))
            if base != names.base:
                at = Path("services", route.key)
                other = Path("services", holder.key)
                what = f"uses a model name that {other} uses for base model {base} ({name})"
                yield Problem(at, what, "rename the adapter or the rewrite", (at, other))


def different_headers(routes: Iterable[PlannedRoute]) -> Iterator[Problem]:
    """Reject services on one gateway that match models in different headers. A payload processor sets one header."""
    holders = dict[GatewayRef, tuple[str, PlannedRoute]]()
    for ref, route, names in _with_names(routes):
        header, holder = holders.setdefault(ref, (names.header, route))
        if header.lower() != names.header.lower():
            at = Path("services", route.key, "release")
            other = Path("services", holder.key)
            what = f"matches models in header {names.header}, but {other} on the same gateway in {header}"
            remedy = "choose releases that match in one header, or another gateway"
            yield Problem(at, what, remedy, (at, other / "release", Path("release")))


def _with_names(routes: Iterable[PlannedRoute]) -> Iterator[tuple[GatewayRef, PlannedRoute, ModelNames]]:
    """Yield the routes that match models, each with its gateway and its model names."""
    for route in routes:
        parent = route.parent
        if route.model_names is not None:
            ref = GatewayRef(parent.group, parent.kind, parent.namespace, parent.name)
            yield ref, route, route.model_names


def _base_model(variant: VariantContext) -> str | None:
    """Return the base model in the header: the served name, else the model of the first match that names a model."""
    models = [match.model for match in variant.service.route.matches if match.model is not None]
    if not models:
        return None
    name = served_name(variant.spec.model.name, variant.spec.model.source)
    if name is None or not variant.kind.serves_name:
        return models[0]
    return name


def _other_names(variant: VariantContext) -> set[str]:
    lora = variant.spec.model.lora
    names = set[str]()
    if variant.has_picker:
        names |= {rewrite.model for rewrite in variant.service.rewrites}
    if lora is not None:
        names |= set(lora.names)
    return names
