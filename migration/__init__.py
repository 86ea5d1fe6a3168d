"""Compatibility with the systems that this project replaces."""
