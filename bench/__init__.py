"""The measurements behind the numbers in the documentation. Run script/bench."""
