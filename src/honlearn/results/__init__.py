"""What a run leaves behind: records, scores and their summary, read by experiments and by the report alike.

In: a run folder. Out: plain records, and summaries by model. Nothing here fits a model or loads torch.
"""
