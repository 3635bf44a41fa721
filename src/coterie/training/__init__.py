"""The training loop, checkpoints, the guard, batches and logs."""
