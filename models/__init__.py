"""The configuration as users write it: strict, frozen specs with their defaults, and the loader that reads them.

This package holds every default of the project. It decides nothing and renders nothing.
"""
