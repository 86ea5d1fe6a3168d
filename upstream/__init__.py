"""Facts of other projects, read from their published files and written as tables of `planning`.

Only `make facts` and `python -m upstream.trtllm` run this package. Programs and tests read the tables.
"""
