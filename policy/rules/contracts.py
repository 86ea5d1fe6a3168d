"""Outputs of inference stacks, as the reader of the contract reads them, and the variants of their services."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from policy.rules import trees
from policy.rules.records import PolicyFinding, ReadContract, View
from policy.rules.trees import Tree, UnknownValue
from reader import inference_stacks_outputs as reader

OfVariant = Callable[[str, Tree, Tree], Iterator[PolicyFinding]]
"""A judge of the variant at a path of the configuration; its arguments are the path, the variant and its model."""


def read(outputs: Mapping[str, object], urn: str = "") -> ReadContract:
    """Return the outputs of a component as a contract. Outputs of another version make a contract with a mistake."""
    try:
        return ReadContract(reader.read(outputs, "the inference stack"), urn)
    except reader.ContractError as error:
        return ReadContract({}, urn, str(error))


def of_services(view: View, judge: Callable[[str, Tree], Iterator[PolicyFinding]]) -> Iterator[PolicyFinding]:
    """Judge every service of every inference stack, each with its path in the configuration.

    Yields what cannot be told: outputs that are unknown, missing, or of another version.
    """
    yield from questions(view)
    for contract in view.contracts:
        yield from _of_contract(contract, judge)


def questions(view: View) -> Iterator[PolicyFinding]:
    """Yield the reasons why outputs of inference stacks are unknown to every rule: they are missing or unreadable."""
    if not view.contracts and any(item.is_ours for item in view.objects):
        what = "has no outputs of an inference stack"
        yield PolicyFinding("the stack", what, "name the stack instead of its rendered objects", is_known=False)
    for contract in view.contracts:
        if contract.mistake:
            yield PolicyFinding("the stack", "cannot be judged", contract.mistake, urn=contract.urn, is_known=False)


def _of_contract(
    contract: ReadContract, judge: Callable[[str, Tree], Iterator[PolicyFinding]]
) -> Iterator[PolicyFinding]:
    for key in sorted(contract.services):
        at = f"services.{key}"
        try:
            for finding in judge(at, trees.mapping(contract.services, key)):
                yield replace(finding, urn=contract.urn)
        except UnknownValue:
            remedy = "the run that deploys it knows it"
            yield PolicyFinding(at, "has an output that is unknown", remedy, urn=contract.urn, is_known=False)


def of_variants(view: View, judge: OfVariant) -> Iterator[PolicyFinding]:
    """Judge every variant of every service: primaries and canaries."""

    def of_service(at: str, service: Tree) -> Iterator[PolicyFinding]:
        yield from judge(at, trees.mapping(service, "primary"), trees.mapping(service, "model"))
        canary = trees.mapping(service, "canary")
        if canary:
            yield from judge(f"{at}.canary", canary, trees.mapping(canary, "model"))

    yield from of_services(view, of_service)


def roles(variant: Tree) -> Mapping[str, Tree]:
    """Return the roles of a variant by name."""
    return trees.mapping(variant, "roles")
