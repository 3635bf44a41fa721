"""Pages that are generated from the code and the recipes, so that they are never out of date."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import coterie
from coterie import datasets
from coterie.experiments.recipe import published, read_recipe, recipe_names
from coterie.hyper import Setting, settings, summary
from website.commands import command_page
from website.python_reference import markdown, python_page

_SHARED = "The settings of every method that trains are on the page of [settings that methods share]({link})."


def reference_pages() -> dict[str, str]:
    """Return the generated pages by their place on the site."""
    return {
        "reference/python.md": python_page(),
        "reference/commands.md": command_page(),
        "reference/settings.md": _settings_page(),
        "reference/encoders.md": _registry_page("Encoders: settings", "encoder", coterie.ENCODERS),
        "reference/augmenters.md": _registry_page("Augmenters: settings", "augmenter", coterie.AUGMENTERS),
        "reference/datasets.md": _datasets_page(),
    }


def method_pages(written: Collection[str]) -> dict[str, str]:
    """Return a page for every method that has none in ``written``: its docstring."""
    pages = {}
    for name in sorted(coterie.METHODS):
        if (page := f"methods/{name}.md") not in written:
            cls = coterie.METHODS[name]
            text = inspect.getdoc(sys.modules[cls.__module__]) or summary(cls)
            title, _, rest = text.partition("\n")
            pages[page] = f"# {cls.__name__}\n\n`--method {name}`. {title}\n{markdown(rest)}\n"
    return pages


def method_appendix(name: str) -> str:
    """Return the settings and recipes of a method, for the end of its page; nothing for a page of another kind."""
    if name not in coterie.METHODS:
        return ""
    cls = coterie.METHODS[name]
    shared = {setting.name: setting for setting in settings(_base(cls))}
    own = [setting for setting in settings(cls) if setting.name not in shared]
    changed = [s for s in settings(cls) if s.name in shared and shared[s.name].default != s.default]
    parts = [f"\n\n## Settings of `{name}`, from the code\n"]
    parts += [_settings_table(own)] if own else ["It has no settings of its own.\n"]
    if changed:
        parts += ["Shared settings whose defaults differ:\n", _settings_table(changed)]
    parts += [_SHARED.format(link="../reference/settings.md") + "\n", _recipes(name)]
    return "\n".join(parts)


def _base(cls: type) -> type:
    """Return the class that defines the settings which a method shares with others."""
    is_deep = issubclass(cls, coterie.DeepClusterer)
    return coterie.DeepClusterer if is_deep else coterie.Clusterer


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _settings_table(declared: Iterable[Setting]) -> str:
    return table(
        ["setting", "default", "meaning", "must be", "symbol"],
        [
            [f"`{s.name}`", f"`{s.default!r}`", s.help + (f" (Eq. {s.eq})" if s.eq else ""), s.rule, s.symbol]
            for s in declared
        ],
    )


def _settings_page() -> str:
    shared = settings(coterie.Clusterer)
    names = {setting.name for setting in shared}
    deep = [setting for setting in settings(coterie.DeepClusterer) if setting.name not in names]
    return "\n".join(
        [
            "# Settings that methods share\n",
            "In Python they are arguments: `coterie.SCCL(n_clusters=16, epochs=3)`. On the command line some are",
            "options (`-k`, `--encoder`, `--seed`); the others are set with `--set epochs=3`. `coterie methods NAME`",
            "prints them.\n",
            "## Every method\n",
            _settings_table(shared),
            "## Every method that trains\n",
            _settings_table(deep),
        ]
    )


def _recipes(name: str) -> str:
    """Return what the recipes of a method say: protocol, departures, variants, published scores."""
    names = recipe_names(name)
    if not names:
        return ""
    parts = ["## Recipes\n", "From the files in `src/coterie/experiments/recipes`.\n"]
    for base, title in (
        ("default", "Settings of the paper (`--preset paper`)"),
        ("cpu", "For two cores (`--preset cpu`)"),
    ):
        recipe = read_recipe(name, base)
        if recipe is None:
            continue
        parts.append(f"**{title}**\n")
        parts += [f"- {line}" for line in (*recipe.protocol, *recipe.departures)]
        parts += [f"- The paper does not say: {line}" for line in recipe.unspecified]
        if recipe.settings:
            values = ", ".join(f"`{key}={value}`" for key, value in recipe.settings.items())
            parts.append(f"- Settings: {values}")
        parts.append("")
    scores = [(data, found) for data in sorted(datasets.DATASETS) if (found := published(name, data))]
    if scores:
        parts.append("**Published scores** (percent)\n")
        parts.append(table(["data set", "ACC", "NMI", "source"], [[d, s.acc, s.nmi, s.source] for d, s in scores]))
    variants = [other for other in names if other not in {"default", "cpu", "images", "cpu-images", *datasets.DATASETS}]
    if variants:
        parts.append("**Variants** (`--variant`): " + ", ".join(f"`{variant}`" for variant in sorted(variants)) + "\n")
    return "\n".join(parts)


def _registry_page(title: str, kind: str, registry: Any) -> str:
    """Return the page of all encoders or augmenters."""
    parts = [f"# {title}\n", f"Name an {kind} and its settings like this: `name(setting=value)`.\n"]
    for name in sorted(registry):
        declared = settings(registry[name])
        parts += [f"## `{name}`\n", markdown(summary(registry[name])) + "\n"]
        parts += [_settings_table(declared)] if declared else []
    return "\n".join(parts)


def _datasets_page() -> str:
    rows = [
        [f"`{entry.name}`", f"{entry.n_items:,}", entry.input_type, entry.n_clusters, entry.title, entry.terms]
        for entry in datasets.DATASETS.values()
    ]
    return "\n".join(
        [
            "# Data sets\n",
            "Labeled data sets for experiments. `coterie datasets NAME` shows some rows, and with `--out FILE`",
            "writes one; `coterie.datasets.load(NAME)` returns it. Labels reach evaluation only.\n",
            table(["name", "items", "kind", "clusters", "what", "terms of use"], rows),
        ]
    )
