"""Every deviation, in the order in which they are undone."""

from tests.heritage.fidelity import common, picker, serving

DEVIATIONS = [*common.DEVIATIONS, *serving.DEVIATIONS, *picker.DEVIATIONS, *common.LAST]
