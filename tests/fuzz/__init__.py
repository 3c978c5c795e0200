"""Fuzzing: valid files of every kind that honlearn reads are damaged and read, in child processes.

In: a target (a reader and valid files for it), a seed and a number. Out: one damaged document, always the
same, and what honlearn did with it: refused with a HonlearnError, loaded and used, or a failure, which is
anything else: another exception or warning, a native crash, a hang, too much memory, an answer that is no
number.

``targets.py`` lists what is read, ``cases.py`` makes one damaged document, ``runner.py`` runs them,
``python -m fuzz`` (``make fuzz``) is the command, ``test_fuzz.py`` the bounded run among the tests.
"""
