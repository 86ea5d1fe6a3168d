"""Losses: running services that a run would delete or replace as a whole, and objects of another cluster.

Pulumi shows such a run as any other run. Therefore the program refuses it, unless `allow` in the configuration has the
word for its cause.
"""
