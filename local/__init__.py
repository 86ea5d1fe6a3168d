"""Program behind `make up`: it starts a control plane with simulated GPU nodes on loopback, and deploys a stack to it.

The package uses only the standard library, because it runs before the virtual environment exists.
"""
