"""vLLM for CPUs: the engine that the rendered containers run, on a machine without a GPU.

It serves small models of random numbers. Nothing of the program needs it: it judges what the program renders.
"""
