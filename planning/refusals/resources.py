"""Requests and limits of a container."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from models.paths import Path
from models.problems import Problem
from models.vocabulary import amount, is_quantity
from planning.refusals.tables import rules

_LARGEST = Decimal(2**63 - 1)
"""Largest number of a quantity: k8s.io/apimachinery v0.36.3, pkg/api/resource/quantity.go. Kubernetes takes larger
numbers, and counts with this one. It counts cores in thousandths."""
_NAMES = "cpu, memory, ephemeral-storage, hugepages-<size> or the whole name of a device plugin's resource"
Amounts = Mapping[str, str]


def problems(at: Path, requests: Amounts, limits: Amounts, *, computes: bool) -> Iterator[Problem]:
    """Yield a problem for each amount in `requests` or `limits` that Kubernetes refuses, or counts as another amount.

    `computes` says that the container has cpu or memory besides these amounts.
    """
    for group, amounts in (("requests", requests), ("limits", limits)):
        for name, quantity in amounts.items():
            if not is_quantity(quantity):
                continue
            wrong = next(_wrong(name, quantity), None)
            if wrong is not None:
                yield Problem(at / group / name, *wrong)
    for name in sorted(requests):
        yield from _check_request(at / "requests" / name, name, requests[name], limits.get(name))
    names = requests.keys() | limits.keys()
    pages = sorted(name for name in names if name.startswith(rules().resources.huge_pages))
    if pages and not computes and names.isdisjoint(("cpu", "memory")):
        yield Problem(at, f"has huge pages without cpu or memory ({pages[0]})", "add cpu or memory")


def uncountable(amounts: Amounts) -> str | None:
    """Return the first amount that is more than Kubernetes can count; None if there is none."""
    return next((quantity for name, quantity in amounts.items() if _is_uncountable(name, quantity)), None)


def _is_uncountable(name: str, quantity: str) -> bool:
    if name == "cpu":
        return amount(quantity) > _LARGEST / 1000
    return amount(quantity) > _LARGEST


def _is_exact(name: str) -> bool:
    """Tell whether a request of a resource must be equal to its limit: extended resources and huge pages."""
    return name.startswith(rules().resources.huge_pages) or ("/" in name and not _is_native(name))


def _is_native(name: str) -> bool:
    return "/" not in name or rules().resources.native_domain in name


def _wrong(name: str, quantity: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an amount, each with a remedy."""
    known = rules().resources
    if name.startswith(known.quota_prefix):
        yield (
            f"is a name of quotas, and no resource of a container ({name})",
            f"write {name.removeprefix(known.quota_prefix)}",
        )
    if "/" not in name and name not in known.standard and not name.startswith(known.huge_pages):
        yield f"is no resource of a container ({name})", f"write {_NAMES}"
    number = amount(quantity)
    if _is_uncountable(name, quantity):
        yield f"is more than Kubernetes can count ({quantity})", "write the amount that is needed"
    if name.startswith(known.huge_pages):
        yield from _wrong_pages(name.removeprefix(known.huge_pages), number, quantity)
    elif not _is_native(name) and number % 1:
        yield f"is not a whole number ({quantity})", "write a number without a fraction"


def _wrong_pages(page: str, number: Decimal, quantity: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an amount of huge pages of a size."""
    size = Decimal(0)
    if is_quantity(page):
        size = amount(page)
    if not size or size % 1:
        yield f"has no size of a page ({page})", "write the size that nodes have, such as hugepages-2Mi"
    elif number % size:
        yield f"is no multiple of the page ({quantity})", f"write a multiple of {page}"


def _check_request(at: Path, name: str, request: str, limit: str | None) -> Iterator[Problem]:
    """Check a request against its limit. A resource that nodes never give twice has a limit of the same amount."""
    if limit is None:
        if _is_exact(name):
            what = f"needs a limit of the same amount ({request})"
            yield Problem(at, what, f"write {name}: {request} in limits instead of requests")
    elif not is_quantity(request) or not is_quantity(limit):
        return
    elif _is_exact(name) and amount(request) != amount(limit):
        yield Problem(
            at, f"differs from its limit ({request}, {limit})", "write the same amount, or remove the request"
        )
    elif amount(request) > amount(limit):
        yield Problem(at, f"is above its limit ({request}, {limit})", "raise the limit")
