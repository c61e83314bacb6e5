"""Programs that run inside the sandbox, under the Python of the graded repository (3.6 or later).

They are sent as source and import nothing of this project. ``supervisor.py`` starts the others, as one text, in
a child and passes on what the driver records.
"""
