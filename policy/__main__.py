"""Start of the policy pack by Pulumi's engine."""

from policy import analyzer, parent

parent.follow()
analyzer.serve()
