"""How Weft's figures look: one place for sizes, colours and axes of message sizes."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

COLOURS = ["#0b5fa5", "#d1495b", "#3a7d44", "#e09f3e", "#6c4ab6", "#4a4e69"]


def figure(width=7.0, height=4.2, columns=1):
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
                         "grid.color": "#e4e4e4", "grid.linewidth": 0.6, "legend.frameon": False})
    return plt.subplots(1, columns, figsize=(width, height), constrained_layout=True)


def size_text(size):
    """1048576 -> '1 MiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:g} {unit}"
        size /= 1024
    return ""


def size_axis(axes, sizes):
    axes.set_xscale("log", base=2)
    ticks = sorted(set(sizes))
    ticks = ticks[:: max(1, len(ticks) // 10)]
    axes.set_xticks(ticks, [size_text(tick) for tick in ticks], rotation=30, ha="right")
    axes.minorticks_off()
    axes.set_xlabel("message size")
