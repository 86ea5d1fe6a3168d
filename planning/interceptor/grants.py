"""Grants for metering: the interceptor may read Services, and routes of other namespaces may lead to its Service."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.interceptor import Interceptor
from planning.ground import marks
from planning.ground.marks import StackName
from planning.ground.names import LONGEST, shorten

_LONGEST_ROLE = 253
"""Maximum length of the name of a Role, a RoleBinding or a ReferenceGrant in characters."""


@dataclass(frozen=True, slots=True)
class InterceptorGrant:
    """Permission of the interceptor to read the Services of a namespace."""

    namespace: str
    """Namespace of the Services, of the Role and of its binding."""
    subject_namespace: str
    """Namespace of the interceptor's service account."""
    service_account: str
    stack: StackName
    """The stack of the Role and of its binding. Other stacks in the namespace have their own Role and binding."""

    @property
    def role_name(self) -> str:
        """Return the name of the Role and of its binding."""
        return marks.per_stack(f"{self.service_account}-services", self.stack, _LONGEST_ROLE)

    @property
    def app_label(self) -> str:
        """Return the value of the label `app.kubernetes.io/name` on Role and binding."""
        return shorten(self.service_account, LONGEST)

    @property
    def rules(self) -> tuple[Mapping[str, Any], ...]:
        """Return the rules of the Role: it may read Services and nothing else."""
        return ({"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]},)

    @property
    def owner(self) -> str:
        """Return the owner of the objects. A slash distinguishes the owner from service keys and namespaces."""
        return f"interceptor/{self.namespace}"


@dataclass(frozen=True, slots=True)
class RouteGrant:
    """Permission for routes in other namespaces to lead to the interceptor's Service (ReferenceGrant)."""

    namespace: str
    """Namespace of the Service and of the grant."""
    service: str
    sources: tuple[str, ...]
    """Namespaces of the routes, sorted."""
    stack: StackName
    """The stack of the grant. Other stacks whose routes lead to the Service have grants of their own."""

    @property
    def name(self) -> str:
        """Return the name of the ReferenceGrant."""
        return marks.per_stack(f"{self.service}-routes", self.stack, _LONGEST_ROLE)


def plan(spec: Interceptor | None, namespaces: Iterable[str], stack: StackName) -> Iterator[InterceptorGrant]:
    """Yield the permissions of an interceptor to read the Services of some namespaces. None without an interceptor."""
    if spec is None:
        return
    for namespace in sorted(namespaces):
        yield InterceptorGrant(namespace, spec.namespace, spec.service_account_name, stack)
