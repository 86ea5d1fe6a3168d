"""The embedded default: tools, a control plane on loopback with simulated GPU nodes, and the engine that deploys to it.

The package uses only the standard library, because it runs before the virtual environment exists.
"""
