"""The table of an experiment: our scores beside the published ones, and which differences are noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coterie import datasets
from coterie.datasets import DATASETS
from coterie.errors import InputError
from coterie.experiments.collection import Collection, Row, is_old, precision_of
from coterie.experiments.comparison import difference
from coterie.experiments.jobs import Result
from coterie.experiments.recipe import Published, published, read_recipe
from coterie.experiments.registry import split_run
from coterie.experiments.table import NO_VALUE, all_scores, show_found, show_published, show_scores
from coterie.experiments.table_formats import Format, render
from coterie.wording import count

OLD = "†"
OTHER_PRECISION = "‡"
UNTRAINED = "°"
_OLD_NOTE = f"{OLD} measured with an earlier version, whose trained methods started from other initial labels."
_PRECISION_NOTE = f"{OTHER_PRECISION} the encoder computed in {{precision}}; without this mark, in float32."
_UNTRAINED_NOTE = f"{UNTRAINED} the guard returned the clusters without training, which are those of `init`."
_NOISE_NOTE = (
    "Δ is the mean paired difference to {reference} over data sets and seeds, with its 95 % interval (bootstrap); "
    "`noise`: the interval has zero in it."
)
_MATCHED_NOTE = "A column has the mean over those seeds that all its rows have."
_UNMATCHED_NOTE = "± is over seeds; without it, there is one."
_FAR = 5.0  # points between our and a published score that ask for a reason
_OURS = {"neighbors": "best published, of any method"}
Cells = list[list[str]]


def make(found: Collection, table_format: Format = "markdown", *, only_measured: bool = False) -> str:
    """Return the table of an experiment, with notes; ``only_measured``: without runs that we have no results of."""
    if only_measured:
        found = replace(found, cells={row: cells for row, cells in found.cells.items() if cells})
    makers = {
        "scores": _scores, "sweep": _scores, "curve": _curve, "cost": _cost, "published": _differences,
        "topics": _topics, "pairs": _pairs, "statistics": _statistics,
    }  # fmt: skip
    kind = found.experiment.kind
    if kind not in makers:
        raise InputError(f"{found.experiment.name} is a figure: coterie bench figure {found.experiment.name}")
    if kind != "statistics" and not found.results:
        name = found.experiment.name
        raise InputError(f"There are no results of {name} yet. To compute them: coterie bench run {name}")
    shown = found.matched() if kind in ("scores", "sweep") and found.experiment.match_seeds else found
    return render(makers[kind](shown), _notes(shown), table_format)


def _scores(found: Collection) -> Cells:
    """A row for each run and point, a column for each data set, and differences to the reference."""
    metrics, sets = found.experiment.metrics, found.sets
    compared = found.reference is not None and len(found.cells) > 1
    head = [f"{' / '.join(metric.upper() for metric in metrics)}", *sets]
    rows = [[*head, *(f"Δ {metric.upper()}" for metric in metrics[:2])] if compared else head]
    for row, cells in found.cells.items():
        if cells:
            deltas = [_delta(found, row, metric) for metric in metrics[:2]] if compared else []
            rows.append([row, *(_marked(cells.get(name, []), metrics) for name in sets), *deltas])
        scores = [_published(row, name) for name in sets]
        if any(scores):
            shown = [show_published(score, metrics) for score in scores]
            rows.append([_OURS.get(row, f"{row}, published"), *shown, *["" for _ in rows[0][len(sets) + 1 :]]])
    return rows


def _delta(found: Collection, row: Row, metric: str) -> str:
    """The difference of a row to the reference, over the seeds and data sets that both have."""
    if row == found.reference or found.reference is None:
        return NO_VALUE
    ours, theirs = found.cells[row], found.cells[found.reference]
    pairs = {}
    for name in found.sets:
        first, second = ({result["seed"]: result for result in cells.get(name, [])} for cells in (ours, theirs))
        seeds = [seed for seed in first if seed in second]
        pairs[name] = [100 * (all_scores(first[seed])[metric] - all_scores(second[seed])[metric]) for seed in seeds]
    change = difference(pairs)
    return NO_VALUE if change is None else str(change)


def _curve(found: Collection) -> Cells:
    """For each run and data set the scores before training, at the end of training, and how many steps it has."""
    metrics = found.experiment.metrics
    rows = [["run, set", "steps", *(f"{metric}: first, last" for metric in metrics)]]
    for row, cells in found.cells.items():
        for name, results in cells.items():
            curves = [result["curve"] for result in results if len(result.get("curve", [])) > 1]
            if curves:
                scores = [_first_last(curves, metric) for metric in metrics]
                rows.append([f"{row}, {name}{_marks(results)}", str(curves[0][-1]["step"]), *scores])
    return rows


def _first_last(curves: Sequence[Sequence[Result]], metric: str) -> str:
    values = [[point[metric] for point in curve if point.get(metric) is not None] for curve in curves]
    if not all(values):
        return NO_VALUE
    first, last = (np.mean([curve[place] for curve in values]) for place in (0, -1))
    return f"{first:.3f}, {last:.3f}"


def _cost(found: Collection) -> Cells:
    """A row for each run: the median of its processor time, and its largest memory, by data set."""
    rows = [["processor seconds, GB", *found.sets]]
    for row, cells in found.cells.items():
        measured = {name: [result for result in cell if "processor_seconds" in result] for name, cell in cells.items()}
        if any(measured.values()):
            rows.append([row, *(_seconds_and_memory(measured.get(name, [])) for name in found.sets)])
    return rows


def _seconds_and_memory(results: Sequence[Result]) -> str:
    if not results:
        return NO_VALUE
    seconds = np.median([result["processor_seconds"] for result in results])
    return f"{seconds:.0f} s, {max(result['peak_gb'] for result in results):.1f} GB{_marks(results)}"


def _differences(found: Collection) -> Cells:
    """A row for each run with published scores: ours minus theirs, by data set, with a mark if it is large."""
    metrics = found.experiment.metrics[:2]
    rows = [[f"ours - published, {' / '.join(metric.upper() for metric in metrics)}", *found.sets]]
    for row in found.cells:
        differences = [_difference(found, row, name) for name in found.sets]
        if any(differences):
            marks = [_marks(found.cells[row].get(name, [])) for name in found.sets]
            shown = zip(differences, marks, strict=True)
            rows.append([row, *(_show_difference(pair) + mark if pair else NO_VALUE for pair, mark in shown)])
    return rows


def _difference(found: Collection, row: Row, name: str) -> list[float] | None:
    """ACC and NMI of ours minus the published ones, in points; None if one of them is missing."""
    theirs, results = _published(row, name), found.cells[row].get(name)
    if theirs is None or not results:
        return None
    ours = [100 * float(np.mean([all_scores(r)[metric] for r in results])) for metric in found.experiment.metrics[:2]]
    return [ours[0] - theirs.acc, ours[1] - theirs.nmi]


def _show_difference(pair: Sequence[float]) -> str:
    text = " / ".join(f"{value:+.1f}" for value in pair)
    return f"**{text}**" if max(map(abs, pair)) > _FAR else text


def _reasons(found: Collection) -> list[str]:
    """A sentence for each run that has a large difference."""
    notes = [f"Bold: ACC or NMI differs by more than {_FAR:.0f} points. Why:", ""]
    for row in found.cells:
        far = [name for name in found.sets if max(map(abs, _difference(found, row, name) or [0])) > _FAR]
        reasons = dict.fromkeys(score.why for name in far if (score := _published(row, name)))
        notes += [f"- {row} ({', '.join(far)}): {' '.join(reasons).strip() or 'not known.'}"] if far else []
    return [*notes, ""]


def _topics(found: Collection) -> Cells:
    rows = [["class", "topics"]]
    for cluster in found.results[0]["topics"]:
        rows.append([cluster["class"] or NO_VALUE, "; ".join(" ".join(words) for words in cluster["topics"])])
    return rows


def _pairs(found: Collection) -> Cells:
    result = found.results[0]
    texts = datasets.load(result["set"]).items
    rows = [["type", "before", "after", "first", "second"]]
    for name, of_type in result["pairs"].items():
        rows += [[name, f"{old:.2f}", f"{new:.2f}", texts[i], texts[j]] for i, j, old, new in of_type]
    return rows


def _statistics(found: Collection) -> Cells:
    """SCCL's Table 2. Data sets that are not on this machine are left out."""
    rows = [["set", "words", "N", "mean words", "K", "largest / smallest"]]
    for name in found.experiment.known_sets:
        if not DATASETS[name].is_local:
            continue
        data = datasets.load(name)
        tokens = [text.lower().split() for text in data.texts]
        sizes = np.bincount(data.true_labels)
        words = len({word for text in tokens for word in text})
        mean = np.mean([len(text) for text in tokens])
        ratio = sizes.max() / sizes.min()
        rows.append([name, f"{words:,}", f"{len(data.texts):,}", f"{mean:.1f}", str(len(sizes)), f"{ratio:.0f}"])
    return rows


