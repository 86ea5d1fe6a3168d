"""The status of deployed stacks, for the command `status` and for programs: functions that return a record."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from composition.results import Composition
from facts import completions, pod_logs
from facts import status as reader
from facts.completions import Answer, AskedService
from facts.kubeconfig import KubeAccess
from facts.pod_logs import LogPlace
from facts.status import ReadScope
from judging.report import words
from judging.status import addresses, owners, shares, topology, verdict
from judging.status.evidence import Expectation, RouteExpectation
from judging.status.owners import Owner
from judging.status.verdict import ServiceStatus, Status
from models import credentials
from models.paths import Path
from models.printable import printable
from models.routing import Gateway
from models.stack import Stack
from models.vocabulary import amount
from planning.ground import gateways, parts, snapshot
from planning.ground.loading import Loading
from planning.ground.names import CANARY
from planning.plans import ServicePlan, VariantPlan
from planning.serving.workload import Workload

_Place = tuple[str, str]
"""Namespace and name of an object."""
_NOBODY = Answer("nobody, because no address of the service is known")


@dataclass(frozen=True, slots=True)
class ExpectedStack:
    """Expectations of a stack file of the cluster."""

    owner: Owner
    """The stack as the owner of live objects."""
    namespaces: tuple[str, ...]
    """Namespaces of the stack's objects, sorted."""
    interceptors: tuple[str, ...]
    """Namespace of the interceptor to which the stack's routes lead, whoever deploys it; empty without one."""
    services: Mapping[str, _Place]
    """Namespace and name of each service, by its key."""
    urls: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """A URL of each service and the model that it serves, by the service's key; without services that have no URL."""
    workloads: Mapping[_Place, Expectation] = field(default_factory=dict[_Place, Expectation])
    """Expectations by namespace and name of the workload."""
    routes: Mapping[_Place, RouteExpectation] = field(default_factory=dict[_Place, RouteExpectation])
    """Expectations by namespace and name of the route."""


def expectations(composition: Composition) -> ExpectedStack:
    """Return what a composed stack expects of the cluster."""
    services = composition.plan.services
    names = {owners.name(rendered.manifest) for rendered in composition.objects}
    read_objects = [rendered for rendered in composition.objects if rendered.id.part not in parts.DASHBOARDS]
    return ExpectedStack(
        Owner(composition.plan.identity, names),
        tuple(sorted({rendered.place[2] for rendered in read_objects} - {""})),
        _interceptors(composition),
        {service.key: _place(service) for service in services},
        {
            key: (service["urls"][0], service["model"]["name"])
            for key, service in composition.contract["services"].items()
            if service["urls"]
        },
        {place: expected for service in services for place, expected in _expectations(service, composition)},
        routes(composition),
    )


def _interceptors(composition: Composition) -> tuple[str, ...]:
    if composition.plan.interceptor is None:
        return ()
    return (composition.plan.interceptor.namespace,)


def routes(composition: Composition) -> Mapping[_Place, RouteExpectation]:
    """Return what the rendered routes of a stack say, by namespace and name of the route."""
    rendered_routes = (rendered.manifest for rendered in composition.objects if rendered.api == snapshot.ROUTE)
    gateway_of = {_place(service): _gateway(service, composition.stack) for service in composition.plan.services}
    return {
        place: RouteExpectation(shares.of_route(route), _asks_each_picker(gateway_of.get(place)))
        for route in rendered_routes
        for place in (topology.name_of(route),)
    }


def _gateway(service: ServicePlan, stack: Stack) -> Gateway | None:
    return stack.services[service.key].route.gateway or stack.gateway


def _asks_each_picker(gateway: Gateway | None) -> bool:
    return gateway is None or gateways.asks_each_picker(gateway)


def read(access: KubeAccess, services: Collection[str] = (), *, certificates: bool = False) -> Status:
    """Read a cluster and return the status of the services of all stacks, or of those with the names in `services`.

    With `certificates`, the certificates of listeners are judged, too, which needs the right to read their Secrets.

    A cluster that cannot be read does not raise; `Status.unread` says what is unknown. Reading all namespaces needs
    rights in the whole cluster.
    """
    return verdict.of(reader.read(access, ReadScope(certificates=certificates)), {}).only(None, services)


