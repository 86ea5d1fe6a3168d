"""The rules of `rules.yaml`."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

from models.base import Spec
from models.vocabulary import Items
from planning.ground import tables
from planning.ground.tables import Sourced


class ResourceRules(Sourced):
    """Names of resources of containers."""

    standard: Items[str]
    """Resources that every node has."""
    huge_pages: str
    """Beginning of a name of huge pages; the size of a page follows."""
    native_domain: str
    """Domain of resources whose requests may be below their limits. All others with a domain are extended."""
    quota_prefix: str
    """Beginning of names that only quotas may have."""


Values = Literal["several", "one", "none", "number"]
"""Values that an operator compares with: at least one, exactly one, none, or exactly one whole number."""


class Selectors(Sourced):
    """Operators of expressions, each with the values that it compares with."""

    labels: Mapping[str, Values]
    """Operators on labels of pods and namespaces."""
    nodes: Mapping[str, Values]
    """Operators on labels of nodes."""
    fields: Mapping[str, Values]
    """Operators on fields of nodes."""
    field_keys: Items[str]
    """Fields of nodes."""


class Scheduling(Sourced):
    """Affinity and spread of pods."""

    heaviest: int
    """Highest weight of a preference; the lowest is 1."""
    when_unsatisfiable: Items[str]
    domains_with: str
    """The only value of `whenUnsatisfiable` beside which `minDomains` may stand."""
    policies: Items[str]
    """Values of `nodeAffinityPolicy` and `nodeTaintsPolicy`."""


class Metric(Spec):
    """A type of an autoscaler's metrics."""

    field: str
    """Field with the settings of this type."""
    targets: Items[str]
    """Fields of the target, one of which is needed."""
    needs: Items[str]
    """Fields of the settings that name what is measured."""
    excludes: bool = False
    """Whether only one of `targets` may be set."""


class Autoscaling(Sourced):
    """Behaviour and metrics of a HorizontalPodAutoscaler."""

    longest_window: int
    """Longest window of stabilization, in seconds."""
    longest_period: int
    """Longest period of a policy, in seconds."""
    select_policies: Items[str]
    policies: Items[str]
    """Types of policies."""
    targets: Items[str]
    """Types of targets."""
    metrics: Mapping[str, Metric]


class Sizes(Sourced):
    """Sizes of objects, in bytes."""

    annotations: int
    """Keys and values of the annotations of an object, together."""
    request: int
    """A request of the API server to etcd, which has the whole object."""


class Rules(Spec):
    """The rules, by what they are about."""

    resources: ResourceRules
    selectors: Selectors
    scheduling: Scheduling
    autoscaling: Autoscaling
    sizes: Sizes


@cache
def rules() -> Rules:
    """Return the rules."""
    return tables.read(Rules, "refusals/rules.yaml")
