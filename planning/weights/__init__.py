"""Where weights lie, and how they come there."""
