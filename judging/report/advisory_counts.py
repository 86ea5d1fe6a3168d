"""Numbers of advisories that another image of an engine closes and opens, as texts."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from judging.report import edits, running
from planning import advisories


def counts(exposures: Collection[str], kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many advisories a change of a workload closes and opens. A number of zero has no text.

    `exposures` has the ids of the advisories that the engine meets in the versions that they affect. Nothing is counted
    unless both images are of known versions.
    """
    before, after = (_image(kind, workload) for workload in (old, new))
    if not advisories.is_known(before) or not advisories.is_known(after):
        return
    affecting_before, affecting_after = (
        {advisory.id for advisory in advisories.affecting(image)} & set(exposures) for image in (before, after)
    )
    for verb, ids in (("closes", affecting_before - affecting_after), ("opens", affecting_after - affecting_before)):
        if ids:
            yield f"{verb} {len(ids)} {'advisory' if len(ids) == 1 else 'advisories'}"


def _image(kind: str, workload: Mapping[str, Any]) -> str:
    """Return the image of the engine of a workload."""
    return edits.engine(running.template(kind, workload)).get("image", "")
