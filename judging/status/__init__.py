"""The status of deployed services: whether each one serves, which object is to blame, since when, and what to do.

The chain of a service leads from the client to the pods: gateway, route, pool, endpoint picker, workloads, claims. Each
link is judged by a module of its own, which returns a `ServiceLink`; `verdict` walks the chain.
"""
