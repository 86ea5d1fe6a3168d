"""A service or its canary with everything that decisions about it read."""
