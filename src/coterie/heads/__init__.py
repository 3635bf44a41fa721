"""Modules on top of the encoder network: projection, classifier, attention, queue, momentum copy, topic model."""
