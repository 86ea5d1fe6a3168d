"""The embedded default: tools, a control plane on loopback with fake GPU nodes, the engine that deploys onto it.

Only the standard library is used, because this package runs before the virtual environment exists.
"""
