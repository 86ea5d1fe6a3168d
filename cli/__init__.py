"""The same plan without the engine: `python -m cli`."""
