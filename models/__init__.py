"""What a user may say: the words of the configuration, strict and frozen, with their defaults.

Nothing here decides or renders; every default of the project stands in this package.
"""
