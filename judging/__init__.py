"""Judging: pure functions that compare plans and rendered objects with schemas, clusters and earlier runs."""
