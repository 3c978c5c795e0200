"""The report: from the records of a run to one HTML file that opens offline.

In: a run folder. Out: a page with scores, checks, a network explorer and predictions. It reads results and
networks only, fits nothing and never loads torch. Imports nothing by itself.
"""
