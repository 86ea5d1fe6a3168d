"""A service whose canary is compared: engines that count, and their samples as a Prometheus scrapes them."""

import json
import math
import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import yaml

from planning.ground.snapshot import POD, ROUTE, Snapshot
from tests.support.living_objects import Living
from tests.support.stacks import GATEWAY, tree

NAMESPACE = "living"
SERVICE = "chat"
SCRAPE_SECONDS = 15
WITHIN = "2.5"
"""Bound of the histogram's bucket up to which requests are fast."""


@dataclass
class Truth:
    """Requests that an engine counted while it was compared."""

    requests: int = 0
    bad: int = 0
    first_tokens: int = 0
    slow: int = 0


@dataclass
class ComparedEngine:
    """A pod of a variant: how many requests it gets, which of them fail or are slow, and when it starts again."""

    variant: str
    number: int = 0
    per_minute: float = 30
    bad: float = 0.01
    slow: float = 0.02
    restarts: tuple[int, ...] = ()
    """Seconds of the time at which it starts again."""
    down: int = 40
    """Seconds for which it then does not answer."""
    namespace: str = NAMESPACE
    truth: Truth = field(default_factory=Truth)

    @property
    def labels(self):
        return {
            "namespace": self.namespace,
            "inference_service": SERVICE,
            "variant": self.variant,
            "role": "decode",
            "job": f"{self.namespace}/{SERVICE}",
            "pod": f"{self.variant}-{self.number}",
            "instance": f"10.0.{self.variant == 'canary':d}.{self.number}:8000",
        }

    def series(self, start, seconds, seed=0, gaps=(), before=600):
        """Return labels and samples of the series, from some time before a start on.

        `gaps` are pairs of seconds between which nobody scrapes.
        """
        chance = random.Random(f"{seed} {self.variant} {self.number}")
        counters = dict.fromkeys(_ENGINE, 0)
        samples = {}
        up_again = None
        for second in range(-before, seconds + 1):
            if second in self.restarts:
                counters = dict.fromkeys(_ENGINE, 0)
                up_again = second + self.down
            is_up = up_again is None or second >= up_again
            for _ in range(self._arrivals(chance) if is_up else 0):
                self._serve(counters, chance, is_counted=second > 0)
            is_scraped = (second + 3 * self.number) % SCRAPE_SECONDS == 0
            if is_scraped and not any(first < second <= last for first, last in gaps):
                samples.setdefault(("up",), []).append((start + second, int(is_up)))
                for key, value in counters.items() if is_up else ():
                    samples.setdefault(key, []).append((start + second, value))
        return [
            ({"__name__": name, **self.labels, **dict(labels)}, found) for (name, *labels), found in samples.items()
        ]

    def _arrivals(self, chance):
        """Return how many requests come in a second."""
        whole, rest = divmod(self.per_minute / 60, 1)
        return int(whole) + (chance.random() < rest)

    def _serve(self, counters, chance, *, is_counted):
        is_bad = chance.random() < self.bad
        is_slow = not is_bad and chance.random() < self.slow
        key = _requests("5xx" if is_bad else "2xx")
        counters[key] = counters.get(key, 0) + 1
        counters[_PROBES] += 1
        if not is_bad:
            counters[_FIRST_TOKENS] += 1
            counters[_bucket("+Inf")] += 1
            counters[_bucket(WITHIN)] += not is_slow
        if is_counted:
            self.truth.requests += 1
            self.truth.bad += is_bad
            self.truth.first_tokens += not is_bad
            self.truth.slow += is_slow


def _requests(status):
    return "http_requests_total", ("handler", "/v1/completions"), ("method", "POST"), ("status", status)


def _bucket(bound):
    return "vllm:time_to_first_token_seconds_bucket", ("le", bound)


_PROBES = "http_requests_total", ("handler", "/v1/models"), ("method", "GET"), ("status", "2xx")
_FIRST_TOKENS = ("vllm:time_to_first_token_seconds_count",)
_ENGINE = (_requests("2xx"), _PROBES, _FIRST_TOKENS, _bucket("+Inf"), _bucket(WITHIN))
"""Series that an engine has from its start on. That of failures begins with the first failure."""


def stack(weight=50, **gates):
    """Return the configuration of the service, at the place of the captured objects of `living_objects`."""
    slo = {"availability": 99.9, "ttft": {"within": "2500ms", "percent": 95}}
    canary = {"weight": weight, "replicas": 1, "gates": {"worse": {"errors": 1, "ttft": 2}, **gates}}
    return {"replicas": 2, "slo": slo, "canary": canary}


class ComparedService:
    """The stack file of the service, and its objects in a cluster, which have not changed for some time.

    The time that is compared begins at `start`, after a warm-up of five minutes.
    """

    def __init__(self, path, url, seconds, namespace=NAMESPACE):
        self.path = path
        self.url = url
        self.namespace = namespace
        self.living = Living()
        text = json.dumps(self.living.objects).replace(f'"{NAMESPACE}"', f'"{namespace}"')
        self.living.objects = json.loads(text)
        self.changed_at = math.floor(time.time()) - 5 * 60 - seconds - 20
        self.start = self.changed_at + 5 * 60
        self.unread = {}
        self.set_times()
        self.write()

    def set_times(self):
        """Let the route be written, and all pods become ready, at the time of the change."""
        text = f"{datetime.fromtimestamp(self.changed_at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        for route in self.living.objects[ROUTE]:
            route["metadata"] |= {"managedFields": [], "creationTimestamp": text}
        for pod in self.living.objects[POD]:
            for condition in pod["status"]["conditions"]:
                condition["lastTransitionTime"] = text

    def read(self, *_):
        """Return the objects as the reader of a cluster does."""
        return Snapshot(datetime.now(UTC), {**self.living.objects, **self.unread})

    def write(self, *edits, **options):
        """Write the stack file, with options of `stack`, after some edits."""
        whole = tree(chat=stack(**options)) | {
            "namespace": self.namespace,
            "gateway": GATEWAY | {"version": "1.31.2"},
            "observability": {"metrics": {"type": "prometheus-operator"}, "prometheus": {"serverAddress": self.url}},
        }
        for edit in edits:
            edit(whole)
        self.path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": whole}}))

    def give(self, weight):
        """Let the live route give a percentage of the requests to the canary."""
        for ref in self.living.of("HTTPRoute", "chat")["spec"]["rules"][0]["backendRefs"]:
            ref["weight"] = weight if "canary" in ref["name"] else 100 - weight


def exposition(series):
    """Return series as a text of OpenMetrics, whose families do not mix."""
    lines = []
    for name in sorted({labels["__name__"] for labels, _ in series}):
        lines.append(f"# TYPE {name} unknown")
        for labels, samples in series:
            if labels["__name__"] == name:
                text = ",".join(f'{key}="{value}"' for key, value in labels.items() if key != "__name__")
                lines += (f"{name}{{{text}}} {value} {moment}" for moment, value in samples)
    return "\n".join([*lines, "# EOF", ""])
