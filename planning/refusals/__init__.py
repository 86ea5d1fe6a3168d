"""Rules of Kubernetes for values in its own syntax: resources, affinity, spread, autoscalers, sizes.

The JSON schemas of Kubernetes know types, but neither operators nor ranges nor what belongs together. Every function
here takes a path and a value of any shape, and yields a problem for each rule that the value breaks. Values of a wrong
type are left to the schemas. `rules.yaml` has the rules, with their sources.
"""
