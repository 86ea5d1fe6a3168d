import pytest
from pydantic import ValidationError

from models.health import Health
from models.problems import ConfigError
from tests.support.stacks import SERVICE, find, rendered, tree


def probes(**health):
    (container,) = find(rendered(tree(qwen={"health": health})), "Deployment", "qwen-decode")["spec"]["template"][
        "spec"
    ]["containers"]
    return {name: container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")}


def test_settings_of_one_probe_win_over_those_of_all():
    rendered_probes = probes(
        startupTimeout="1h",
        startup={"initialDelay": "15s", "interval": "30s"},
        readiness={"interval": "5s", "timeout": "2s", "failureThreshold": 6, "path": "/ready"},
        liveness={"type": "tcp"},
    )
    startup, readiness, liveness = rendered_probes.values()
    assert (startup["initialDelaySeconds"], startup["periodSeconds"], startup["failureThreshold"]) == (15, 30, 120)
    assert (readiness["periodSeconds"], readiness["timeoutSeconds"], readiness["failureThreshold"]) == (5, 2, 6)
    assert readiness["httpGet"]["path"] == "/ready"
    assert liveness["tcpSocket"] == {"port": 8000}
    assert (liveness["periodSeconds"], liveness["failureThreshold"]) == (10, 3)


@pytest.mark.parametrize(
    ("health", "message"),
    [
        ({"readiness": {"timeout": "11s"}}, "the readiness probe may take longer than the time between two probes"),
        ({"liveness": {"interval": "3s"}}, "the liveness probe may take longer than the time between two probes"),
        ({"startup": {"interval": "500ms", "timeout": "500ms"}}, "less than a second"),
        ({"startup": {"type": "tcp", "path": "/x"}}, "a probe of type tcp sends no request"),
    ],
)
def test_probes_that_cannot_work_are_refused(health, message):
    with pytest.raises(ValidationError, match=message):
        Health.model_validate(health)


@pytest.mark.parametrize(
    ("health", "failures"),
    [
        ({"startupTimeout": "10m"}, 60),
        ({"startupTimeout": "10m", "startup": {"initialDelay": "2m"}}, 48),
        ({"startupTimeout": "10m", "startup": {"initialDelay": "125s", "interval": "30s"}}, 16),
        ({"startupTimeout": "10m", "startup": {"initialDelay": "599s"}}, 1),
        ({"startupTimeout": "10m", "readiness": {"initialDelay": "2m"}}, 60),
    ],
)
def test_the_startup_timeout_includes_the_initial_delay(health, failures):
    assert probes(**health)["startup"]["failureThreshold"] == failures


@pytest.mark.parametrize(
    ("health", "model", "limit"),
    [
        ({"startupTimeout": "10m", "startup": {"initialDelay": "10m"}}, {}, "600s (10m)"),
        ({"startup": {"initialDelay": "2h"}}, {}, "1800s (2h)"),
        ({"startup": {"initialDelay": "2h"}}, {"size": "64Gi"}, "1624s (2h)"),
    ],
)
def test_a_first_startup_probe_after_the_startup_timeout_is_refused(health, model, limit):
    with pytest.raises(ConfigError) as caught:
        rendered(tree(qwen={"health": health, "model": {**SERVICE["model"], **model}}))
    what = f"leaves no time for a probe, because the model must be loaded within {limit}"
    line = f"services.qwen.health.startup.initialDelay: {what}; lower it, or raise health.startupTimeout"
    assert [str(problem) for problem in caught.value.problems] == [line]
