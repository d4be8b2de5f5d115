"""The sources that decide what is measured. A page older than their last change says so."""

lab = ("src/lab", "python/thalweg/lab", "bench/collective.cpp", "bench/operation.cpp")
"""What is run on the lab without Thalweg."""
planned = ("src/network", "src/optimization", "src/algorithms", "src/simulator", "src/planner")
"""Plans, and what simulates them."""
probed = ("src/lab", "python/thalweg/lab", "src/network", "src/probe", "python/thalweg/probe.py")
run_on_lab = (*lab, *planned, "src/probe", "src/runtime")
"""Thalweg from the probe to the run."""
