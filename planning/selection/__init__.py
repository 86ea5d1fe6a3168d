"""Selection of serving profiles: which of a model's profiles a service gets, and why.

Questions are found in the merged tree of a stack, before it is validated: a profile may give what the tree lacks.
"""