def _marked(results: Sequence[Result], metrics: Sequence[str]) -> str:
    return show_scores(results, metrics) + show_found(results) + _marks(results)


def _marks(results: Sequence[Result]) -> str:
    marks = {OLD: is_old, OTHER_PRECISION: precision_of, UNTRAINED: _is_untrained}
    return "".join(mark for mark, has_it in marks.items() if any(map(has_it, results)))


def _is_untrained(result: Result) -> bool:
    """Whether the guard found every epoch worse; where nothing is known to judge by, it keeps the last."""
    verdict = result.get("guard", {})
    return verdict.get("kept") == 0 and verdict.get("mode") == "on" and verdict.get("untrained") is not None


def _published(row: Row, name: str) -> Published | None:
    """The published score of a run; that of a variant only if the variant has one of its own."""
    run, _, point = row.partition(" ")
    method, variant = split_run(run)
    if point:
        return None
    if variant and ((recipe := read_recipe(method, variant)) is None or recipe.published is None):
        return None
    return published(method, name, variant)


def _notes(found: Collection) -> list[str]:
    experiment = found.experiment
    seeds = sorted({result["seed"] for result in found.results})
    notes = [f"{experiment.title}. {experiment.note}".strip()]
    if seeds:
        changed = "".join(f", {name}={value}" for name, value in experiment.settings.items())
        which = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
        notes.append(f"Preset {experiment.preset}{changed}; {which}; {count(len(found.results), 'results')}.")
        if experiment.kind in ("scores", "sweep") and len(seeds) > 1:
            notes.append(_MATCHED_NOTE if experiment.match_seeds else _UNMATCHED_NOTE)
    if experiment.kind == "published":
        notes += _reasons(found)
    if experiment.kind in ("scores", "sweep"):
        if found.reference is not None and len(found.cells) > 1:
            notes.append(_NOISE_NOTE.format(reference=found.reference))
        sources = dict.fromkeys(
            filter(None, (_source(row, name) for row in found.cells if row not in _OURS for name in found.sets))
        )
        notes += [f"Published: {'; '.join(sources)}."] if sources else []
    if any(map(is_old, found.results)):
        notes.append(_OLD_NOTE)
    if others := sorted({precision for result in found.results if (precision := precision_of(result))}):
        notes.append(_PRECISION_NOTE.format(precision=" or ".join(others)))
    if any(map(_is_untrained, found.results)):
        notes.append(_UNTRAINED_NOTE)
    return notes


def _source(row: Row, name: str) -> str:
    score = _published(row, name)
    return f"{row}: {score.source}" if score else ""
