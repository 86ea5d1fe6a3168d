"""Warnings about series of vLLM that autoscalers and pickers ask for, and that the role's engine does not report.

A query for a series that nobody reports has no result, so the number of replicas would stay as it is. It is only a
warning, because a rule of Prometheus may record a series of such a name.
"""

import difflib
from collections.abc import Iterator

from models import flags, trees
from models.autoscaling import CustomMetric
from models.paths import Path
from models.problems import Problem, warning
from planning.releases import engine_series
from planning.releases.engine_series import EngineSetting
from planning.serving.context import EngineContext

_CLOSE = 0.8
"""Similarity from which on a name counts as misspelt."""


def judge(engine: EngineContext) -> Iterator[Problem]:
    """Warn of series in custom metrics that the engine's version, or the engine with its settings, does not report.

    Also warn of series in the picker's configuration that the version does not report. Its settings do not count there,
    because pickers do without the series of adapters.
    """
    context = engine.role
    version = context.engine_version
    if version is None or not version.is_known:
        return
    if context.role.autoscaling is not None:
        for index, metric in enumerate(context.role.autoscaling.metrics):
            if isinstance(metric, CustomMetric):
                at = context.path / "autoscaling" / "metrics" / index / "spec"
                for path, series in _series(metric.spec, at):
                    yield from _unknown(version.number, path, series)
                    yield from _without_setting(engine, path, series)
    if context.stage.is_destination:
        at = context.variant.path / "endpointPicker" / "config"
        for path, series in _series(context.variant.spec.endpoint_picker.config, at):
            yield from _unknown(version.number, path, series)


def _series(tree: object, at: Path) -> Iterator[tuple[Path, str]]:
    """Yield the names of series of vLLM in the texts of a tree, with their places."""
    for path, text in trees.leaves(tree, at):
        for name in dict.fromkeys(engine_series.NAME.findall(str(text))):
            yield path, name


def _unknown(version: str, at: Path, series: str) -> Iterator[Problem]:
    if series not in engine_series.names(version):
        yield warning(at, f"asks for a series that vLLM {version} does not report ({series})", _remedy(version, series))


def _without_setting(engine: EngineContext, at: Path, series: str) -> Iterator[Problem]:
    """Warn of a series whose condition the engine does not fulfil."""
    version = engine.role.engine_version
    if version is None or series not in engine_series.names(version.number):
        return
    for name in engine_series.conditions_of(engine_series.names(version.number)[series]):
        settings = engine_series.conditions()[name].settings
        if settings and not any(has_setting(engine, setting) for setting in settings):
            needs = ", or with ".join(_words(setting) for setting in settings)
            yield warning(at, f"asks for a series that vLLM reports only with {needs} ({series})")


def _words(setting: EngineSetting) -> str:
    parts = setting.flags[:1]
    if setting.contains is not None:
        parts.append(f"{setting.contains} in its value")
    if setting.variable is not None:
        parts.append(setting.variable)
    return " and ".join(parts)


def has_setting(engine: EngineContext, setting: EngineSetting) -> bool:
    """Tell whether the engine gets the flag with the text in its value, and the variable, as far as these decide."""
    role = engine.role.role.engine
    if setting.variable is not None and setting.variable not in role.env:
        return False
    arguments = flags.parse((*engine.arguments, *role.args))
    texts = [" ".join(flag.tokens) for flag in arguments if flag.switch.partition(".")[0] in setting.flags]
    return not setting.flags or any(setting.contains is None or setting.contains in text for text in texts)


def _remedy(version: str, series: str) -> str:
    known = engine_series.names(version)
    if f"{series}_total" in known:
        return f"did you mean {series}_total?"
    close = difflib.get_close_matches(series, known, n=1, cutoff=_CLOSE)
    versions = engine_series.versions_with(series)
    remedies = list[str]()
    if versions is not None:
        remedies.append(f"vLLM reports it {versions}")
    if close:
        remedies.append(f"did you mean {close[0]}?")
    return "; ".join(remedies)
