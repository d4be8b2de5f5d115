"""The sources that decide what is measured. A page older than their last change says so."""

lab = ("src/lab", "python/thalweg/lab", "bench/collective.cpp", "bench/operation.cpp")
"""Sources of runs on the lab without Thalweg."""
planned = (
    "src/network", "src/optimization", "src/algorithms", "src/execution", "src/simulator",
    "src/planner",
)  # fmt: skip
"""Sources of plans, and of their simulation."""
probed = ("src/lab", "python/thalweg/lab", "src/network", "src/probe", "python/thalweg/probe.py")
of_cmpi = ("bench/cmpi.py", "bench/cmpi_collectives.py", "bench/networks.py")
"""Sources of what is simulated of CMPI and its rival."""
of_smpi = (
    "bench/families.py", "bench/levels.c", "bench/smpi_model.py", "bench/smpi_programs.py",
    "bench/smpi_run.py",
)  # fmt: skip
"""Sources of what SMPI simulates, but for the runtime, which isn't in all of it."""
run_on_lab = (*lab, *planned, "src/probe", "src/runtime")
"""Sources of Thalweg from the probe to the run."""
started = tuple(
    f"python/thalweg/{name}.py"
    for name in (
        "cli", "commands/run", "preparation", "knowledge", "verification", "planning", "probe",
        "wisdom",
    )
)  # fmt: skip
"""Sources of the command that measures, plans and launches."""
