"""Fit: whether a model fits the memory of its devices, and how long its context and how large its batch may be."""
