"""The C++ core. Each of its submodules is the base of the module of the same name in `thalweg`."""
