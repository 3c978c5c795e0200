"""Pages in Markdown, written from the records of runs: ``results.md``, ``paper.md`` and ``ablations.md``.

In: run folders. Out: Markdown. What is written is computed here from results and the tables of experiments;
how it is worded is in ``templates/``.
"""
