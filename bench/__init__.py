"""What the numbers in the documentation come from. Run script/bench."""
