"""Deviations of the serving pods."""

from typing import Any

from tests.heritage.fidelity.common import SERVING
from tests.heritage.fidelity.deviation import before, container, deviation, drop, drop_arguments, named, pod

DECODE = "Deployment decode"
_VLLM, _KIT, _PROXY = "*/containers/vllm", "*/initContainers/model-unpack", "*/initContainers/routing-proxy"
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_FOLDER = "/tmp/model-oci"


@deviation("W1 probes", *SERVING, about=tuple(f"{_VLLM}/{probe}/*" for probe in _PROBES))
def probes(manifest: Any, _: Any) -> None:
    for probe in _PROBES:
        del container(manifest)[probe]


@deviation("W6 rollout", *SERVING, about="/spec/strategy/*")
def rollout(manifest: Any, _: Any) -> None:
    del manifest["spec"]["strategy"]


@deviation("W3 user", *SERVING, about=("*/runAsUser", "*/runAsGroup", "*/fsGroup"))
def user(manifest: Any, _: Any) -> None:
    for field in ("runAsUser", "runAsGroup", "fsGroup"):
        del pod(manifest)["securityContext"][field]


@deviation(
    "W2 scratch", *SERVING,
    about=(
        "*/volumes/home/*", "*/volumes/shared-memory/*", "*/volumeMounts/home/*", "*/volumeMounts/shared-memory/*",
        f"{_VLLM}/env/HOME/*", f"{_VLLM}/env/USER/*",
    ),
)  # fmt: skip
def scratch(manifest: Any, _: Any) -> None:
    drop(pod(manifest)["volumes"], "home", "shared-memory")
    drop(container(manifest)["volumeMounts"], "home", "shared-memory")
    drop(container(manifest)["env"], "HOME", "USER")


@deviation("3.2 drain", *SERVING, about=("*/terminationGracePeriodSeconds", f"{_VLLM}/lifecycle/*"))
def drain(manifest: Any, _: Any) -> None:
    del pod(manifest)["terminationGracePeriodSeconds"]
    del container(manifest)["lifecycle"]


@deviation("W4 fetching", *SERVING, about=f"{_KIT}/resources/*")
def fetching(manifest: Any, _: Any) -> None:
    for kit in before(manifest, "model-unpack"):
        del kit["resources"]


@deviation("W9 update check", *SERVING, about="*/kit-settings/*")
def update_check(manifest: Any, _: Any) -> None:
    drop(pod(manifest)["volumes"], "kit-settings")
    for kit in before(manifest, "model-unpack"):
        drop(kit["volumeMounts"], "kit-settings")


@deviation("S1 transport", *SERVING, about=f"{_KIT}/command/--plain-http")
def transport(manifest: Any, _: Any) -> None:
    for kit in before(manifest, "model-unpack"):
        kit["command"].insert(kit["command"].index("-o"), "--plain-http")


@deviation(
    "3.5 volumes", *SERVING,
    about=(
        "*/fetch-home/*", "*/model-tmp/*", f"{_KIT}/env/HOME/*", f"{_KIT}/env/TMPDIR/*", f"{_KIT}/env/KITOPS_HOME/*",
    ),
)  # fmt: skip
def volumes(manifest: Any, _: Any) -> None:
    """Give kit a volume of its own, which nothing but its home needs."""
    found = pod(manifest)["volumes"]
    named(found, "fetch-home")["name"] = "model-tmp"
    found.sort(key=lambda volume: {"model": 0, "model-tmp": 1}.get(volume["name"], 2))
    for kit in before(manifest, "model-unpack"):
        drop(kit["env"], "HOME", "TMPDIR")
        named(kit["env"], "KITOPS_HOME")["value"] = _FOLDER
        mount = named(kit["volumeMounts"], "fetch-home")
        mount.update({"name": "model-tmp", "mountPath": _FOLDER})
        kit["volumeMounts"].sort(key=lambda each: {"model-tmp": 0, "model": 1}.get(each["name"], 2))


@deviation(
    "3.4, W8", *SERVING,
    about=(f"{_KIT}/command/*", f"{_KIT}/args/*", f"{_KIT}/env/OCI_MODEL_IMAGE/*", f"{_KIT}/env/MODEL_MOUNT_PATH/*"),
)  # fmt: skip
def shell(manifest: Any, _: Any) -> None:
    """Run our command, of all layers, by a shell that is told of image and folder by variables."""
    for kit in before(manifest, "model-unpack"):
        words = [word for word in kit["command"] if not word.startswith("--filter=")]
        where = {"OCI_MODEL_IMAGE": words[2], "MODEL_MOUNT_PATH": words[-1]}
        words[2], words[-1] = (f'"${variable}"' for variable in where)
        lines = (
            "set -euo pipefail",
            f'export KITOPS_HOME="${{KITOPS_HOME:-{_FOLDER}}}"',
            'mkdir -p "$KITOPS_HOME"',
            " ".join(words),
        )
        kit["command"], kit["args"] = ["/bin/sh", "-c"], ["".join(f"{line}\n" for line in lines)]
        kit["env"][:0] = [{"name": name, "value": value} for name, value in where.items()]