def of_stack(
    access: KubeAccess, stack: ExpectedStack, keys: Collection[str] = (), *, certificates: bool = False
) -> Status:
    """Read a cluster and return the status of the services of a stack, or of those with the keys in `keys`.

    With `certificates`, the certificates of listeners are judged, too, which needs the right to read their Secrets.

    A service of the plan that the cluster lacks has no status; see `missing`.
    """
    live = reader.read(access, ReadScope(stack.namespaces, certificates, stack.interceptors))
    status = verdict.of(live, stack.workloads, stack.routes, stack.owner.stack_of)
    of_owner = status.only(stack.owner.identity.name.label, ())
    if not keys:
        return of_owner
    return of_owner.at({stack.services[key] for key in keys})


def missing(stack: ExpectedStack, status: Status) -> tuple[str, ...]:
    """Return the keys of planned services of which the cluster has nothing; none if the cluster was not read."""
    if status.unread:
        return ()
    live = {service.view.place for service in status.services}
    return tuple(sorted(key for key, place in stack.services.items() if place not in live))


def logs(access: KubeAccess, status: Status) -> Mapping[_Place, Sequence[str]]:
    """Return the last lines of the log of each culprit that is a pod, by namespace and name of the service.

    Credentials in the lines are hidden. Reading logs needs the right `get pods/log`.
    """
    culprits = {
        service.view.place: service.culprit
        for service in status.services
        if service.culprit is not None and service.culprit.object.kind == "Pod"
    }
    places = {
        place: LogPlace(finding.object.namespace, finding.object.name, finding.values.get("container", ""))
        for place, finding in culprits.items()
    }
    texts = pod_logs.read(access, {"/".join(place): log for place, log in places.items()})
    # A private key spans lines, so credentials are hidden in the whole text.
    hidden = {place: credentials.hide("\n".join(texts["/".join(place)])).splitlines() for place in places}
    return {place: [printable(line) for line in lines] for place, lines in hidden.items()}


def answers(status: Status, stack: ExpectedStack | None) -> Mapping[_Place, Answer]:
    """Send a request for one token to each service, and return what became of it, by namespace and name of the service.

    The request goes to the service's configured URL, or else to the first URL of its live Gateways.
    """
    urls = {} if stack is None else {stack.services[key]: url for key, url in stack.urls.items()}
    targets = {service.view.place: _target(service, urls.get(service.view.place)) for service in status.services}
    answered = completions.ask({place: target for place, target in targets.items() if target is not None})
    return {place: answered.get(place, _NOBODY) for place in targets}


def _target(service: ServiceStatus, configured: tuple[str, str] | None) -> AskedService | None:
    """Return whom to ask about a service; None if no address of the service is known."""
    if configured is not None:
        return AskedService(*configured)
    urls = addresses.urls(service.view, service.gateways)
    if not urls:
        return None
    return AskedService(urls[0], None)


def _place(service: ServicePlan) -> _Place:
    return service.primary.names.namespace, service.primary.names.service


def _expectations(service: ServicePlan, composition: Composition) -> Iterator[tuple[_Place, Expectation]]:
    """Yield what is expected of each workload of a service."""
    kinds = (snapshot.DEPLOYMENT, snapshot.LEADER_WORKER_SET)
    rendered = (entry for entry in composition.objects if entry.api in kinds)
    manifests = {entry.place[2:]: entry.manifest for entry in rendered}
    for variant in service.variants:
        size = _weights_size(variant, composition)
        for workload in variant.workloads:
            place = (variant.names.namespace, workload.name)
            yield place, replace(_expectation(workload, size), manifest=manifests.get(place))


def _weights_size(variant: VariantPlan, composition: Composition) -> int | None:
    """Return the bytes of a variant's weights; None if they are unknown."""
    spec = composition.stack.services[variant.key]
    at = Path("services", variant.key)
    model = spec.model
    if spec.canary is not None and variant.names.variant_name == CANARY:
        at /= "canary"
        model = spec.canary.model
    if model.size is None or at / "model" in composition.stand_ins:
        return None
    return int(amount(model.size))


def _expectation(workload: Workload, size: int | None) -> Expectation:
    rates = words.rates()
    fetch_seconds = load_seconds = None
    if size is not None:
        load_seconds = rates.begin
        if workload.loading.is_by_engine:
            load_seconds += size // rates.fetch
        if workload.loading is not Loading.STREAMED:
            load_seconds += size // rates.load
        if workload.weights.fetches:
            fetch_seconds = size // rates.fetch
    return Expectation(workload.replicas, size, fetch_seconds, load_seconds)
