"""Facts of other projects, read from what they publish and written as tables of `planning`.

Only `make facts` runs this package. Programs and tests read the tables.
"""
