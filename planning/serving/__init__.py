"""The workloads that serve: engine, routing sidecar, autoscaler and the user's patch."""
