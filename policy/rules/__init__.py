"""Rules on Kubernetes objects and on the outputs of inference stacks; pure functions without Pulumi."""
