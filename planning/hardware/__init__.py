"""Accelerator classes, devices and placement."""
