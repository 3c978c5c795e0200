"""Graph neural networks that an ensemble is made of."""
