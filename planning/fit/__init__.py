"""Fit: whether a model fits the memory of its devices, and what would fit."""
