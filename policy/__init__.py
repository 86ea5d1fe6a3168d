"""Policy pack: rules of a platform team for inference stacks and for raw Kubernetes objects of other programs.

The rules are pure functions in `policy.rules`. The engine, `pulumi policy analyze` and `python -m cli policy` run them.
"""
