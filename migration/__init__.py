"""Readers of other systems' files, and the names of their objects."""
