"""Rendering of plans to manifests: plain dicts with Kubernetes' own keys, in modules of objects that must agree."""
