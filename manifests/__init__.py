"""Rendering of plans to manifests: plain dicts as Kubernetes takes them. Objects that must agree share a module."""
