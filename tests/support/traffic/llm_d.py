"""A picker of llm-d, which is used if it is on PATH. No other picker takes its place."""

from functools import cache

from local.gateway.llm_d import NAME, RELEASES, find

FEATURES = ("objectives", "rewrites", "flow control", "precise prefix cache")
found = cache(find)


def report() -> str:
    """Return a line about the picker, or about what does not run without it."""
    picker = found()
    if picker is not None:
        release, tool = picker
        return f"{release}: {tool.version} sha256:{tool.sha256} {tool.path} ({tool.origin})"
    missing = f"no {NAME} of {' or '.join(RELEASES)} is on PATH"
    return f"not run with a picker of llm-d: {', '.join(FEATURES)} ({missing})"
