"""Selection of serving profiles: which of a model's profiles a service gets, and why.

The questions for profiles are read from the merged tree of a stack before the tree is validated, because a profile may
add required keys that the tree lacks.
"""
