"""Rendering of plans to manifests: plain dicts for the API server. Objects that must agree share a module."""
