"""What we decide: names, labels, devices, arguments, order and the checks that need all of it.

Pure functions from specs and facts to frozen records. The only files read are this package's own tables.
"""
