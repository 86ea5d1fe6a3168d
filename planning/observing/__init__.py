"""Observation of services: names of metrics, queries, recorded series and alerts."""
