"""The exception for what the user can put right."""


class UserError(Exception):
    """One sentence that names the thing at fault and the way out.

    The command line prints it as `thalweg: <message>` and exits with status 2.
    """
