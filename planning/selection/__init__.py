"""Selection of serving profiles: which of a model's profiles a service gets, and why.

Questions come from the merged tree of a stack before its validation, because a profile may add keys that are missing.
"""
