"""The configuration as users write it: strict, frozen specs with their defaults, and the loader that reads them.

This package decides and renders nothing. It holds every default of the project.
"""
