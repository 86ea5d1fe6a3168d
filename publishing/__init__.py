"""Builds and checks the files of a published version; `make release` runs this.

The package reads the project and the program's version. No part of the program imports it.
"""
