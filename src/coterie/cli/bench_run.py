"""Run jobs for `coterie bench run`, with a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from coterie.cli.output import say

if TYPE_CHECKING:
    from coterie.experiments.jobs import Job
    from coterie.experiments.runner import Outcome
    from coterie.progress_display import Mode


@dataclass(frozen=True)
class Plan:
    """The jobs that were asked for, and those of them that have no result yet."""

    jobs: Sequence[Job]
    left: Sequence[Job]
    target: Path

    def distinct(self) -> Plan:
        """Return the plan with each job once: experiments share some."""
        jobs, left = ({repr(job): job for job in group} for group in (self.jobs, self.left))
        return Plan(list(jobs.values()), list(left.values()), self.target)

    def within(self, time_budget: str) -> Plan:
        """Return the plan with only those of its jobs left that fit into a time; empty: all."""
        from coterie.experiments.collection import read_folder
        from coterie.experiments.estimate import parse_duration, within

        if not time_budget:
            return self
        fitting = within(self.left, read_folder(self.target.parent).all, parse_duration(time_budget))
        return Plan(self.jobs, fitting, self.target)

    def run(self, *, progress: Mode, quiet: bool) -> None:
        """Run what is left, append the results to the target, and say how it went."""
        from coterie.experiments.embedding_cache import default_folder
        from coterie.experiments.runner import missing, run_jobs
        from coterie.wording import count

        n_done = n_failed = 0
        try:
            for outcome in run_jobs(self.left, self.target, default_folder(), progress="off" if quiet else progress):
                n_done += 1
                n_failed += bool(outcome.failure)
                counter = f"{n_done:>{len(str(len(self.left)))}}/{len(self.left)}"
                say(f"{counter}  {_describe(outcome)}", quiet=quiet and not outcome.failure)
        except KeyboardInterrupt:
            rest = count(len(missing(self.left, self.target)), "missing jobs")
            raise KeyboardInterrupt(f"Stopped. The same command runs the {rest} of {self.target}.") from None
        if n_failed:
            say(f"{count(n_failed, 'jobs')} failed. The same command tries again.")
            raise typer.Exit(1)

    def announce(self, asked: Plan, *, quiet: bool) -> None:
        """Say how many jobs there are, and what a time budget leaves out of those that were ``asked`` for."""
        from coterie.experiments.jobs import PLAIN_EDA
        from coterie.wording import count

        there = len(self.jobs) - len(asked.left)
        say(f"{count(len(self.jobs), 'jobs')}, already in {self.target}: {there}", quiet=quiet)
        if len(self.left) < len(asked.left):
            skipped = len(asked.left) - len(self.left)
            say(f"The time budget leaves {count(len(self.left), 'jobs')}, without {skipped} others.", quiet=quiet)
        if any(job.params.get("augmenter") == PLAIN_EDA for job in self.left):
            say("WordNet is not installed, so EDA only swaps and deletes words. See docs/augmenters.md.", quiet=quiet)


def _describe(outcome: Outcome) -> str:
    if outcome.elsewhere:
        return f"{outcome.job}  {outcome.elsewhere}"
    if outcome.result is None:
        return f"{outcome.job}  failed: {outcome.failure}"
    scores = outcome.result["label_based"]
    return f"{outcome.job}  ACC {scores['acc']:.3f}  NMI {scores['nmi']:.3f}  {outcome.result['seconds']:.1f} s"
