"""A comparison as one HTML page: a flow picture, and a table of what moved. It needs no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape

import coterie
from coterie.report.colors import PALETTE
from coterie.report.comparison import Comparison, Flow
from coterie.wording import count

_WIDTH, _BAR, _LABEL = 1080, 12, 300  # pixels: the picture, a bar, the space for names at each side
_GAP, _MIN_HEIGHT, _HEIGHT = 5, 2, 620  # between bars; of a bar; of all bars together
_N_MOVED = 40  # rows of the table
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f27; --soft: #6b7380; --line: #e4e6ea; --paper: #fafaf9; --card: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eceef2; --soft: #9aa3b1; --line: #2c323c; --paper: #14171c; --card: #1b1f26; }
}
body { margin: 0 auto; max-width: 1128px; padding: 28px 24px 60px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 21px; letter-spacing: -0.015em; margin: 0 0 6px; }
h2 { font-size: 17px; margin: 34px 0 10px; }
p { margin: 0 0 18px; color: var(--soft); max-width: 80ch; }
figure { margin: 0; padding: 16px 10px; overflow-x: auto; }
figure, table { background: var(--card); border: 1px solid var(--line); border-radius: 14px; }
svg { display: block; min-width: 760px; width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12.5px; } svg .n { fill: var(--soft); }
svg path { fill-opacity: 0.28; } svg path:hover { fill-opacity: 0.6; }
svg .pair { fill-opacity: 0.5; }
table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 8px 14px; overflow-wrap: anywhere; }
td { border-top: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; } small { display: block; color: var(--soft); }
"""


def render_comparison(comparison: Comparison) -> str:
    """Return the page."""
    first, second = escape(comparison.first.title), escape(comparison.second.title)
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="coterie {escape(coterie.__version__)}">
<link rel="icon" href="data:,">
<title>{first} and {second}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{first} and {second}</h1>
<p>{escape(summary(comparison))}</p>
<figure>{_picture(comparison)}</figure>
<h2>What moved</h2>
{_table(comparison)}
</body>
</html>
"""


def summary(comparison: Comparison) -> str:
    """Return how much moved and how well the two agree."""
    scores = comparison.scores
    stayed = 1 - comparison.share_moved
    return (
        f"{stayed:.0%} of {count(comparison.n, 'items')} are in corresponding clusters, {comparison.share_moved:.0%} "
        f"moved. Agreement: ARI {scores['ari']:.3f}, NMI {scores['nmi']:.3f} (1 is equal, an ARI of 0 is chance)."
    )


def _table(comparison: Comparison) -> str:
    if not comparison.moved:
        return "<p>Nothing: the two are equal up to the numbers of their clusters.</p>"
    rows = []
    for flow in comparison.moved[:_N_MOVED]:
        examples = "".join(f'<small dir="auto">{escape(text[:160])}</small>' for text in flow.examples)
        rows.append(
            f"<tr><td class=number>{flow.size:,}</td><td>{escape(comparison.first.name(flow.source))}{examples}</td>"
            f"<td>{escape(comparison.second.name(flow.target))}</td></tr>"
        )
    head = "<tr><th class=number>items</th><th>from</th><th>to</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _picture(comparison: Comparison) -> str:
    """Return the flow picture: clusters of the first at the left, of the second at the right, ribbons between them."""
    sources, targets = comparison.sizes()
    scale = _HEIGHT / comparison.n
    left = _places(sources, scale)
    right = _places(_beside(comparison, left, targets), scale)
    color = {cluster: PALETTE[i % len(PALETTE)] for i, cluster in enumerate(sources)}
    height = max(_end(left), _end(right)) + 10
    ribbons = _ribbons(comparison, left, right, scale, color)
    x = _WIDTH - _LABEL - _BAR
    bars = [_bar(_LABEL, left[k], color[k], comparison.first.name(k), n, "end") for k, n in sources.items()]
    bars += [_bar(x, right[k], "#8b94a3", comparison.second.name(k), n, "start") for k, n in targets.items()]
    label = escape(f"Flow of items from the clusters of {comparison.first.title} to those of {comparison.second.title}")
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{label}">{"".join([*ribbons, *bars])}</svg>'
    )


def _places(sizes: Mapping[int, int], scale: float) -> dict[int, tuple[float, float]]:
    """Return top and height of the bar of each cluster, one below the other."""
    places, top = {}, 8.0
    for cluster, size in sizes.items():
        height = max(size * scale, _MIN_HEIGHT)
        places[cluster] = (top, height)
        top += max(height, 13) + _GAP
    return places


def _end(places: Mapping[int, tuple[float, float]]) -> float:
    return max((top + max(height, 13) for top, height in places.values()), default=0.0)


def _beside(
    comparison: Comparison, left: Mapping[int, tuple[float, float]], targets: Mapping[int, int]
) -> dict[int, int]:
    """Return the clusters of the second in the order of where their items come from."""
    height = dict.fromkeys(targets, 0.0)
    for flow in comparison.flows:
        height[flow.target] += flow.size * (left[flow.source][0] + left[flow.source][1] / 2)
    return dict(sorted(targets.items(), key=lambda item: height[item[0]] / item[1]))


def _ribbons(
    comparison: Comparison,
    left: Mapping[int, tuple[float, float]],
    right: Mapping[int, tuple[float, float]],
    scale: float,
    color: Mapping[int, str],
) -> list[str]:
    start = {cluster: top for cluster, (top, _) in left.items()}
    end = {cluster: top for cluster, (top, _) in right.items()}
    paths = []
    for flow in sorted(comparison.flows, key=lambda flow: (left[flow.source], right[flow.target])):
        width = flow.size * scale
        paths.append(_ribbon(comparison, flow, start[flow.source], end[flow.target], width, color[flow.source]))
        start[flow.source] += width
        end[flow.target] += width
    return paths


def _ribbon(comparison: Comparison, flow: Flow, y0: float, y1: float, width: float, color: str) -> str:
    x0, x1 = _LABEL + _BAR, _WIDTH - _LABEL - _BAR
    middle = (x0 + x1) / 2
    kind = ' class="pair"' if comparison.pairs.get(flow.source) == flow.target else ""
    names = f"{comparison.first.name(flow.source)} → {comparison.second.name(flow.target)}"
    return (
        f'<path{kind} fill="{color}" d="M{x0} {y0:.1f}C{middle} {y0:.1f} {middle} {y1:.1f} {x1} {y1:.1f}'
        f'v{width:.1f}C{middle} {y1 + width:.1f} {middle} {y0 + width:.1f} {x0} {y0 + width:.1f}Z">'
        f"<title>{escape(names)}: {count(flow.size, 'items')}</title></path>"
    )


def _bar(x: float, place: tuple[float, float], color: str, name: str, size: int, anchor: str) -> str:
    top, height = place
    at = x - 8 if anchor == "end" else x + _BAR + 8
    y = top + max(height, 10) / 2 + 4
    short = name if len(name) <= 36 else f"{name[:35]}…"
    number = f'<tspan class="n">{size:,}</tspan>'
    words = f"{escape(short)} {number}" if anchor == "end" else f"{number} {escape(short)}"
    return (
        f'<rect x="{x}" y="{top:.1f}" width="{_BAR}" height="{height:.1f}" rx="2" fill="{color}"/>'
        f'<text x="{at}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
    )