@deviation("E7 traces without a collector", DECODE, about=f"{_PROXY}/env/*", only=("alt",))
def proxy_traced_unasked(manifest: Any, _: Any) -> None:
    for sidecar in before(manifest, "routing-proxy"):
        del sidecar["env"]


@deviation(
    "S8 sidecar", DECODE,
    about=(
        "*/serviceAccountName", "*/pool-reader/*", f"{_PROXY}/args/--enable-ssrf-protection=true",
        f"{_PROXY}/args/--inference-pool-*", f"{_PROXY}/args/--pool-group=*",
    ),
    only=("full", "alt"),
)  # fmt: skip
def any_host(manifest: Any, _: Any) -> None:
    del pod(manifest)["serviceAccountName"]
    drop(pod(manifest)["volumes"], "pool-reader")
    (sidecar,) = before(manifest, "routing-proxy")
    drop(sidecar["volumeMounts"], "pool-reader")
    drop_arguments(sidecar, "--enable-ssrf-protection", "--inference-pool-", "--pool-group")


@deviation(
    "A7 certificate", *SERVING,
    about=(
        f"{_PROXY}/args/*", f"{_VLLM}/args/--ssl-*", "*/volumes/certificate/*", "*/volumeMounts/certificate/*",
    ),
    only=("full",),
)  # fmt: skip
def certificate(manifest: Any, _: Any) -> None:
    """Ask prefill over TLS that it does not serve, with a certificate that is not mounted."""
    for sidecar in before(manifest, "routing-proxy"):
        drop_arguments(sidecar, "--prefiller-tls-insecure-skip-verify")
        sidecar["args"] += ["--cert-path", "/certs"]
    drop_arguments(container(manifest), "--ssl-")
    drop(pod(manifest)["volumes"], "certificate")
    drop(container(manifest)["volumeMounts"], "certificate")


@deviation(
    "3.7 sidecar", DECODE,
    about=(f"{_PROXY}/startupProbe/*", f"{_PROXY}/livenessProbe/*", f"{_PROXY}/resources/*"),
    only=("full", "alt"),
)  # fmt: skip
def bare_sidecar(manifest: Any, _: Any) -> None:
    (sidecar,) = before(manifest, "routing-proxy")
    for field in ("startupProbe", "livenessProbe", "resources"):
        del sidecar[field]


@deviation("3.7 order of arguments", DECODE, about=(), only=("full", "alt"))
def sidecar_order(manifest: Any, _: Any) -> None:
    (sidecar,) = before(manifest, "routing-proxy")
    theirs = ("--port", "--vllm-port", "--connector", "--zap-log-level", "--secure-proxy", "--prefiller", "--cert", "/")
    sidecar["args"].sort(key=lambda word: [word.startswith(flag) for flag in theirs].index(True))


@deviation("1.1 connector", DECODE, about=f"{_PROXY}/args/--connector=*", only=("alt",))
def connector(manifest: Any, _: Any) -> None:
    (sidecar,) = before(manifest, "routing-proxy")
    sidecar["args"] = ["--connector=sglang" if word == "--connector=nixlv2" else word for word in sidecar["args"]]


@deviation("3.7 encoder", DECODE, about=f"{_PROXY}/args/--zap-encoder=*", only=("full",))
def encoder(manifest: Any, _: Any) -> None:
    (sidecar,) = before(manifest, "routing-proxy")
    sidecar["args"].insert(sidecar["args"].index("--zap-log-level=debug"), "--zap-encoder=json")


