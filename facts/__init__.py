"""What is there already: readers of a live cluster, or of a file, into one frozen record.

Called by the composition root and the command line only. A failed read is `Unknown` with its reason, never "empty".
"""
