"""Command `reference profiles`: the page of the shipped profiles, generated from their files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planning.selection import shipped

_HEAD = """# Catalogue

A serving profile describes a way to serve a model. This way is known to work. The profile has the devices and their
number, the weights, and the arguments of the engine. A service that has a `model.name` and no `model.source` gets a
profile: the best profile of its model that the nodes of the cluster can run. `python -m cli explain` shows this
profile, and the reasons against other profiles.
This page is generated from [the shipped files](../catalogue): `python -m cli reference profiles > docs/catalogue.md`.

## Shipped profiles

The cells have the precisions of the weights; a dash means that the source states no precision.
"""
_LIST = """
## Each profile

*Devices* is the number of devices of one replica, *For* is the purpose that the source states, and the link of a
profile leads to the source of its numbers. Comments in the shipped files name further sources.
"""
_TAIL = """
## What a type means

| Type | The source |
|---|---|
| `optimized` | recommends these settings for this class: a vendor has tuned them, or they were measured |
| `general` | shows the model on this class, with settings that nobody claims to be the best |
| `preview` | has tuned the settings, which do not yet meet the vendor's requirements for `optimized` |
| `unoptimized` | offers settings as a starting point; no such profile is shipped |

A service gets only `optimized` profiles, unless its `selection.minimumType` allows others.

## What profiles leave out

- Arguments that only measurements need. For example, sources turn prefix caching off so that runs can be compared, but
  the endpoint picker relies on prefix caching.
- Arguments that repeat what this program or the engine does anyway: logs, ports, executors, types, swap space.
- Variables that the engine of the release does not know.
- `--trust-remote-code`, if another source serves the model without this flag. The embedding models of jinaai need the
  flag: their pods run code from the model's repository.
- Revisions: [the lock](run.md#lock-what-is-fetched) pins the content of each source.
- Groups that may open AMD's device files, because their numbers depend on your nodes: `pod.supplementalGroups`.

A profile that does not fit the memory of its devices is not shipped: weights, and the cache of one request of the
longest context, are compared with the memory that the driver shows (`tests/contracts/test_catalogue.py`). No simulated
or estimated figure is a source.

## Profiles of your own

In the stack file under `catalogue.profiles`, or for several stacks in files that `catalogue.files` names:

```yaml
profiles:
  qwen3-32b-l40s-awq:
    model: Qwen/Qwen3-32B            # the model.name of services
    type: optimized
    metric: latency
    precision: int4
    deviceCount: 2
    source: measured by the search team on 2026-11-20
    service:
      accelerator: nvidia-l40s
      model: {source: "s3://acme-models/qwen3-32b-awq", size: 19Gi, maxModelLen: 16384, secrets: [s3-reader]}
```

The keys below `service` are keys of a service, with the same meanings. Values of the service itself win over them.
Of all profiles that fit a service, those in the nearest place win: profiles of the stack file win over profiles of
files, and profiles of files win over shipped profiles. A profile replaces a shipped profile with the same id;
`catalogue: {shipped: false}` leaves out all shipped profiles.

To ship a profile, add it to the model's file in `catalogue/`. As the source of the profile's numbers, name a public
file at a commit, or a page and the day on which you read the page. Add the profile's weights to
`tests/contracts/catalogue-weights.yaml`. Profiles of a model for one class differ in type, metric or precision, so that
no two profiles tie.
"""


def text() -> str:
    """Return the page as it is committed."""
    profiles = list(_profiles())
    return "\n".join([_HEAD, *_matrix(profiles), _LIST, *_list(profiles), _TAIL])


def _profiles() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the id of each profile, the description of its model (the first line of the file), and the profile."""
    for document in shipped.files():
        file = shipped.FOLDER.parent / document.file
        about = Path(file).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        yield from ((key, about, profile) for key, profile in document.tree["profiles"].items())


def _matrix(profiles: list[tuple[str, str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the lines of a table of models and classes, with precisions in its cells."""
    classes = sorted({_class(profile) for _, _, profile in profiles}, key=lambda name: name.split("-"))
    yield f"| Model | {' | '.join(f'`{name}`' for name in classes)} |"
    yield f"|---|{'---|' * len(classes)}"
    for model, about in dict.fromkeys((profile["model"], about) for _, about, profile in profiles):
        of_model = [profile for _, _, profile in profiles if profile["model"] == model]
        cells = [", ".join(_precisions(profile for profile in of_model if _class(profile) == name)) for name in classes]
        yield f"| {model}<br>{about} | {' | '.join(cells)} |"


def _precisions(profiles: Iterator[Mapping[str, Any]]) -> list[str]:
    return sorted({profile.get("precision", "–") for profile in profiles})


def _list(profiles: list[tuple[str, str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the lines of a table of all profiles."""
    yield "| Profile | Class | Devices | Precision | For | Type |"
    yield "|---|---|---|---|---|---|"
    for key, _, profile in profiles:
        link = f"[{key}]({profile['source'].partition(',')[0]})"
        facts = (profile["deviceCount"], profile.get("precision", ""), profile.get("metric", ""), profile["type"])
        yield f"| {link} | `{_class(profile)}` | {' | '.join(str(fact) for fact in facts)} |"


def _class(profile: Mapping[str, Any]) -> str:
    return profile["service"]["accelerator"]
