"""Facts about the plugins of an endpoint picker: where a configuration may name them, and their parameters."""

from typing import Any, Literal

from pydantic import Field

from models.base import Spec
from planning.ground.tables import Sourced


class Condition(Spec):
    """A condition on a value in a mapping. The value must satisfy every field that is set.

    If the mapping has no such value, the plugin's default counts. The comparisons with numbers never report a value
    that is absent or is not a number, because the check of shapes reports such a value.
    """

    at: str
    """Dotted path of the value. If a key holds a list, the path continues in every item of the list."""
    any_of: list[Any] | None = Field(default=None, alias="in")
    """Allowed values; null stands for an absent value."""
    or_value_of: str | None = None
    """Path of values in the mapping that are allowed in addition to the values of `in`."""
    not_in: list[Any] | None = None
    folded: list[str] | None = None
    """Like `in`, but without regard to case, hyphens and underscores."""
    above: float | str | None = None
    """Number that the value must exceed, or the path of that number. `at_least`, `below` and `at_most` are a number or
    a path, too."""
    at_least: float | str | None = None
    below: float | str | None = None
    at_most: float | str | None = None
    differs: str | None = None
    """Path of another value, which the value must not equal."""
    empty: bool | None = None
    """Whether the value must be absent, null, "" or an empty list or mapping."""
    blank: bool | None = None
    """Like `empty`; a text of blanks counts as empty, too."""
    present: bool | None = Field(default=None, alias="set")
    """Whether the value must be there and not null."""
    null: bool | None = None
    """Whether the value must be written as null."""
    fits: str | None = None
    """Word of `planning.picker.value_shapes` that describes the value."""
    items: str | None = None
    """Like `fits`, for each item of a list."""
    declared: bool | None = None
    """Whether the value must be the name of a declared plugin."""
    unique: str | None = None
    """Key by which the items of a list must differ; "" for the items themselves."""
    ignore_case: bool = False
    """Whether `unique` treats texts that differ only in case as equal."""
    otherwise: Any = None
    """Value that an item counts as having if it lacks the key that `unique` names."""
    count: int | None = None
    """Length that a list must have."""
    max_items: int | None = None
    """Maximum length of a list."""


class Demand(Spec):
    """A demand on several values together: if all conditions in `when` hold, the condition `must` has to hold."""

    items_of: str | None = None
    """Path of a list: the demand applies to each item of the list. None for a demand on the whole mapping."""
    parent: list[Condition] = Field(default=[])
    """If `items_of` is set: conditions on the mapping with the list. The demand applies only if all of them hold."""
    when: list[Condition] = Field(default=[])
    must: Condition


class Deprecation(Spec):
    """The deprecation of a plugin."""

    by: str
    """Type of the plugin that replaces the deprecated plugin."""
    removed: str | None = None
    """Version that removes the deprecated plugin; None if no such version is announced."""


class Handler(Spec):
    """The properties of a profile handler. A profile handler chooses the scheduling profiles of a request."""

    single: bool = False
    """Whether the picker refuses to start if the handler has several profiles."""
    takes_one: bool = False
    """Whether the picker starts if the handler has several profiles, but then answers no request."""
    decider_parameters: list[str] = Field(default=[])
    """Parameters that can name the decider: the plugin that decides whether a request uses prefill. One parameter is
    enough. Empty if the handler never uses prefill."""
    other_deciders: list[str] = Field(default=[])
    """Parameters that can name a decider for other roles. A handler with such a decider need not use prefill."""
    default_decider: str | None = None
    """The default decider, used when none of `decider_parameters` is set; None if there is no default."""
    without_decider: dict[str, str] = Field(default={})
    """Parameters, each with the value that makes every request use prefill. The handler then needs no decider."""
    profiles: dict[Literal["decode", "prefill"], list[str]] = Field(default={})
    """Parameters that can name the profile of a role. If no parameter is set, the profile has the name of the role."""


class Need(Spec):
    """A requirement of a plugin: another plugin must be declared."""

    parameters: list[str] = Field(default=[])
    """Parameters that must be set on the required plugin."""
    unless: str | None = None
    """Parameter of the requiring plugin. If this parameter is set, the other plugin is not required. None if the other
    plugin is always required."""


class Data(Spec):
    """A kind of data that one plugin produces for others. The picker does not start if a plugin lacks data it needs."""

    noun: str
    """Name of the data in messages."""
    producer: str
    """Type of the plugin whose data is used if no plugin is named."""
    created: bool = False
    """Whether the picker itself adds the plugin of type `producer` to a configuration that needs the data."""
    unnamed: bool = False
    """Whether consumers take data of this kind from any plugin. If not, they take it from one plugin, by its name."""


class Consumption(Spec):
    """One kind of data that a plugin needs in order to work."""

    data: str
    producer: str | None = None
    """Parameter with the name of the plugin that produces the data; None if there is no such parameter."""
    when: list[Condition] = Field(default=[])
    """Conditions on the plugin's parameters. The plugin uses the data only if all conditions hold."""


