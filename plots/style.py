"""How Weft's figures look: one place for sizes, colours, axes and files. Colours are Okabe and Ito's (2008), which people with any
colour vision tell apart; markers and dashes repeat the difference in print."""
import argparse
import json
import pathlib
import sys
from unittest import mock

try:
    import matplotlib
except ImportError:
    if not {"-h", "--help"} & set(sys.argv):
        sys.exit("plots take matplotlib, which is not here: apt-get install python3-matplotlib, or pip install matplotlib")
    # --help draws nothing
    sys.modules |= {name: mock.MagicMock() for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.patches")}
    import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#6c4ab6", "#555555"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
HEAT = "cividis"


def figure(width=7.0, height=4.2, columns=1):
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
                         "grid.color": "#e4e4e4", "grid.linewidth": 0.6, "legend.frameon": False, "svg.fonttype": "none",
                         "svg.hashsalt": "weft"})
    return plt.subplots(1, columns, figsize=(width, height), constrained_layout=True)


def colour(index):
    return COLOURS[index % len(COLOURS)]


def marker(index):
    return MARKERS[index % len(MARKERS)]


def words(name):
    """all_reduce -> all-reduce, alltoall -> all-to-all."""
    return {"alltoall": "all-to-all"}.get(name, name.replace("_", "-"))


def title(figure, text):
    figure.suptitle(text, x=0.01, ha="left", fontsize=10)


def size_text(size):
    """1048576 -> '1 MiB', 1000000 -> '1 MB'."""
    if size >= 1000 and size % 1000 == 0 and size % 1024:
        for unit in ("kB", "MB", "GB"):
            size /= 1000
            if size < 1000 or unit == "GB":
                return f"{size:g} {unit}"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:g} {unit}"
        size /= 1024
    return ""


def size_axis(axes, sizes):
    axes.set_xscale("log", base=2)
    ticks = sorted(set(sizes))
    ticks = ticks[:: max(1, -(-len(ticks) // 10))]
    axes.set_xticks(ticks, [size_text(tick) for tick in ticks], rotation=30, ha="right")
    axes.minorticks_off()
    axes.set_xlabel("message size")


def legend_below(figure, axes, most_columns=4):
    """Out of the data's way; the picture grows by it."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=min(most_columns, len(handles)), fontsize=8)


def options(doc, default, several=False):
    """The command line that all figures have; add to it, then parse."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path, nargs="+" if several else None, help="result of --json")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path(default),
                        help=f"picture to write; .png, .svg or .pdf, and without an ending PNG and SVG both (default {default})")
    return parser


def read(path, parser, *keys):
    """A result file that has one of these keys."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"{path}: {error}")
    if not any(result.get(key) for key in keys):
        parser.error(f"{path}: expected a result with {' or '.join(keys)}")
    return result


def save(figure, output):
    """As the name's ending says; without one, for slides and for papers."""
    names = [output] if output.suffix in (".png", ".svg", ".pdf") else [output.with_name(output.name + end) for end in (".png", ".svg")]
    for name in names:
        figure.savefig(name, dpi=150, bbox_inches="tight", metadata={"Date": None} if name.suffix == ".svg" else None)
        print(name)
