"""Measure methods on the papers' sets. True labels are read here, and reach the scores only."""
