"""Reasons for predictions: which memories, neighbours and paths moved one, and by how much."""
