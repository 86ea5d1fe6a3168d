"""Command line that renders a stack, prints cluster facts and prints the JSON schema, without Pulumi's engine."""
