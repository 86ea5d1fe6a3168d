import pytest

from models.autoscaling import KedaAutoscaling, ScalingModifiers
from models.paths import Path
from planning.serving import formulas

QUEUE = {"type": "queue-size", "target": 5}
HOURS = {"type": "custom", "spec": {"type": "cron", "name": "hours"}}


def problems(formula, *metrics, minimum=1):
    settings = {"type": "keda", "maxReplicas": 4, "minReplicas": minimum, "metrics": list(metrics)}
    spec = KedaAutoscaling.model_validate(settings)
    modifiers = ScalingModifiers.model_validate({"formula": formula, "target": 5})
    return [str(problem) for problem in formulas.problems(Path("at"), spec, modifiers)]


@pytest.mark.parametrize(
    ("formula", "metrics", "minimum"),
    [
        ("queue_size", [QUEUE], 1),
        ("max([queue_size, hours])", [QUEUE, HOURS], 1),
        ("waiting > 0 ? 1 : queue_size", [QUEUE], 0),
        ('let x = queue_size; x contains "nobody"', [QUEUE], 1),
    ],
)
def test_a_formula_may_name_its_metrics_its_variables_and_the_words_of_its_language(formula, metrics, minimum):
    assert problems(formula, *metrics, minimum=minimum) == []


@pytest.mark.parametrize(
    ("formula", "metrics", "message"),
    [
        ("cpu + queue_size", [QUEUE], "at.scalingModifiers.formula: names no metric (cpu); use queue_size"),
        ("waiting", [QUEUE], "at.scalingModifiers.formula: names no metric (waiting); use queue_size"),
        (
            "queue_size",
            [QUEUE, QUEUE],
            "at.metrics[1]: has the name of another metric in the formula (queue_size); keep one of them",
        ),
    ],
)
def test_a_name_that_no_metric_or_two_metrics_have_is_refused(formula, metrics, message):
    assert problems(formula, *metrics) == [message]


def test_a_custom_metric_without_a_name_is_refused():
    (message,) = problems("queue_size", QUEUE, {"type": "custom", "spec": {"type": "cron"}})
    assert message.startswith("at.metrics[1].spec: has no name by which the formula can refer to it; add name")
