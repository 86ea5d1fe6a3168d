"""How requests reach a service: the paths, headers and hosts that are its own, and what happens to a request there."""
