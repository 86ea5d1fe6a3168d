"""What Kubernetes must see: plans rendered to plain camelCase dicts, grouped by what has to agree."""
