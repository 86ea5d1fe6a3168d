"""Compatibility with the systems that this one replaces."""
