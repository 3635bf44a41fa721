"""Assign more texts than fit into memory: in parts, on one machine or with Ray."""
