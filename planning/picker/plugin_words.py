"""Words for groups of plugins in messages."""

from collections.abc import Collection, Mapping

from planning.releases.plugins import Plugin

PRODUCER = "producer"
"""Group of plugins that make data for other plugins. They work as soon as they are declared."""
SCHEDULING = frozenset({"filter", "scorer", "picker"})
"""Groups whose plugins belong in scheduling profiles."""
_GROUP_NOUNS = {
    "detector": "saturation detector",
    "discovery": "discovery plugin",
    "eviction": "eviction policy",
    "fairness": "fairness policy",
    "ordering": "ordering policy",
    "profile-handler": "profile handler",
    "request": "request plugin",
    "source": "data source",
    "syncer": "cross-replica syncer",
    "usage-limit": "usage limit policy",
}
"""Nouns by which messages call the plugins of a group. For any other group, the noun is the name of the group."""


def with_article(group: str) -> str:
    """Return the noun of a group with its article."""
    word = _GROUP_NOUNS.get(group, group)
    if word[0] in "aeio":
        return f"an {word}"
    return f"a {word}"


def example(table: Mapping[str, Plugin], groups: Collection[str]) -> str:
    """Return ", such as" and a plugin of one of the groups, as the end of a sentence; "" if no plugin fits."""
    for name, plugin in table.items():
        if plugin.groups[0] in groups and plugin.stability == "beta" and plugin.deprecated is None:
            return f", such as {name}"
    return ""
