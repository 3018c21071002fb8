#!/usr/bin/env python3
"""Draws the fabrics of docs/fabrics.md: each picture there, docs/pictures/fabric_*.svg, from the YAML that follows it on the page.

    fabric_pictures.py ROOT WEFT              writes the pictures
    fabric_pictures.py ROOT WEFT --check      fails where one is not what its YAML gives today
"""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import xml.etree.ElementTree as ElementTree

BLOCK = re.compile(r"!\[[^]]*\]\(pictures/(fabric_\w+)\.svg\)\s+```yaml\n(.*?)```", re.DOTALL)
GRAPHML = {"g": "http://graphml.graphdrawing.org/xmlns"}
HOST, SWITCH, CABLE, INK = "#bcbddc", "#fdae6b", "#8c8c8c", "#333333"
WIDTH = 640


def read_graph(weft, yaml):
    """Names of devices in order, and pairs of names, one a cable."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = pathlib.Path(folder) / "cluster.yaml"
        cluster.write_text(yaml, encoding="utf-8")
        printed = subprocess.run([weft, "topo", cluster, "--graphml", "-"], capture_output=True, text=True, check=True).stdout
    root = ElementTree.fromstring(printed)
    name_of = {node.get("id"): node.findtext("g:data[@key='name']", namespaces=GRAPHML) for node in root.iterfind(".//g:node", GRAPHML)}
    links = [(name_of[edge.get("source")], name_of[edge.get("target")]) for edge in root.iterfind(".//g:edge", GRAPHML)]
    return list(name_of.values()), [link for link in links if link[0] < link[1]]  # both directions are there


def tiers_of(names, cables):
    """0: hosts; then links from the nearest host."""
    near = {name: set() for name in names}
    for one, other in cables:
        near[one].add(other)
        near[other].add(one)
    tier = {name: 0 for name in names if re.fullmatch(r"h\d+", name)}
    wave = list(tier)
    for name in wave:
        for other in sorted(near[name]):
            if other not in tier:
                tier[other] = tier[name] + 1
                wave.append(other)
    return tier


def in_rows(names, tier):
    top = max(tier.values())
    places = {}
    for row in range(top + 1):
        members = [name for name in names if tier[name] == row]
        for i, name in enumerate(members):
            places[name] = (WIDTH * (i + 0.5) / len(members), 30 + 90 * (top - row))
    return places, 60 + 90 * top


def in_a_circle(names, cables, tier):
    """Switches around a circle, each one's hosts outside of it."""
    switches = [name for name in names if tier[name] > 0]
    middle, radius = WIDTH / 2, WIDTH / 2 - 90
    places, angle = {}, {}
    for i, name in enumerate(switches):
        angle[name] = 2 * math.pi * i / len(switches) - math.pi / 2
        places[name] = (middle + radius * math.cos(angle[name]), middle + radius * math.sin(angle[name]))
    hosts = {name: [] for name in switches}
    for one, other in cables:
        for host, switch in ((one, other), (other, one)):
            if tier[host] == 0 and tier[switch] > 0 and host not in hosts[switch]:
                hosts[switch].append(host)
    step = 2 * math.pi / max(1, sum(map(len, hosts.values())))
    for switch, below in hosts.items():
        for i, host in enumerate(below):
            at = angle[switch] + step * (i - (len(below) - 1) / 2)
            places[host] = (middle + (radius + 55) * math.cos(at), middle + (radius + 55) * math.sin(at))
    return places, WIDTH


def in_a_grid(names, tier):
    switches = [name for name in names if tier[name] > 0]
    side = math.isqrt(len(switches))
    step = 90
    places = {name: (80 + step * (i % side), 80 + step * (i // side)) for i, name in enumerate(switches)}
    hosts = [name for name in names if tier[name] == 0]
    for host, switch in zip(hosts, switches):
        places[host] = (places[switch][0] + 26, places[switch][1] + 26)
    return places, 80 + step * side


def line_of(one, other, lane, lanes):
    """A cable; parallel ones, and those that close a row of a grid, are bent apart."""
    (x1, y1), (x2, y2) = one, other
    length = math.hypot(x2 - x1, y2 - y1)
    closes = min(abs(x2 - x1), abs(y2 - y1)) < 1 and length > 200
    bend = 8 * (lane - (lanes - 1) / 2) + (50 if closes else 0)
    if abs(bend) < 0.5:
        return f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}"/>'
    across = (bend * (y2 - y1) / length, bend * (x1 - x2) / length)
    return f'<path d="M{x1:.0f} {y1:.0f}Q{(x1 + x2) / 2 + across[0]:.0f} {(y1 + y2) / 2 + across[1]:.0f} {x2:.0f} {y2:.0f}"/>'


def draw(name, names, cables):
    tier = tiers_of(names, cables)
    sideways = any(tier[a] == tier[b] == 1 for a, b in cables)
    if "torus" in name:
        places, height = in_a_grid(names, tier)
    else:
        places, height = in_a_circle(names, cables, tier) if sideways else in_rows(names, tier)
    lines = []
    for pair in sorted(set(cables)):
        lanes = cables.count(pair)
        lines += [line_of(places[pair[0]], places[pair[1]], lane, lanes) for lane in range(lanes)]
    marks, words = [], []
    has_names = len(names) <= 40
    for device in names:
        x, y = places[device]
        if tier[device] == 0:
            marks.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{9 if has_names else 5}" fill="{HOST}"/>')
        else:
            half = 20 if has_names else 8
            marks.append(f'<rect x="{x - half:.0f}" y="{y - 9:.0f}" width="{2 * half}" height="18" rx="3" fill="{SWITCH}"/>')
        if has_names:
            words.append(f'<text x="{x:.0f}" y="{y + 3:.0f}">{device}</text>')
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}">',
                      '<rect width="100%" height="100%" fill="white"/>', f'<g fill="none" stroke="{CABLE}">', *lines, "</g>", *marks,
                      f'<g font-family="sans-serif" font-size="8" text-anchor="middle" fill="{INK}">', *words, "</g>", "</svg>", ""])


def main():
    root, weft = pathlib.Path(sys.argv[1]), sys.argv[2]
    blocks = BLOCK.findall((root / "docs/fabrics.md").read_text(encoding="utf-8"))
    if not blocks:
        sys.exit("docs/fabrics.md has no pictures with their YAML")
    old = []
    for name, yaml in blocks:
        picture = root / "docs/pictures" / f"{name}.svg"
        drawn = draw(name, *read_graph(weft, yaml))
        if "--check" not in sys.argv:
            picture.write_text(drawn, encoding="utf-8")
        elif not picture.exists() or picture.read_text(encoding="utf-8") != drawn:
            old.append(picture.name)
    if old:
        sys.exit(f"not what their YAML gives: {', '.join(old)}; run tools/fabric_pictures.py")


if __name__ == "__main__":
    main()
