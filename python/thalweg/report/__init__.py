"""Pages about networks, runs and comparisons: one HTML file that needs nothing else.

Functions from tables to the parts of a page (`elements`), one template (`page`), and what it needs
in the browser (`assets/`).
"""
