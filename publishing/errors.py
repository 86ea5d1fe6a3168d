"""The error of a version that must not be published."""


class PublishingError(Exception):
    """A reason against publishing. The text says which place is wrong, and what would be right."""
