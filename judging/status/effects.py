"""States that follow from the culprit of a service, by the causes that the tables of states name."""

from collections.abc import Sequence

from judging.status.records import Finding, Link, ServiceLink

_DEPTH = {link: depth for depth, link in enumerate(Link)}


def follow(components: Sequence[ServiceLink], culprit: Finding | None) -> tuple[bool, ...]:
    """Tell of each component whether one of its states follows from the culprit, directly or through other components.

    The component of the culprit does not follow from it.
    """
    source = next((component for component in components if culprit in component.findings), None)
    if culprit is None or source is None:
        return (False,) * len(components)
    causes = {culprit.state.id, source.link.value}
    positions = [position for position, component in enumerate(components) if _is_nearer(component, source)]
    followers = set[int]()
    for position in sorted(positions, key=lambda position: -_DEPTH[components[position].link]):
        component = components[position]
        if any(causes & {*finding.state.caused_by} for finding in component.findings):
            followers.add(position)
            causes |= {component.link.value, *(finding.state.id for finding in component.findings)}
    return tuple(position in followers for position in range(len(components)))


def _is_nearer(component: ServiceLink, source: ServiceLink) -> bool:
    """Tell whether a component is nearer to the client than another one, in the same variant."""
    is_same = component.variant in {source.variant, ""} or not source.variant
    return is_same and _DEPTH[component.link] < _DEPTH[source.link]
