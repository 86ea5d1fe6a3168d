"""The nodes that a selection of profiles considers: their accelerator classes and numbers of devices.

A node counts even if it is cordoned or not ready, so that temporary states do not change a selection.
"""

from collections.abc import Mapping

from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.hardware import nodes
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.nodes import ClassNode
from planning.hardware.placement import Placement


class Fleet:
    """Nodes of a cluster by accelerator class and node selector. Each such pair is looked up in the facts only once."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._found = dict[tuple[str, tuple[tuple[str, str], ...]], tuple[ClassNode, ...] | Unknown]()

    def nodes(
        self, name: str, accelerator: AcceleratorClass, selector: Mapping[str, str]
    ) -> tuple[ClassNode, ...] | Unknown:
        """Return the nodes of the class `name` that have the labels in `selector`."""
        key = name, tuple(sorted(selector.items()))
        if key not in self._found:
            placement = Placement(accelerator.node_labels, selector, (), {}, (), None, None, None)
            self._found[key] = nodes.of_class(accelerator, placement, self._facts)
        return self._found[key]

    @property
    def unknown(self) -> str:
        """Return why the nodes of the cluster are unknown; empty if they are known."""
        if isinstance(self._facts.nodes, Unknown):
            return self._facts.nodes.reason
        return ""
