"""Writes machines otherwise: configurations of `weft topo --json`, as Python has them, into ones that are to be the same, or
better in one thing. JSON is YAML, so that what comes out is a cluster file.
"""

import copy
import re

RANGE = re.compile(r"(.*?)(\d+)\.\.(\d+)")


def expanded(names):
    """["gpu0..2", "cpu0"] as ["gpu0", "gpu1", "gpu2", "cpu0"]."""
    result = []
    for name in names if isinstance(names, list) else [names]:
        if isinstance(name, list):
            result += expanded(name)
            continue
        ranged = RANGE.fullmatch(name)
        result += [f"{ranged[1]}{i}" for i in range(int(ranged[2]), int(ranged[3]) + 1)] if ranged else [name]
    return result


def renamed(configuration, prefixes):
    """Devices whose names begin with one of `prefixes` get the one it stands for."""
    def new(name):
        if isinstance(name, list):
            return [new(each) for each in name]
        kind = re.match(r"[a-z_]*", name)[0]
        return prefixes.get(kind, kind) + name[len(kind):]

    result = copy.deepcopy(configuration)
    for device in result["node"]["devices"]:
        device["name"] = new(device["name"])
    for link in result["node"].get("links", []):
        link["between"] = new(link["between"])
    result["name"] = result["node"]["name"] = "other_name"
    return result


def reordered(configuration, draw):
    """Devices that are no GPUs, and links, in another order; NCCL's ranks follow the order of GPUs."""
    result = copy.deepcopy(configuration)
    devices = result["node"]["devices"]
    gpus = [device for device in devices if device["kind"] == "gpu"]
    others = [device for device in devices if device["kind"] != "gpu"]
    draw.shuffle(others)
    result["node"]["devices"] = others + gpus
    draw.shuffle(result["node"].get("links", []))
    return {key: result[key] for key in reversed(result)}


def on_one_switch(configuration, nodes, rate):
    """The nodes on one switch that never limits, NICs without rails, every link of `rate` (B/s)."""
    result = copy.deepcopy(configuration)
    link = {key: value for key, value in result["fabric"]["link"].items() if key != "rate"}
    result["fabric"] = {"type": "single_switch", "link": link | {"rate": gigabits(rate)}, "switch": {"latency": "200 ns"}}
    result["nodes"] = nodes
    for device in result["node"]["devices"]:
        if device["kind"] == "nic":
            device.pop("rail", None)
            device["speed"] = gigabits(rate)
    return result


def count(configuration, kind):
    """Devices of a kind in a node."""
    return sum(len(expanded(device["name"])) for device in configuration["node"]["devices"] if device["kind"] == kind)


def gigabits(rate):
    return f"{rate * 8 / 1e9:.9g} Gb/s"


def with_nics_in_two(configuration, nodes, rate):
    """As on_one_switch, two NICs of half the rate in place of each; nothing if links do not take the NICs in order."""
    result = on_one_switch(configuration, nodes, rate / 2)
    nics = [device for device in result["node"]["devices"] if device["kind"] == "nic"]
    if len(nics) != 1:
        return None
    before = expanded(nics[0]["name"])
    name = re.match(r"[a-z_]*", before[0])[0]
    for key in ("dev", "port", "guid", "bus_id"):
        nics[0].pop(key, None)
    nics[0]["name"] = f"{name}0..{2 * len(before) - 1}"
    for link in result["node"]["links"]:
        for side, other in ((0, 1), (1, 0)):
            if not isinstance(link["between"], list) or len(link["between"]) != 2 or expanded(link["between"][side]) != before:
                continue
            if link.get("pairing") in ("zip", "block"):
                link["pairing"] = "block" if len(before) * 2 != len(expanded(link["between"][other])) else "zip"
            elif "pairing" in link:
                return None
            link["between"][side] = nics[0]["name"]
    return result


def with_parameter(configuration, key, value):
    """A parameter of the profile set to a text such as "4 us"."""
    result = copy.deepcopy(configuration)
    profile = result["profile"]
    for part in ("calibrations", "validation"):
        profile.pop(part, None)
    profile["parameters"] = {
        name: {"value": parameter["value"] if isinstance(parameter, dict) else parameter, "source": "assumed"}
        for name, parameter in profile.get("parameters", {}).items()}
    profile["parameters"][key] = {"value": value, "source": "assumed"}
    return result


def scaled(text, factor):
    """ "4.9 us" or 0.85, times a factor."""
    found = re.fullmatch(r"([0-9.eE+-]+)(.*)", str(text))
    number = float(found[1]) * factor
    return f"{number:.9g}{found[2]}" if found[2] else number
