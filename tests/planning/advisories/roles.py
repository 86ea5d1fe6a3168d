"""Roles with an engine of a version, for tests of advisories."""

from models.load import load
from planning.resolve import resolve
from tests.support.stacks import tree


def role(service, version="0.21.0"):
    """Return the decode role of a service with an engine of a version."""
    engine = {"image": f"registry.example/vllm-openai:v{version}", **service.get("engine", {})}
    resolved = resolve(load(tree(qwen={**service, "engine": engine})).stack)
    return next(iter(resolved.contexts.roles.values()))
