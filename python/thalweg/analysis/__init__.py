"""Says why collectives took the time that they took, from what a run's ranks recorded.

Everything here is a pure function from tables to tables (polars): nothing reads or writes a file or
prints. `tables.build` makes the tables; all times in them are nanoseconds of rank 0's clock.
"""
