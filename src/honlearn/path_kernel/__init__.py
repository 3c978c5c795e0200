"""Path vectors, kernel ridge regression on them, and its calibration."""
