"""Action formats: how a reply says what to do. See :mod:`codegym.actions.base`."""
