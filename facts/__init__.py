"""Readers of cluster facts (from a live cluster or a file) and of the sizes of weights.

Only the composition and the command line call them. A failed read is `Unknown` with its reason, never an empty result.
"""
