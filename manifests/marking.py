"""Setting of the stack's mark on rendered objects. Only the object itself gets the mark, and nothing inside the object.

So pod templates, selectors and claim templates have no mark, and a changed mark restarts no pod and replaces no object.
"""

from collections.abc import Iterable
from dataclasses import replace

from manifests.assembly import Component
from manifests.objects import Rendered
from planning.ground import marks
from planning.ground.marks import StackName


def mark(components: Iterable[Component], name: StackName) -> tuple[Component, ...]:
    """Return the components with the mark of a stack on each object."""
    return tuple(
        replace(component, objects=tuple(_with_mark(rendered, name) for rendered in component.objects))
        for component in components
    )


def _with_mark(rendered: Rendered, name: StackName) -> Rendered:
    metadata = marks.with_mark(rendered.manifest["metadata"], name)
    return replace(rendered, manifest={**rendered.manifest, "metadata": metadata})
