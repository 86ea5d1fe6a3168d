"""Warnings that can be found only in the plan of a stack."""

from collections.abc import Collection, Iterable, Iterator

from models.paths import Path
from models.problems import Problem, warning
from planning import interceptor, network
from planning.ground.flows import Policy
from planning.plans import StackPlan
from planning.releases import Release, Sourced, repository_and_tag
from planning.releases.images import FETCHERS
from planning.releases.provenance import count_of_earlier, count_of_stated, newest_run_channel, unproven
from planning.resolve import Judgement, Resolved, about
from planning.serving import cold_start
from planning.weights import claims


def judge(plan: StackPlan, resolved: Resolved, release: Release) -> Iterator[Judgement]:
    """Yield the warnings that can be found only in a plan. `release` is that of the stack."""
    yield from about("", _unproven_facts(plan, resolved.contexts.releases))
    if plan.caches and release not in resolved.contexts.releases:
        yield from about("", _unproven_fetchers(release))
    yield from about("", claims.judge(resolved.contexts.variants.values(), plan.caches))
    yield from about("", network.judge_plan(resolved.stack, _policies(plan)))
    yield from about("", interceptor.judge_plan(resolved.stack, plan.interceptor))
    for service in plan.services:
        # Roles and variants share keys of the service, such as those of the route.
        broken = (problem for workload in service.workloads for problem in cold_start.judge(workload.cold_start))
        yield from about(service.key, dict.fromkeys(broken))


def _policies(plan: StackPlan) -> Iterator[Policy]:
    """Yield the network policies of all pods of a stack."""
    stores = [*plan.caches]
    if plan.interceptor_network.policy is not None:
        yield plan.interceptor_network.policy
    for service in plan.services:
        for variant in service.variants:
            yield from variant.policies
            if variant.storage is not None:
                stores.append(variant.storage)
    yield from (store.policy for store in stores if store.policy is not None)


def _unproven_facts(plan: StackPlan, releases: Iterable[Release]) -> Iterator[Problem]:
    """Yield warnings about the facts without proof of the channels that variants use."""
    variants = [variant for service in plan.services for variant in service.variants]
    for release in releases:
        workloads = (
            workload for variant in variants if variant.release == release.name for workload in variant.workloads
        )
        vendors = {workload.accelerator.vendor for workload in workloads}
        for table_path, entry in unproven(release, vendors):
            yield _unproven(release, table_path, entry)
        yield from _unrun(release, vendors)


def _unrun(release: Release, vendors: Collection[str]) -> Iterator[Problem]:
    """Yield a warning if a commit before the release was read and run in place of the release."""
    commit = release.line.built
    if commit is not None:
        _, tag = repository_and_tag(release.images.picker.ref)
        read = f"{count_of_earlier(release)} facts were read in source of {commit.date}"
        by_others = f"{count_of_stated(release, vendors)} are stated by public texts"
        what = f"the picker {tag} was not run here: {read}, {by_others}"
        remedy = f"write release: {newest_run_channel()} for a picker that was run here"
        yield warning(Path(f"release {release.name}"), what, remedy)


def _unproven_fetchers(release: Release) -> Iterator[Problem]:
    """Yield a warning for each unproven image of a channel that only fills caches."""
    for table_path, entry in unproven(release, ()):
        if table_path in FETCHERS:
            yield _unproven(release, table_path, entry)


def _unproven(release: Release, table_path: str, entry: Sourced) -> Problem:
    return warning(Path(f"release {release.name}"), f"{table_path} is unproven ({entry.source})")
