"""Behaviour and metrics of a HorizontalPodAutoscaler."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem, echo
from models.trees import mapping, sequence
from models.vocabulary import amount, is_quantity
from planning.refusals.tables import Metric, rules
from planning.refusals.values import Tree, between, one_of, trees


def behavior(at: Path, value: object) -> Iterator[Problem]:
    """Yield a problem for each rule that the behaviour of an autoscaler breaks."""
    for direction in ("scaleUp", "scaleDown"):
        scaling = mapping(mapping(value).get(direction))
        yield from _scaling(at / direction, scaling)


def metric(at: Path, value: object) -> Iterator[Problem]:
    """Yield a problem for each rule that a metric of an autoscaler breaks."""
    spec = mapping(value)
    kinds = rules().autoscaling.metrics
    yield from one_of(at / "type", spec.get("type"), kinds)
    kind = kinds.get(str(spec.get("type")))
    if kind is None:
        return
    for name, other in kinds.items():
        if other is not kind and spec.get(other.field) is not None:
            what = f"belongs to type {name}, and the type is {spec['type']}"
            yield Problem(at / other.field, what, f"remove it, or write type: {name}")
    if spec.get(kind.field) is not None:
        yield from _source(at / kind.field, mapping(spec[kind.field]), kind)
    elif spec.keys() <= {"type", *(known.field for known in kinds.values())}:
        # If a key is unknown, it may be this field, misspelt, as the schema says then.
        yield Problem(at / kind.field, f"is missing, and type {spec['type']} needs it", "add it")


def _scaling(at: Path, scaling: Tree) -> Iterator[Problem]:
    known = rules().autoscaling
    yield from between(
        at / "stabilizationWindowSeconds", scaling.get("stabilizationWindowSeconds"), 0, known.longest_window
    )
    yield from one_of(at / "selectPolicy", scaling.get("selectPolicy"), known.select_policies)
    yield from _not_negative(at / "tolerance", scaling.get("tolerance"))
    if isinstance(scaling.get("policies"), list | tuple) and not sequence(scaling["policies"]):
        yield Problem(at / "policies", "is empty", "add a policy, or remove it for the default policies")
    for here, policy in trees(at / "policies", scaling.get("policies")):
        yield from one_of(here / "type", policy.get("type"), known.policies)
        yield from between(here / "value", policy.get("value"), 1)
        yield from between(here / "periodSeconds", policy.get("periodSeconds"), 1, known.longest_period)


def _source(at: Path, source: Tree, kind: Metric) -> Iterator[Problem]:
    """Check what a metric measures, and its target."""
    for field in kind.needs:
        name = source.get(field)
        here = at / field
        if field == "metric":
            name = mapping(name).get("name")
            here /= "name"
        if name == "":
            yield Problem(here, "is empty", "write the name")
        elif field == "metric" and isinstance(name, str) and (name in {".", ".."} or {*"/%"} & {*name}):
            yield Problem(here, f"is no segment of a path{echo(here, name)}", "write a name without / and %")
    target = mapping(source.get("target"))
    here = at / "target"
    yield from one_of(here / "type", target.get("type"), rules().autoscaling.targets)
    for field in ("value", "averageValue"):
        yield from _positive(here / field, target.get(field))
    yield from between(here / "averageUtilization", target.get("averageUtilization"), 1)
    present = [field for field in kind.targets if target.get(field) is not None]
    if not present:
        yield Problem(here, f"has no number that type {_type(kind)} compares with", f"add {' or '.join(kind.targets)}")
    if kind.excludes and len(present) > 1:
        yield Problem(here, f"has several numbers ({', '.join(present)})", "keep one of them")


def _type(kind: Metric) -> str:
    return next(name for name, other in rules().autoscaling.metrics.items() if other is kind)


def _positive(at: Path, quantity: object) -> Iterator[Problem]:
    text = str(quantity)
    if text.startswith("-") or (is_quantity(text) and not amount(text)):
        yield Problem(at, f"is not above 0{echo(at, quantity)}", "write a number above 0")


def _not_negative(at: Path, quantity: object) -> Iterator[Problem]:
    if str(quantity).startswith("-"):
        yield Problem(at, f"is below 0{echo(at, quantity)}", "write 0 or more")
