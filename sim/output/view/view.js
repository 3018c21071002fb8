// Draws the page of `weft view`: what the data of the page has, and nothing from elsewhere. uPlot draws curves; the rest is canvas.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#6c4ab6", "#555555"];
  // A part of a step has the same colour in the breakdown and in the timeline; those behind the colours are paler.
  const PARTS = ["gemm", "attention", "other compute", "optimizer", "tensor comm", "data comm", "pipeline comm", "other comm", "bubble", "skew", "idle"];
  const HEAT = [[0, 34, 78], [65, 77, 107], [124, 123, 120], [187, 175, 113], [254, 232, 56]];  // cividis
  const app = document.getElementById("app");

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key in element && key !== "list") element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  const sections = [];
  function section(title, hint) {
    const id = `part${sections.length}`;
    const body = make("section", { id }, make("h2", {}, title), hint ? make("p", { className: "hint" }, hint) : null);
    sections.push({ id, title });
    app.append(body);
    return body;
  }
  const short = (value, digits = 4) => (value === 0 ? "0" : Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 9 }));
  function timeText(us) {
    const size = Math.abs(us);
    if (size >= 1e6) return `${short(us / 1e6)} s`;
    if (size >= 1e3) return `${short(us / 1e3)} ms`;
    return size >= 1 || size === 0 ? `${short(us)} µs` : `${short(us * 1e3)} ns`;
  }
  function sizeText(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; ++unit; }
    return `${short(bytes)} ${units[unit]}`;
  }
  function heat(share) {
    const at = Math.max(0, Math.min(1, share)) * (HEAT.length - 1);
    const low = Math.min(Math.floor(at), HEAT.length - 2);
    const mixed = HEAT[low].map((from, i) => Math.round(from + (HEAT[low + 1][i] - from) * (at - low)));
    return `rgb(${mixed.join(",")})`;
  }
  function choice(label, options, onChange) {
    const select = make("select", { onchange: () => onChange(select.selectedIndex) }, ...options.map((text) => make("option", {}, text)));
    return { element: make("label", {}, `${label} `, select), select };
  }

  // A canvas as wide as the page, in CSS pixels, that says where the pointer is. `draw(context, width, height)` is called once a
  // frame at most.
  function board(parent, height, draw, tell) {
    const canvas = make("canvas", { tabIndex: 0 });
    const tip = make("div", { className: "tip" });
    const frame = make("div", { className: "board" }, canvas, tip);
    parent.append(frame);
    let asked = false;
    const view = {
      canvas, height, width: 0, ms: 0,
      redraw() {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => { asked = false; view.now(); });
      },
      now() {
        const begin = performance.now();
        const scale = window.devicePixelRatio || 1;
        view.width = frame.clientWidth;
        canvas.style.height = `${view.height}px`;
        canvas.width = Math.round(view.width * scale);
        canvas.height = Math.round(view.height * scale);
        const context = canvas.getContext("2d");
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.font = "11px system-ui, sans-serif";
        context.textBaseline = "middle";
        draw(context, view.width, view.height);
        view.ms = performance.now() - begin;
      },
    };
    canvas.addEventListener("pointermove", (event) => {
      const text = event.buttons ? "" : tell(event.offsetX, event.offsetY);
      tip.textContent = text;
      tip.style.display = text ? "block" : "none";
      tip.style.left = `${Math.min(event.offsetX + 14, view.width - 220)}px`;
      tip.style.top = `${event.offsetY + 14}px`;
    });
    canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
    new ResizeObserver(() => view.redraw()).observe(frame);
    return view;
  }
  // Dragging and the wheel: move(dx, dy), and zoom(factor, x, y).
  function handle(view, move, zoom) {
    view.canvas.addEventListener("pointerdown", (event) => view.canvas.setPointerCapture(event.pointerId));
    view.canvas.addEventListener("pointermove", (event) => { if (event.buttons) { move(event.movementX, event.movementY); view.redraw(); } });
    view.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey) move(0, -(event.deltaY || event.deltaX));
      else zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
      view.redraw();
    }, { passive: false });
    view.canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (steps[event.key]) move(...steps[event.key]);
      else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.4 : 1 / 1.4, view.width / 2, view.height / 2);
      else return;
      event.preventDefault();
      view.redraw();
    });
  }

  function showResults() {
    const body = section("Results");
    const rows = data.results.map((result) => make("tr", {}, make("td", {}, result.file), make("td", {}, make("code", {}, result.command_line || "")),
      make("td", {}, result.profile ? result.profile.name : ""), make("td", {}, make("code", {}, result.digest || ""))));
    for (const timeline of data.timelines) {
      const text = `${timeline.tracks.length} rows, ${timeline.tracks.reduce((sum, track) => sum + track.t.length, 0).toLocaleString("en")} spans`;
      rows.push(make("tr", {}, make("td", {}, timeline.file), make("td", {}, `timeline: ${text}`), make("td"), make("td")));
    }
    body.append(make("div", { className: "wide" }, make("table", {}, make("tr", {}, ...["file", "made by", "profile", "digest"].map((title) => make("th", {}, title))), ...rows)));
    for (const result of data.results) {
      for (const warning of result.warnings || []) body.append(make("p", { className: "hint" }, `${result.file}: ${warning}`));
    }
  }

  // ---------------------------------------------------------------------------------------------------------------- topology
  function placed(topology) {
    const ROWS = { nic: 0, pcie_switch: 1, cpu: 1, host: 1, storage: 1, gpu: 2, nvswitch: 3 };
    const devices = topology.devices.map(([name, kind, host]) => ({ name, kind: topology.kinds[kind], host, x: 0, y: 0, near: [] }));
    for (const [from, to] of topology.links) { devices[from].near.push(to); devices[to].near.push(from); }
    const hosts = new Map();
    for (const device of devices) {
      if (device.host < 0) continue;
      if (!hosts.has(device.host)) hosts.set(device.host, []);
      hosts.get(device.host).push(device);
    }
    let left = 0;
    for (const members of hosts.values()) {
      const rows = [[], [], [], []];
      for (const device of members) rows[ROWS[device.kind] ?? 1].push(device);
      const wide = Math.max(...rows.map((row) => row.length));
      rows.forEach((row, y) => row.forEach((device, i) => { device.x = left + (i + 0.5) * wide / row.length; device.y = y; }));
      left += wide + 1;
    }
    // A switch stands above what it connects, by its distance from hosts and at the mean place of those below.
    let level = devices.filter((device) => device.host >= 0);
    const seen = new Set(level);
    for (let y = -1; ; --y) {
      const above = new Set();
      for (const device of level) for (const other of device.near) if (!seen.has(devices[other])) above.add(devices[other]);
      if (above.size === 0) break;
      const mean = (device) => {
        const below = device.near.map((other) => devices[other]).filter((other) => seen.has(other));
        return below.reduce((sum, other) => sum + other.x, 0) / below.length;
      };
      level = [...above].map((device) => ({ device, at: mean(device) })).sort((a, b) => a.at - b.at).map(({ device }) => device);
      level.forEach((device, i) => { device.x = (i + 0.5) * left / level.length; device.y = y * 1.6; seen.add(device); });
    }
    return devices;
  }
  function showTopology(topology, index) {
    const results = data.results.filter((result) => result.topology === index);
    const uses = results.filter((result) => (result.ports || result.hottest_links || []).length > 0);
    const body = section(`Topology: ${topology.name}`, "Drag moves, the wheel zooms, a click on the canvas and + - or arrows do the same. A link's colour is its use in the busier direction.");
    const devices = placed(topology);
    const SHAPES = { gpu: COLOURS[2], nvswitch: COLOURS[3], nic: COLOURS[1], pcie_switch: COLOURS[5], cpu: COLOURS[4], switch: COLOURS[0], host: COLOURS[2], storage: COLOURS[6] };
    // Between neighbours of a row: the room that a name has.
    const gaps = new Map(), last = new Map();
    for (const device of [...devices].sort((a, b) => a.x - b.x)) {
      const gap = last.has(device.y) ? device.x - last.get(device.y) : Infinity;
      gaps.set(device.y, Math.min(gaps.get(device.y) ?? Infinity, gap));
      last.set(device.y, device.x);
    }
    const xs = devices.map((device) => device.x), ys = devices.map((device) => device.y);
    const box = xs.reduce((b, x, i) => [Math.min(b[0], x), Math.max(b[1], x), Math.min(b[2], ys[i]), Math.max(b[3], ys[i])], [Infinity, -Infinity, Infinity, -Infinity]);
    let use = new Map(), at = null;
    const bar = make("div", { className: "bar" });
    body.append(bar);
    const legend = make("span", { className: "legend" });
    const take = (result) => {
      use = new Map(((result && (result.ports || result.hottest_links)) || []).map((link) => [link.name, link.utilization]));
      const all = result && result.ports;
      legend.textContent = !result ? "no result here tells how its links were used"
        : all ? `${use.size} links in use`
          : `the ${use.size} busiest links` + (result.iteration_time_ns || result.ttft_ns ? "" : "; with `measure: {}` in the scenario all are known");
      view.redraw();
    };
    const px = (device) => at.x + device.x * at.k, py = (device) => at.y + device.y * at.ky;
    const busier = (link) => Math.max(use.get(link[4]) ?? -1, use.get(link[5]) ?? -1);
    const view = board(body, 460, (context, width, height) => {
      if (at === null) {
        const k = (width - 60) / Math.max(1, box[1] - box[0]);
        const ky = Math.min(90, (height - 80) / Math.max(1, box[3] - box[2]));
        at = { k: Math.min(k, 60), ky, x: 0, y: 0 };
        at.x = width / 2 - at.k * (box[0] + box[1]) / 2;
        at.y = height / 2 - ky * (box[2] + box[3]) / 2;
      }
      const levels = Array.from({ length: 12 }, () => []);  // 0: unknown
      for (const link of topology.links) {
        const share = busier(link);
        levels[share < 0 ? 0 : 1 + Math.min(10, Math.floor(share * 10.999))].push(link);
      }
      levels.forEach((links, level) => {
        context.strokeStyle = level === 0 ? "#c9c9c9" : heat((level - 1) / 10);
        context.lineWidth = level === 0 ? 0.6 : 1 + level / 4;
        context.beginPath();
        for (const [from, to] of links) { context.moveTo(px(devices[from]), py(devices[from])); context.lineTo(px(devices[to]), py(devices[to])); }
        context.stroke();
      });
      const radius = Math.max(1.5, Math.min(9, at.k * 0.3)), { color: ink, backgroundColor: paper } = getComputedStyle(document.body);
      for (const device of devices) {
        const x = px(device), y = py(device);
        if (x < -20 || x > width + 20 || y < -20 || y > height + 20) continue;
        context.fillStyle = SHAPES[device.kind] || "#555";
        if (radius < 3) context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
        else { context.beginPath(); context.arc(x, y, radius, 0, 7); context.fill(); }
        const room = gaps.get(device.y) * at.k, name = device.name.split(".").pop();
        if (room > 12 && room > context.measureText(name).width + 6) {
          context.fillStyle = ink;
          context.textAlign = "center";
          const textY = device.kind === "switch" ? y - radius - 8 : y + radius + 8;
          context.lineWidth = 3;
          context.strokeStyle = paper;
          context.strokeText(name, x, textY);
          context.fillText(name, x, textY);
        }
      }
      let x = 10;
      context.textAlign = "left";
      for (const kind of topology.kinds.filter((name) => devices.some((device) => device.kind === name))) {
        context.fillStyle = SHAPES[kind] || "#555";
        context.fillRect(x, height - 18, 9, 9);
        context.fillStyle = getComputedStyle(document.body).color;
        context.fillText(kind, x + 13, height - 13);
        x += 24 + context.measureText(kind).width;
      }
      for (let i = 0; i <= 60; ++i) { context.fillStyle = heat(i / 60); context.fillRect(width - 130 + i, height - 18, 1.5, 9); }
      context.fillStyle = getComputedStyle(document.body).color;
      context.fillText("0 %", width - 156, height - 13);
      context.fillText("100 %", width - 62, height - 13);
    }, (x, y) => {
      for (const device of devices) if (Math.hypot(px(device) - x, py(device) - y) < 8) return `${device.name}: ${device.kind}, ${device.near.length} links`;
      let best = 6, found = null;
      for (const link of topology.links) {
        const ax = px(devices[link[0]]), ay = py(devices[link[0]]), dx = px(devices[link[1]]) - ax, dy = py(devices[link[1]]) - ay;
        const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
        const distance = Math.hypot(ax + t * dx - x, ay + t * dy - y);
        if (distance < best) { best = distance; found = link; }
      }
      if (!found) return "";
      const share = (name) => (use.has(name) ? `${(100 * use.get(name)).toFixed(1)} %` : "not told");
      return `${found[4]}: ${share(found[4])}\n${found[5]}: ${share(found[5])}\n${topology.types[found[3]]}, ${short(found[2])} GB/s of payload each way`;
    });
    handle(view, (dx, dy) => { at.x += dx; at.y += dy; }, (factor, x, y) => {
      at.x = x - (x - at.x) * factor; at.y = y - (y - at.y) * factor; at.k *= factor; at.ky *= factor;
    });
    if (uses.length > 1) bar.append(choice("Heat of", uses.map((result) => result.file), (i) => take(uses[i])).element);
    bar.append(make("button", { onclick: () => { at = null; view.redraw(); } }, "Fit"), legend);
    take(uses[0]);
    window.weftViews.push(view);
  }

  // ---------------------------------------------------------------------------------------------------------------- timeline
  function showTimeline(timeline) {
    const body = section(`Timeline: ${timeline.file}`, "The wheel zooms in time, dragging moves, Shift and the wheel goes through the rows.");
    const tracks = timeline.tracks;
    // Spans stand in the order of their starts. By 64 of them: the latest end of these and of all before, and the category that has most
    // of the time.
    const BLOCK = 64;
    let end = 1;
    for (const track of tracks) {
      const blocks = Math.ceil(track.t.length / BLOCK);
      track.ends = new Float64Array(blocks);
      track.reach = new Float64Array(blocks);
      track.main = new Uint16Array(blocks);
      for (let block = 0, reach = 0; block < blocks; ++block) {
        const sums = new Map();
        let last = 0;
        for (let i = block * BLOCK; i < Math.min(track.t.length, (block + 1) * BLOCK); ++i) {
          last = Math.max(last, track.t[i] + track.d[i]);
          sums.set(track.c[i], (sums.get(track.c[i]) || 0) + track.d[i]);
        }
        track.ends[block] = last;
        track.reach[block] = reach = Math.max(reach, last);
        track.main[block] = [...sums].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
      }
      if (blocks > 0) end = Math.max(end, track.reach[blocks - 1]);
    }
    const place = timeline.cats.map((cat, i) => (PARTS.includes(cat) ? PARTS.indexOf(cat) : i) % COLOURS.length);
    const colour = (cat) => COLOURS[place[cat]];
    // Colours as words of an image, whose bytes are red, green, blue, opacity.
    const WORDS = COLOURS.map((hex) => (0xff000000 | parseInt(hex.slice(5, 7), 16) << 16 | parseInt(hex.slice(3, 5), 16) << 8 | parseInt(hex.slice(1, 3), 16)) >>> 0);
    const threads = [...new Set(tracks.map((track) => track.thread))];
    let shown = tracks, from = 0, to = end, top = 0, rowHeight = 14, only = "", wanted = null, image = null;
    const LEFT = 150;
    const select = () => {
      const ranges = only.split(",").map((part) => part.trim().match(/^(\d+)(?:-(\d+))?$/)).filter(Boolean).map((m) => [Number(m[1]), Number(m[2] ?? m[1])]);
      shown = tracks.filter((track) => (ranges.length === 0 || ranges.some(([a, b]) => track.rank >= a && track.rank <= b)) && (wanted === null || track.thread === wanted));
      top = 0;
      view.redraw();
    };
    // Index of the first value that is not below `wanted`, in values that never fall.
    const first = (values, wanted) => {
      let low = 0, high = values.length;
      while (low < high) { const middle = (low + high) >> 1; if (values[middle] < wanted) low = middle + 1; else high = middle; }
      return low;
    };
    // One row of pixels of what a track does, `pixels` a nanosecond. A pixel has the colour of what takes most of it, and a block below
    // a pixel is one span. tell(span, begin, end) hears of those wide enough to have a name.
    const share = new Float64Array(timeline.cats.length);
    const paint = (track, line, pixels, tell) => {
      let covered = -Infinity;  // the latest end so far: what ends before it is not seen
      let open = -1;             // the pixel whose shares are being added up
      const close = () => {
        if (open < 0) return;
        let most = 0;
        for (let cat = 1; cat < share.length; ++cat) if (share[cat] > share[most]) most = cat;
        line[open] = WORDS[place[most]];
        share.fill(0);
        open = -1;
      };
      const put = (t, until, cat) => {
        const a = Math.max(0, (t - from) * pixels), b = Math.min(line.length, (until - from) * pixels);
        if (b < a || a >= line.length) return false;
        const x0 = Math.floor(a), x1 = Math.floor(b);
        if (x0 !== open) close();
        open = x0;
        share[cat] += Math.max(Math.min(b, x0 + 1) - a, 1e-9);
        if (x1 === x0) return true;
        close();
        line.fill(WORDS[place[cat]], x0 + 1, x1);
        if (b > x1) { open = x1; share[cat] += b - x1; }
        return true;
      };
      for (let block = first(track.reach, from); block < track.ends.length && track.t[block * BLOCK] < to; ++block) {
        const at = block * BLOCK, until = track.ends[block];
        if (until <= covered || until < from) continue;
        if ((until - track.t[at]) * pixels < 1) {
          if (put(track.t[at], until, track.main[block])) covered = until;
          continue;
        }
        for (let i = at; i < Math.min(at + BLOCK, track.t.length) && track.t[i] < to; ++i) {
          const finish = track.t[i] + track.d[i];
          if (finish <= covered || finish < from || !put(Math.max(track.t[i], covered), finish, track.c[i])) continue;
          covered = finish;
          if (track.d[i] * pixels > 50) tell(i);
        }
      }
      close();
    };
    const bar = make("div", { className: "bar" });
    body.append(bar);
    const view = board(body, 440, (context, width, height) => {
      const text = getComputedStyle(document.body).color;
      const scale = (width - LEFT) / (to - from);
      const begin = Math.floor(top / rowHeight), last = Math.min(shown.length, Math.ceil((top + height - 20) / rowHeight));
      const ratio = context.getTransform().a, columns = Math.round((width - LEFT) * ratio), lines = Math.round((height - 20) * ratio);
      const named = [];
      if (columns > 0 && lines > 0) {
        if (!image || image.width !== columns || image.height !== lines) image = context.createImageData(columns, lines);
        const words = new Uint32Array(image.data.buffer);
        words.fill(0);
        for (let row = begin; row < last; ++row) {
          const y = row * rowHeight - top, high = Math.max(1, rowHeight - (rowHeight > 4 ? 2 : 0));
          const y0 = Math.max(0, Math.round(y * ratio)), y1 = Math.min(lines, Math.max(y0 + 1, Math.round((y + high) * ratio)));
          if (y0 >= y1) continue;
          paint(shown[row], words.subarray(y0 * columns, (y0 + 1) * columns), scale * ratio, (i) => {
            if (rowHeight >= 12 && (Math.min(to, shown[row].t[i] + shown[row].d[i]) - Math.max(from, shown[row].t[i])) * scale > 50) named.push([shown[row], i, 20 + y, high]);
          });
          for (let line = y0 + 1; line < y1; ++line) words.copyWithin(line * columns, y0 * columns, (y0 + 1) * columns);
        }
        context.putImageData(image, Math.round(LEFT * ratio), Math.round(20 * ratio));
      }
      context.fillStyle = "#fff";
      context.textAlign = "left";
      for (const [track, i, y, high] of named) {
        const x = Math.max(0, (track.t[i] - from) * scale), wide = (Math.min(to, track.t[i] + track.d[i]) - from) * scale - x;
        context.save();
        context.beginPath(); context.rect(LEFT + x, Math.max(20, y), wide - 2, high); context.clip();
        context.fillText(timeline.names[track.n[i]], LEFT + x + 3, y + high / 2);
        context.restore();
      }
      context.fillStyle = text;
      context.textAlign = "left";
      let before = "", free = 0;
      for (let row = begin; row < last; ++row) {
        const track = shown[row], y = 20 + row * rowHeight - top + rowHeight / 2;
        if (y < free || y < 20) continue;
        const name = track.process === before ? `   ${track.thread}` : `${track.process}: ${track.thread}`;
        context.fillText(name.length > 24 ? `${name.slice(0, 23)}…` : name, 2, y);
        before = track.process;
        free = y + 11;
      }
      const step = 10 ** Math.floor(Math.log10((to - from) / 5)), nice = [1, 2, 5, 10].map((m) => m * step).find((s) => (to - from) / s <= 9);
      context.strokeStyle = "#8886";
      context.lineWidth = 0.5;
      for (let t = Math.ceil(from / nice) * nice; t <= to; t += nice) {
        const x = LEFT + (t - from) * scale;
        context.beginPath(); context.moveTo(x, 16); context.lineTo(x, height); context.stroke();
        context.fillText(timeText(t / 1e3), x + 2, 9);
      }
      label.textContent = `${shown.length} rows, ${timeText((to - from) / 1e3)} of ${timeText(end / 1e3)}`;
    }, (x, y) => {
      const track = shown[Math.floor((y - 20 + top) / rowHeight)];
      if (!track || x < LEFT || y < 20) return "";
      const ns = from + (x - LEFT) / (view.width - LEFT) * (to - from), slack = 2 * (to - from) / (view.width - LEFT);
      for (let i = first(track.t, ns + slack) - 1; i >= 0 && track.reach[Math.floor(i / BLOCK)] + slack >= ns; --i) {
        if (track.t[i] + track.d[i] + slack < ns) continue;
        return `${timeline.names[track.n[i]]} (${timeline.cats[track.c[i]]})\n${track.process}, ${track.thread}\nfrom ${timeText(track.t[i] / 1e3)}, ${timeText(track.d[i] / 1e3)} long`;
      }
      return `${track.process}, ${track.thread}`;
    });
    const clampTop = () => { top = Math.max(0, Math.min(top, shown.length * rowHeight - view.height + 40)); };
    handle(view, (dx, dy) => {
      const by = -dx / (view.width - LEFT) * (to - from);
      from += by; to += by; top -= dy;
      clampTop();
    }, (factor, x) => {
      const at = from + Math.max(0, x - LEFT) / (view.width - LEFT) * (to - from);
      const span = Math.min(4 * end, Math.max(1, (to - from) / factor));
      const share = (at - from) / (to - from);
      from = at - share * span; to = from + span;
    });
    const label = make("span", { className: "legend" });
    const rows = make("input", { type: "range", min: "1", max: "22", value: "14", oninput: () => { rowHeight = Number(rows.value); clampTop(); view.redraw(); } });
    const ranks = make("input", { type: "text", size: 12, placeholder: "0-7, 12", oninput: () => { only = ranks.value; select(); } });
    const streams = choice("Stream", ["all", ...threads.slice(0, 400)], (i) => { wanted = i === 0 ? null : threads[i - 1]; select(); });
    bar.append(make("label", {}, "Ranks ", ranks), streams.element, make("label", {}, "Row height ", rows),
      make("button", { onclick: () => { from = 0; to = end; top = 0; view.redraw(); } }, "All of it"), label);
    const cats = make("div", { className: "bar" });
    const inTurn = [...timeline.cats.entries()].sort((a, b) => place[a[0]] - place[b[0]]);
    inTurn.forEach(([i, cat]) => cats.append(make("span", { className: "key" }, make("i", { style: `background:${colour(i)}` }), cat)));
    body.append(cats);
    if (shown.length * rowHeight > 1200) { rowHeight = Math.max(2, Math.min(14, Math.floor(1200 / shown.length))); rows.value = String(rowHeight); }
    window.weftViews.push(view);
  }

  // ------------------------------------------------------------------------------------------------------------------ curves
  function plot(parent, xs, series, options) {
    const text = getComputedStyle(document.body).color;
    const axis = { stroke: text, grid: { stroke: "#8884", width: 0.5 }, ticks: { stroke: "#8886" } };
    const holder = make("div", { className: "plot" });
    parent.append(holder);
    const chart = new uPlot({
      width: Math.max(320, parent.clientWidth - 4), height: 340,
      scales: { x: { time: false, distr: options.logX ? 3 : 1, log: 2 }, y: { distr: options.logY ? 3 : 1, log: 10 } },
      axes: [{ ...axis, label: options.x, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : options.xText(tick))), space: 60 }, { ...axis, label: options.y, size: 70 }],
      series: [{ label: options.x, value: (_, value) => (value === null ? "" : options.xText(value)) }, ...series.map(({ ys, ...one }) => one)],
    }, [xs, ...series.map((one) => one.ys)], holder);
    new ResizeObserver(() => chart.setSize({ width: Math.max(320, parent.clientWidth - 4), height: 340 })).observe(parent);
    return holder;
  }
  function showCurves() {
    const curves = new Map();
    const add = (name, bytes, time, busbw, measured) => {
      if (!curves.has(name)) curves.set(name, { measured, points: new Map() });
      curves.get(name).points.set(bytes, { time, busbw });
    };
    for (const result of data.results) {
      for (const point of result.points || []) {
        if (!point.collective || !point.bytes) continue;
        if (result.command === "validate") {
          if (point.in_place || point.excluded) continue;
          const name = `${point.collective}, ${point.ranks} ranks${point.configuration ? `, ${point.configuration}` : ""}`;
          add(`${name}: predicted`, point.bytes, point.predicted_us, point.busbw_GBps, false);
          add(`${name}: measured`, point.bytes, point.measured_us, point.busbw_GBps * point.time_us / point.measured_us, true);
        } else {
          add(`${result.file}: ${point.collective}, ${point.ranks} ranks`, point.bytes, point.time_us, point.busbw_GBps, false);
        }
      }
    }
    const drawn = [...curves].filter(([, curve]) => curve.points.size > 1);
    if (drawn.length === 0) return;
    const body = section("Collectives by size", "Lines are predictions, dots are measured. A click in the legend hides a curve.");
    const xs = [...new Set(drawn.flatMap(([, curve]) => [...curve.points.keys()]))].sort((a, b) => a - b);
    const bar = make("div", { className: "bar" });
    const holder = make("div");
    body.append(bar, holder);
    const show = (what) => {
      holder.replaceChildren();
      const series = drawn.map(([label, curve], i) => {
        const stroke = COLOURS[(curve.measured ? i - 1 : i) % COLOURS.length];
        const dots = { label, stroke, width: 0, paths: () => null, points: { show: true, size: 7, stroke, fill: stroke }, spanGaps: true };
        const line = { label, stroke, width: 2, points: { show: xs.length < 60, size: 4 }, spanGaps: true };
        return { ...(curve.measured ? dots : line), ys: xs.map((x) => curve.points.get(x)?.[what] ?? null), value: (_, value) => (value === null ? "" : short(value)) };
      });
      plot(holder, xs, series, { logX: true, logY: what === "time", x: "size", y: what === "time" ? "time (µs)" : "bus bandwidth (GB/s)", xText: sizeText });
    };
    bar.append(choice("Show", ["bus bandwidth", "time"], (i) => show(i === 0 ? "busbw" : "time")).element);
    show("busbw");
  }

  // --------------------------------------------------------------------------------------------------------------- breakdown
  function showBreakdown(result) {
    const ranks = (result.ranks || []).filter((rank) => rank.breakdown_ns);
    if (ranks.length === 0) return;
    // Communication counts where nothing hides it; `compute` is a sum of others.
    const parts = Object.keys(ranks[0].breakdown_ns).filter((key) => key !== "compute" && (!key.endsWith("_comm") || key.startsWith("exposed_")));
    const names = parts.map((key) => key.replace("exposed_", "exposed ").replaceAll("_", " ").replace(" comm", " communication"));
    const places = parts.map((key, i) => { const at = PARTS.indexOf(key.replace("exposed_", "").replaceAll("_", " ")); return at < 0 ? i : at; });
    const sums = ranks.map((rank) => parts.reduce((sum, key) => sum + rank.breakdown_ns[key], 0));
    const most = Math.max(...sums, 1);
    const body = section(`Where an iteration goes: ${result.file}`,
      `${timeText(result.iteration_time_ns / 1e3)} an iteration${result.mfu ? `, MFU ${(100 * result.mfu).toFixed(1)} %` : ""}; a column is a rank that was simulated.`);
    const view = board(body, 300, (context, width, height) => {
      const wide = (width - 60) / ranks.length;
      const text = getComputedStyle(document.body).color;
      ranks.forEach((rank, r) => {
        let y = height - 24;
        parts.forEach((key, i) => {
          const high = rank.breakdown_ns[key] / most * (height - 40);
          y -= high;
          context.fillStyle = COLOURS[places[i] % COLOURS.length];
          context.globalAlpha = places[i] >= COLOURS.length ? 0.55 : 1;
          context.fillRect(60 + r * wide, y, Math.max(0.7, wide > 4 ? wide - 1.5 : wide), high);
        });
        context.globalAlpha = 1;
      });
      context.fillStyle = text;
      context.textAlign = "right";
      for (let i = 0; i <= 4; ++i) context.fillText(timeText(most * i / 4 / 1e3), 56, height - 24 - i / 4 * (height - 40));
      context.textAlign = "center";
      const each = Math.max(1, Math.ceil(ranks.length / (width / 40)));
      ranks.forEach((rank, r) => { if (r % each === 0) context.fillText(rank.rank, 60 + (r + 0.5) * wide, height - 12); });
    }, (x, y) => {
      const rank = ranks[Math.floor((x - 60) / ((view.width - 60) / ranks.length))];
      if (!rank || x < 60) return "";
      let at = view.height - 24;
      for (const [i, key] of parts.entries()) {
        at -= rank.breakdown_ns[key] / most * (view.height - 40);
        if (y >= at) return `rank ${rank.rank}${rank.stands_for > 1 ? `, for ${rank.stands_for}` : ""}\n${names[i]}: ${timeText(rank.breakdown_ns[key] / 1e3)}`;
      }
      return `rank ${rank.rank}`;
    });
    const keys = make("div", { className: "bar" });
    parts.forEach((key, i) => {
      const mean = ranks.reduce((sum, rank) => sum + rank.breakdown_ns[key] * (rank.stands_for || 1), 0) / ranks.reduce((sum, rank) => sum + (rank.stands_for || 1), 0);
      const whole = sums.reduce((sum, one) => sum + one, 0) / sums.length;
      keys.append(make("span", { className: "key" }, make("i", { style: `background:${COLOURS[places[i] % COLOURS.length]};opacity:${places[i] >= COLOURS.length ? 0.55 : 1}` }), `${names[i]} ${(100 * mean / whole).toFixed(1)} %`));
    });
    body.append(keys);
    window.weftViews.push(view);
  }

  // ------------------------------------------------------------------------------------------------------------------- sweep
  function showSweep(result) {
    if (result.command !== "sweep" || !result.axes || !result.points) return;
    const body = section(`What if: ${result.file}`, "Each slider sets one axis of the sweep; the curve goes along the axis that is chosen, the others as set.");
    const points = result.points.filter((point) => point.status === "done");
    const axes = result.axes.map((axis) => ({ name: axis.name, values: [...new Set(result.points.map((point) => point[axis.name]))], at: 0 }));
    for (const axis of axes) if (axis.values.every((value) => typeof value === "number")) axis.values.sort((a, b) => a - b);
    const numeric = result.metrics.filter((metric) => points.some((point) => typeof point[metric.name] === "number"));
    if (numeric.length === 0) return;
    let metric = numeric[0].name, along = axes.findIndex((axis) => axis.values.length > 1);
    if (along < 0) along = 0;
    const valueText = (axis, value) => (typeof value === "number" && axis.name.endsWith("bytes") ? sizeText(value) : String(value));
    const table = make("table"), holder = make("div"), sliders = make("div", { className: "sliders" }), bar = make("div", { className: "bar" });
    const find = (changed, value) => points.find((point) => axes.every((axis, i) => point[axis.name] === (i === changed ? value : axis.values[axis.at])));
    const show = () => {
      const here = find(-1);
      table.replaceChildren(...(here ? result.metrics.map((each) => make("tr", { title: each.summary || "" }, make("td", {}, each.name),
        make("td", {}, typeof here[each.name] === "number" ? short(here[each.name], 6) : String(here[each.name] ?? "-")))) : [make("tr", {}, make("td", {}, "no such point: it was refused, or not run"))]));
      const axis = axes[along];
      const isNumber = axis.values.every((value) => typeof value === "number");
      const xs = isNumber ? axis.values : axis.values.map((_, i) => i);
      const ys = axis.values.map((value) => { const point = find(along, value); return point && typeof point[metric] === "number" ? point[metric] : null; });
      const ratio = isNumber && xs.length > 2 && xs[0] > 0 ? xs[xs.length - 1] / xs[0] : 1;
      holder.replaceChildren();
      plot(holder, xs, [{ label: metric, stroke: COLOURS[0], width: 2, points: { show: true, size: 7, fill: COLOURS[0] }, spanGaps: true, ys, value: (_, value) => (value === null ? "" : short(value)) },
        { label: "chosen", stroke: COLOURS[1], paths: () => null, points: { show: true, size: 13, stroke: COLOURS[1], width: 3 }, ys: axis.values.map((_, i) => (i === axis.at ? ys[i] : null)), value: () => "" }],
      { logX: ratio >= 16, logY: false, x: axis.name, y: metric, xText: (x) => (isNumber ? valueText(axis, x) : String(axis.values[Math.round(x)] ?? "")) });
    };
    axes.forEach((axis, i) => {
      const text = make("output", {}, valueText(axis, axis.values[0]));
      const slider = make("input", { type: "range", min: "0", max: String(axis.values.length - 1), value: "0", oninput: () => { axis.at = Number(slider.value); text.textContent = valueText(axis, axis.values[axis.at]); show(); } });
      sliders.append(make("label", {}, make("span", {}, axis.name), slider, text));
    });
    bar.append(choice("Metric", numeric.map((each) => each.name), (i) => { metric = numeric[i].name; show(); }).element);
    if (axes.length > 1) { const pick = choice("Along", axes.map((axis) => axis.name), (i) => { along = i; show(); }); pick.select.selectedIndex = along; bar.append(pick.element); }
    body.append(sliders, bar, make("div", { className: "pair" }, table, holder));
    show();
  }

  window.weftViews = [];
  showResults();
  showCurves();
  data.results.forEach(showBreakdown);
  data.timelines.forEach(showTimeline);
  data.topologies.forEach(showTopology);
  data.results.forEach(showSweep);
  for (const note of data.notes) app.append(make("p", { className: "hint" }, note));
  document.querySelector("nav").append(...sections.map(({ id, title }) => make("a", { href: `#${id}` }, title)));
})();
