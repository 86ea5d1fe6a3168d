"""Facts of other projects, read from their published files and written as tables of `planning`.

Only `make facts` runs this package. Programs and tests read the tables.
"""
