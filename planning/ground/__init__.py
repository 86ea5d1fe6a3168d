"""Names, labels, parts, order, times and cluster facts: the modules that every room of planning may import."""