class Plugin(Spec):
    """A type of plugin of the endpoint picker."""

    groups: list[str]
    """Groups of the plugin, such as `scorer` or `filter`. They decide where a configuration may name the plugin.
    Messages show the first group."""
    source: str = ""
    """Upstream's file with the plugin's parameters and their checks. The table names the version of the file."""
    stability: Literal["beta", "alpha"] = "beta"
    deprecated: Deprecation | None = None
    """Deprecation of the plugin; None if the plugin is not deprecated."""
    parameters: dict[str, Any] | None = None
    """Parameters of the plugin, as a shape of `planning.picker.value_shapes`; None if parameters are not checked."""
    former_parameters: dict[str, Any] | None = None
    """Shape of the deprecated form of the parameters. One of the two forms is used, never both."""
    defaults: dict[str, Any] = Field(default={})
    """Default values of parameters, by the paths of the parameters. Only defaults that a rule needs are listed."""
    rules: list[Demand] = Field(default=[])
    """Demands on several parameters together."""
    corrected: dict[str, str] = Field(default={})
    """Shapes of parameters, by the paths of the parameters. The picker silently replaces a value of another shape."""
    superseded: dict[str, str] = Field(default={})
    """Parameters that the picker ignores if another parameter is set, each with that other parameter."""
    unread: dict[str, str] = Field(default={})
    """Deprecated parameters that the picker accepts but does not use, each with the reason."""
    ignores_parameters: bool = False
    """Whether the picker accepts parameters of the plugin without using them."""
    once: bool = False
    """Whether the picker refuses to start if two plugins of this type are declared."""
    implicit: bool = False
    """Whether the picker adds the plugin to a configuration that needs it but does not declare it."""
    produces: list[str] = Field(default=[])
    """Kinds of data that the plugin produces. Consumers find the data by the plugin's name."""
    consumes: list[Consumption] = Field(default=[])
    """Data without which the picker does not start."""
    wants: list[str] = Field(default=[])
    """Types of other plugins. If no plugin of such a type is declared, this plugin starts, but has no effect."""
    emits: str | None = None
    """Kind of events or metrics that a data source hands to its extractors; None if the plugin is no data source."""
    repeatable: bool = False
    """Whether a data source may be listed twice, or an extractor twice at one source."""
    extracts: list[str] = Field(default=[])
    """Kinds of events or metrics that an extractor takes from data sources."""
    registers_source: bool = False
    """Whether the plugin itself registers a data source, so that the configuration needs none."""
    conflicts: list[str] = Field(default=[])
    """Types of other plugins beside which the picker does not start with this plugin."""
    requires: dict[str, Need] = Field(default={})
    """Types of other plugins that must be declared, each with the details of the requirement."""
    gates: list[str] = Field(default=[])
    """Feature gates that must be on. Otherwise the plugin has no effect."""
    role: Literal["decode", "prefill", "encode"] | None = None
    """Role whose pods the plugin selects as a filter; None if the plugin is no filter for one role."""
    protocols: list[str] = Field(default=[])
    """Values of the pool's appProtocol that the plugin supports as a parser; empty if it supports every value."""
    takes_every_path: bool = False
    """Whether the plugin, as a parser, takes every request, so that later parsers are skipped."""
    block_size: list[str] = Field(default=[])
    """Parameters that can hold the engine's block size. One of them must hold it: with another block size, the plugin's
    hashes of blocks never match the hashes in the engine's events. Empty if the plugin hashes no blocks."""
    predicts_latency: bool = False
    """Whether the plugin needs a latency predictor."""
    never_prefills: list[Condition] = Field(default=[])
    """Conditions on the plugin's parameters. If one of them holds, the plugin, as a decider, never lets a request use
    prefill."""
    unusable_reason: str | None = None
    """Reason why the plugin does not work with the objects of a stack and is rejected. None if the plugin works."""
    must_be_zero: dict[str, str] = Field(default={})
    """Parameters that must be absent or 0, each with the reason why other values do not work with the objects of a
    stack."""
    handler: Handler | None = None
    """Properties of the plugin as a profile handler; None if the plugin is no profile handler."""


class PluginFacts(Sourced):
    """The plugins that a release registers, by type."""

    table: dict[str, Plugin]
    ignores_unknown: bool = False
    """Whether the picker ignores parameters that a plugin does not have."""
    data: dict[str, Data] = Field(default={})
    """Kinds of data that plugins produce and consume."""


class Additions(Spec):
    """Types of the plugins that the picker adds to a configuration.

    A declared plugin with the same name replaces the added plugin.
    """

    picker: str
    """Plugin of the group `picker`, added if no plugin of this group is declared."""
    handler: str
    """Profile handler, added if the configuration has a single profile and declares no profile handler."""
    policies: list[str]
    """Policies of flow control; the picker always adds them."""
    parsers: list[str]
    """Parsers, added if the configuration names no parser. A parser that is named but not declared is added, too."""
    detector: str
    """Saturation detector, added unless the configuration names another detector."""
    source: str
    """Data source, added unless the source is listed or `injectDefaults` is false."""
    replaces_section: bool = False
    """Whether the picker adds the data source only if the configuration has no section `dataLayer`."""
    extractor: str
    """Extractor for the data source `source`, added together with it."""