@deviation(
    "3.8 defaults", *SERVING,
    about=(
        f"{_VLLM}/args/--gpu-memory-utilization=*", f"{_VLLM}/args/--enable-prompt-tokens-details",
        f"{_VLLM}/env/VLLM_NO_USAGE_STATS/*", f"{_VLLM}/env/DO_NOT_TRACK/*",
        f"{_VLLM}/env/VLLM_ENGINE_READY_TIMEOUT_S/*", f"{_VLLM}/env/VLLM_HTTP_TIMEOUT_KEEP_ALIVE/*",
        f"{_VLLM}/env/VLLM_CPU_KVCACHE_SPACE/*",
    ),
)  # fmt: skip
def defaults(manifest: Any, _: Any) -> None:
    drop_arguments(container(manifest), "--gpu-memory-utilization", "--enable-prompt-tokens-details")
    names = ("VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "VLLM_ENGINE_READY_TIMEOUT_S", "VLLM_HTTP_TIMEOUT_KEEP_ALIVE")
    drop(container(manifest)["env"], *names, "VLLM_CPU_KVCACHE_SPACE")


@deviation(
    "3.8 cache transfer", *SERVING,
    about=(f"{_VLLM}/args/--block-size=*", f"{_VLLM}/args/--kv-transfer-config=*"),
    only=("full", "alt"),
)  # fmt: skip
def cache_transfer(manifest: Any, _: Any) -> None:
    drop_arguments(container(manifest), "--block-size", "--kv-transfer-config")


@deviation(
    "3.8 side channel", *SERVING,
    about=(f"{_VLLM}/env/POD_IP/*", f"{_VLLM}/env/VLLM_NIXL_SIDE_CHANNEL_HOST/*", f"{_VLLM}/ports/nixl-side/*"),
    only=("full", "alt"),
)  # fmt: skip
def side_channel(manifest: Any, _: Any) -> None:
    vllm = container(manifest)
    drop(vllm["env"], "POD_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST")
    for variable in vllm["env"]:
        if variable["name"] == "VLLM_NIXL_SIDE_CHANNEL_PORT":
            port = int(variable["value"])
            vllm["ports"].append({"name": "nixl-side", "containerPort": port, "protocol": "TCP"})


@deviation(
    "3.8 tracing", *SERVING, about=(f"{_VLLM}/args/--otlp-traces-endpoint=*", f"{_VLLM}/env/OTEL_*"), only=("full",)
)
def tracing(manifest: Any, _: Any) -> None:
    drop_arguments(container(manifest), "--otlp-traces-endpoint")
    container(manifest)["env"] = [each for each in container(manifest)["env"] if not each["name"].startswith("OTEL_")]


@deviation("3.9, A6 devices", DECODE, about=f"{_VLLM}/args/--data-parallel-size*", only=("full",))
def devices(manifest: Any, _: Any) -> None:
    """Start three copies in all, and four of them in each pod."""
    arguments = container(manifest)["args"]
    where = arguments.index("--data-parallel-size=4")
    arguments[where : where + 1] = ["--data-parallel-size=3", "--data-parallel-size-local=4"]


@deviation("3.8 environment", *SERVING, about=(f"{_VLLM}/env/TP_SIZE/*", f"{_VLLM}/env/DP_SIZE*"))
def sizes(manifest: Any, _: Any) -> None:
    vllm = container(manifest)
    arguments = dict(word.split("=", 1) for word in vllm["args"] if "=" in word)
    flags = {"TP_SIZE": "tensor-parallel-size", "DP_SIZE": "data-parallel-size"}
    flags["DP_SIZE_LOCAL"] = "data-parallel-size-local"
    vllm["env"][:0] = [{"name": name, "value": arguments.get(f"--{flag}", "1")} for name, flag in flags.items()]


@deviation(
    "3.8 arguments", *SERVING,
    about=(f"{_VLLM}/args/*", f"{_PROXY}/args/*"),
)  # fmt: skip
def two_tokens(manifest: Any, _: Any) -> None:
    """Write generated flags as two tokens; switches, and what the user wrote, stay one."""
    one_token = ("--max-model-len", "--secure-proxy", "--prefiller-use-tls")
    for each in [container(manifest), *before(manifest, "routing-proxy")]:
        words = [[word] if word.startswith(one_token) else word.split("=", 1) for word in each["args"]]
        each["args"] = [token for tokens in words for token in tokens]


@deviation("3.8 resources", *SERVING, about=(f"{_VLLM}/resources/*/cpu", f"{_VLLM}/resources/*/memory"))
def resources(manifest: Any, theirs: Any) -> None:
    """Leave what was said, and the devices."""
    (service,) = theirs.tree["services"].values()
    requested = service.get("resources", {})
    given = container(manifest)["resources"]
    for group, amounts in given.items():
        given[group] = {name: text for name, text in amounts.items() if "/" in name or name in requested.get(group, {})}


@deviation("3.10 nodes", *SERVING, about="*/tolerations/*", only=("min", "full"))
def nodes(manifest: Any, _: Any) -> None:
    """Take away the toleration of the class's taint, behind the user's own."""
    del pod(manifest)["tolerations"][-1]


@deviation("3.2 ports", DECODE, about=(f"{_VLLM}/ports/*", f"{_PROXY}/ports/*"), only=("full", "alt"))
def ports(manifest: Any, _: Any) -> None:
    named(container(manifest)["ports"], "engine")["name"] = "http"
    (sidecar,) = before(manifest, "routing-proxy")
    named(sidecar["ports"], "http")["name"] = "proxy"


DEVIATIONS = [
    probes, rollout, user, scratch, drain, fetching, update_check, transport, volumes, shell, any_host,
    proxy_traced_unasked,
    certificate,
    bare_sidecar, sidecar_order, connector, encoder, defaults, cache_transfer, side_channel, tracing, devices, sizes,
    two_tokens, resources, nodes, ports,
]  # fmt: skip
