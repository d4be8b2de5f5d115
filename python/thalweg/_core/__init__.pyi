"""The C++ core. Each of its submodules is the base of the module of the same name in `thalweg`."""

class ArgumentError(TypeError):
    """An argument has another type than the function, constructor or property takes."""
