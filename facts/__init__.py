"""Readers of cluster facts (from a live cluster or a file) and of the sizes of weights.

Only the composition and the command line call them. If a read fails, its result is `Unknown` with the reason, and is
never an empty collection, because an empty collection means that nothing exists.
"""
