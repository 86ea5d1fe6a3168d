"""The status of a service in the words of the systems that this program replaces."""
