"""The lab: an emulated network of hosts on one machine.

`lifecycle` brings it up and down, `launch` runs commands in it, `check` verifies it with ping and
iperf3, `counters` and `validity` say whether a measurement made in it is valid.
"""
