"""Run methods on labeled data sets and score them. True labels are used for the scores only."""
