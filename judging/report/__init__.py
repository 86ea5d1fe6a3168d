"""The report on a change: the devices that it needs, what happens to requests meanwhile, and what it costs."""
