"""The endpoint picker: what is decided about it, the configuration it reads, and the mistakes in both."""
