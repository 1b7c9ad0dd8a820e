"""Differentially private federated learning with secure aggregation and guarantees that hold."""
