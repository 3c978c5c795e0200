"""Everything that honlearn writes to a disk goes through here: whole files, whole folders, whole lines.

:mod:`~honlearn.writing.atomic` puts a finished file or folder in the place of what was there,
:mod:`~honlearn.writing.lines` adds one line to a file, and :mod:`~honlearn.writing.locks` keeps other
processes out of a folder. It stands left of all data: it knows bytes and paths only.
"""
