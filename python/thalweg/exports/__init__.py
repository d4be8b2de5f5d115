"""Runs in the formats of other programs: a module for each, with `write(run, path)`."""
