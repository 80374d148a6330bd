// Draws the report from the JSON in the page. Every number is read from there by its path (number()), so that a test
// can compare what is seen with what was computed; units are worded as cost/report.hpp words them.
"use strict";
const account = JSON.parse(document.getElementById("account").textContent);
const kernels = account.kernels, measured = account.measured;
const byKernel = measured !== undefined && measured.steps_timed_by_kernel > 0;
const phases = ["forward", "backward", "optimizer"];
const $ = (id) => document.getElementById(id);
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));

// ---- numbers and their units

const separated = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
function inUnits(number, unit) {
  let whole = number / unit, hundredths = ((number % unit) * 100n + unit / 2n) / unit;
  if (hundredths === 100n) { whole += 1n; hundredths = 0n; }
  return whole + "." + String(hundredths).padStart(2, "0");
}
function scaled(number, base, units) {
  const n = BigInt(number);
  if (n < base) return n + " " + units[0];
  let unit = base, u = 1;
  for (; u + 1 < units.length && n / unit >= base; ++u) unit *= base;
  return inUnits(n, unit) + " " + units[u];
}
function siText(number, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let p = 0;
  for (; Math.abs(number) >= 999.5 && p + 1 < prefixes.length; ++p) number /= 1000;
  const decimals = (p === 0 && Number.isInteger(number)) || Math.abs(number) >= 99.95 ? 0 : Math.abs(number) >= 9.995 ? 1 : 2;
  return number.toFixed(decimals) + " " + prefixes[p] + unit;
}
const words = {
  count: (n) => separated(n),
  flops: (n) => scaled(n, 1000n, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"]),
  bytes: (n) => scaled(n, 1024n, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]),
  seconds: (n) => {
    const units = ["s", "ms", "us", "ns"];
    let u = 0;
    for (; u + 1 < units.length && n < 1 && n > 0; ++u) n *= 1000;
    return inUnits(BigInt(Math.floor(n * 1000 + 0.5)), 1000n) + " " + units[u];
  },
  intensity: (n) => inUnits(BigInt(Math.floor(n * 100)), 100n),
  rate: (n) => siText(n, "FLOP/s"),
  bandwidth: (n) => siText(n, "B/s"),
  part: (n) => (100 * n).toFixed(1) + " %",
};
const at = (path) => path.split("/").slice(1).reduce((value, name) => value?.[name], account);
/// The number at a path of the JSON, marked with both.
function number(path, unit) {
  const value = at(path);
  if (value === null || value === undefined) return "–";
  return `<span data-path="${path}" data-unit="${unit}">${words[unit](value)}</span>`;
}

// ---- what hovers

const tip = $("tip");
function showTip(target, x, y) {
  tip.textContent = target.dataset.tip in tips ? tips[target.dataset.tip](Number(target.dataset.of)) : "";
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + box.height + 24 > innerHeight ? Math.max(8, y - box.height - 12) : y + 14) + "px";
}
document.addEventListener("pointermove", (event) => {
  const target = event.target.closest?.("[data-tip]");
  if (target) showTip(target, event.clientX, event.clientY); else tip.hidden = true;
  light(target && target.dataset.tip === "kernel" && target.closest("#fusion") ? target.dataset.of : null);
});
document.addEventListener("pointerdown", (event) => {
  const target = event.target.closest?.("[data-tip]");
  if (target) showTip(target, event.clientX, event.clientY); else tip.hidden = true;
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
function light(kernel) {
  for (const edge of document.querySelectorAll("#fusion .edge"))
    edge.classList.toggle("lit", kernel !== null && (edge.dataset.from === kernel || edge.dataset.to === kernel));
}
function kernelWords(i) {
  const k = kernels[i];
  const lines = [`${k.layer}, ${k.phase}, kernel ${i}`, `${k.kind}: ${k.computes} → ${k.result}`];
  if (k.operations.length > 1) lines.push(runs(k.operations));
  if (k.refused) lines.push(`a kernel of our own: ${k.refused}`);
  lines.push(`${words.flops(k.flops.total)}, ${words.bytes(k.bytes.total)}, ${words.intensity(k.intensity)} FLOP/B`);
  lines.push(`at least ${words.seconds(k.least_seconds)}, bound by ${k.bound_by}` + (k.runs > 1 ? `; ${k.runs} runs` : ""));
  if (k.flops.recomputed > 0) lines.push(`${words.flops(k.flops.recomputed)} of it made again, to save memory`);
  if (k.measured) lines.push(`measured ${words.seconds(k.measured.seconds)}` +
    (k.measured.flops_per_second ? `, ${words.rate(k.measured.flops_per_second)}` : ""));
  return lines.join("\n");
}
/// "mul, 3 add, exp" of operations in order.
function runs(operations) {
  const found = [];
  for (const o of operations)
    if (found.length && found[found.length - 1][0] === o) ++found[found.length - 1][1]; else found.push([o, 1]);
  const text = found.map(([o, n]) => (n > 1 ? n + " " : "") + o);
  return text.length > 24 ? text.slice(0, 24).join(", ") + ", …" : text.join(", ");
}
let tiles = [], bands = [];
const tips = {
  kernel: kernelWords,
  buffer: (i) => {
    const b = account.memory.buffers[i], k = kernels[b.first];
    return `${words.bytes(b.bytes)} at ${words.bytes(b.offset)} of the arena\nfrom kernel ${b.first} (${k.layer}, ${k.phase})` +
      `\nto kernel ${b.last} (${kernels[b.last].layer}, ${kernels[b.last].phase})\nmade by ${k.computes} → ${k.result}`;
  },
  band: (i) => `${bands[i].name}: ${words.bytes(bands[i].bytes)}\nthrough the whole step`,
  tile: (i) => tiles[i],
  loss: (i) => `step ${separated(measured.loss[i][0])}\n${measured.loss[i][1].toFixed(4)} nats per token`,
};

// ---- drawing

const svg = (width, height, label, body, fixedWidth) =>
  `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(label)}"` +
  `${fixedWidth ? "" : ' style="max-width:100%"'}>${body}</svg>`;
const text = (x, y, words, more = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;
const line = (x1, y1, x2, y2, kind) => `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="${kind}"/>`;
const key = (entries) => entries.map(([colour, name]) => `<span><i style="background:${colour}"></i>${name}</span>`).join("");
const phaseKey = () => key(phases.map((p) => [`var(--${p})`, p]));
const widthOf = (id) => Math.max(300, $(id).clientWidth);
function logScale(low, high, from, to) {
  const a = Math.log10(low), b = Math.log10(high);
  const scale = (x) => from + (Math.log10(x) - a) / (b - a) * (to - from);
  scale.decades = [];
  for (let e = Math.ceil(a); e <= Math.floor(b); ++e) scale.decades.push(10 ** e);
  return scale;
}
function ticks(high, count, low = 0) {
  const raw = (high - low) / count, magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((m) => m * magnitude >= raw) * magnitude, first = Math.ceil(low / step);
  return Array.from({length: Math.max(0, Math.floor(high / step) - first + 1)}, (_, i) => (first + i) * step);
}

function drawRoofline() {
  const width = widthOf("roofline"), height = Math.min(460, Math.max(320, width * 0.55));
  const left = 62, right = 14, top = 16, bottom = 42, gutter = 34;
  const bandwidth = account.device.bytes_per_second;
  const used = new Set(["f32", ...kernels.map((k) => k.products_in)]);
  const roofs = account.device.peaks.filter((p) => used.has(p.operands) && p.accumulated !== "f16");
  const peak = Math.max(...roofs.map((p) => p.dense_flops_per_second));
  const working = kernels.filter((k) => k.flops.total > 0 && k.bytes.total > 0);
  const predicted = (k) => k.flops.total / k.least_seconds, achieved = (k) => k.measured?.flops_per_second;
  const rates = working.flatMap((k) => [predicted(k), achieved(k) ?? predicted(k)]);
  const x = logScale(Math.min(...working.map((k) => k.intensity)) / 1.6,
    2.5 * Math.max(peak / bandwidth, ...working.map((k) => k.intensity)), left + gutter, width - right);
  const y = logScale(Math.min(...rates) / 2, peak * 2.2, height - bottom, top);
  let body = "";
  for (const d of y.decades) body += line(left, y(d), width - right, y(d), "grid") + text(left - 6, y(d) + 4, siText(d, "").replace(/\.0+ /, " "), 'text-anchor="end" class="muted"');
  for (const d of x.decades) body += line(x(d), top, x(d), height - bottom, "grid") +
    (x(d) - left - gutter / 2 < 26 ? "" : text(x(d), height - bottom + 16, d >= 1 ? separated(d) : String(+d.toFixed(6)), 'text-anchor="middle" class="muted"'));
  body += text(left + gutter / 2, height - bottom + 16, "none", 'text-anchor="middle" class="muted"');
  body += text((left + width) / 2, height - 6, "FLOPs for each byte moved", 'text-anchor="middle" class="muted"');
  body += text(4, 11, "FLOP/s", 'class="muted"');
  const lowest = 10 ** (Math.log10(Math.min(...rates)) - Math.log10(2));
  const meets = Math.max(lowest / bandwidth, Math.min(...working.map((k) => k.intensity)) / 1.6);
  body += `<path class="roof-line" d="M${x(meets).toFixed(1)} ${y(meets * bandwidth).toFixed(1)}L${x(peak / bandwidth).toFixed(1)} ${y(peak).toFixed(1)}"/>`;
  for (const p of roofs) {
    const r = p.dense_flops_per_second;
    body += line(x(r / bandwidth), y(r), width - right, y(r), "roof-line") +
      text(width - right - 4, y(r) - 5, `${siText(r, "FLOP/s")} in ${p.operands}`, 'text-anchor="end" class="roof"');
  }
  const middle = Math.sqrt(meets * peak / bandwidth), ascent = Math.atan2(y(middle * bandwidth) - y(middle * 2 * bandwidth), x(middle * 2) - x(middle)) * 180 / Math.PI;
  body += text(x(middle), y(middle * bandwidth) - 6, siText(bandwidth, "B/s"), `text-anchor="middle" class="roof" transform="rotate(${(-ascent).toFixed(1)} ${x(middle).toFixed(1)} ${y(middle * bandwidth).toFixed(1)})"`);
  const longest = Math.max(...kernels.map((k) => (k.measured?.seconds ?? k.least_seconds) * k.runs));
  let still = 0;
  const stills = kernels.length - working.length;
  const order = kernels.map((_, i) => i).sort((a, b) => kernels[b].least_seconds - kernels[a].least_seconds);
  for (const i of order) {
    const k = kernels[i], radius = 2.5 + 11 * Math.sqrt((k.measured?.seconds ?? k.least_seconds) * k.runs / longest);
    const mark = (cx, cy, r, kind) => `<circle cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="${r.toFixed(1)}" class="${kind} ${k.phase}" data-tip="kernel" data-of="${i}"/>`;
    if (!(k.flops.total > 0 && k.bytes.total > 0)) {
      body += mark(left + gutter / 2, height - bottom - 8 - (height - bottom - top - 16) * (still++ + 0.5) / Math.max(8, stills), Math.min(radius, 7), "point kernel");
      continue;
    }
    if (byKernel && achieved(k)) body += mark(x(k.intensity), y(predicted(k)), 3, "predicted");
    body += mark(x(k.intensity), y(byKernel && achieved(k) ? achieved(k) : predicted(k)), radius, "point kernel");
  }
  $("roofline").innerHTML = svg(width, height, `Roofline of ${account.device.name}: ${kernels.length} kernels by FLOPs for each byte and FLOP/s`, body);
  $("roofline-key").innerHTML = phaseKey();
}

function drawMemory() {
  const m = account.memory, width = widthOf("memory"), height = Math.min(480, Math.max(340, width * 0.5));
  const left = 66, right = 10, top = 22, bottom = 40, n = kernels.length;
  bands = [["parameters", m.parameters], ["gradients", m.gradients], ["optimizer state", m.optimizer_state], ["inputs", m.inputs], ["tables", m.tables], ["other", m.other]]
    .filter(([, bytes]) => bytes > 0).map(([name, bytes]) => ({name, bytes}));
  const x = (k) => left + k / n * (width - left - right), y = (b) => height - bottom - b / (m.peak * 1.02) * (height - bottom - top);
  let body = "", below = 0;
  const unit = 2 ** (10 * Math.floor(Math.log2(m.peak) / 10));
  for (const t of ticks(m.peak / unit, 5)) body += line(left, y(t * unit), width - right, y(t * unit), "grid") + text(left - 6, y(t * unit) + 4, words.bytes(Math.round(t * unit)).replace(/\.00 /, " "), 'text-anchor="end" class="muted"');
  bands.forEach((band, i) => {
    const high = y(below) - y(below + band.bytes);
    body += `<rect x="${left}" y="${y(below + band.bytes).toFixed(1)}" width="${width - left - right}" height="${Math.max(0, high).toFixed(1)}" class="fixed" fill-opacity="${i % 2 ? 0.75 : 1}" data-tip="band" data-of="${i}"/>`;
    if (high > 14) body += text(left + 6, y(below + band.bytes / 2) + 4, `${band.name}, ${words.bytes(band.bytes)}`, 'pointer-events="none"');
    below += band.bytes;
  });
  m.buffers.forEach((b, i) => {
    body += `<rect x="${x(b.first).toFixed(2)}" y="${y(below + b.offset + b.bytes).toFixed(2)}" width="${(x(b.last + 1) - x(b.first)).toFixed(2)}" height="${Math.max(0.3, y(0) - y(b.bytes)).toFixed(2)}" class="life ${kernels[b.first].phase}" data-tip="buffer" data-of="${i}"/>`;
  });
  for (let k = 0; k < n;) {
    let end = k;
    while (end < n && kernels[end].phase === kernels[k].phase) ++end;
    body += `<rect x="${x(k).toFixed(1)}" y="${height - bottom + 3}" width="${(x(end) - x(k)).toFixed(1)}" height="5" class="${kernels[k].phase}"/>`;
    k = end;
  }
  const peakX = x(m.peak_kernel + 0.5);
  body += line(left, y(m.peak), width - right, y(m.peak), "mark-line") + line(peakX, y(m.peak), peakX, height - bottom, "mark-line");
  const peakWords = `peak ${words.bytes(m.peak)}, at kernel ${m.peak_kernel}`;
  body += text(Math.min(peakX + 5, width - right - 7 * peakWords.length), y(m.peak) - 6, peakWords, 'class="mark"');
  for (const t of ticks(n, Math.max(3, width / 130))) if (t < n) body += text(x(t), height - bottom + 22, separated(t), 'text-anchor="middle" class="muted"');
  body += text((left + width) / 2, height - 4, "kernel, in the order they run in", 'text-anchor="middle" class="muted"');
  $("memory").innerHTML = svg(width, height, `Memory over the ${n} kernels of a step: ${m.buffers.length} buffers, peak ${words.bytes(m.peak)} at kernel ${m.peak_kernel}`, body);
  $("memory-key").innerHTML = key([["var(--fixed)", "through the whole step"], ...phases.map((p) => [`var(--${p})`, `made in ${p}`])]);
}

const metrics = [["least_seconds", "least time", words.seconds, (k) => k.least_seconds * k.runs],
  ["flops", "FLOPs", words.flops, (k) => k.flops.total * k.runs], ["bytes", "bytes moved", words.bytes, (k) => k.bytes.total * k.runs]];
if (byKernel) metrics.unshift(["measured", "measured time", words.seconds, (k) => k.measured.seconds * k.runs]);

/// Rectangles in proportion to values, as square as may be. Source: Bruls, Huizing, van Wijk, Squarified Treemaps.
function squarified(values, box) {
  const total = values.reduce((a, b) => a + b, 0), placed = values.map(() => null);
  const order = values.map((_, i) => i).filter((i) => values[i] > 0).sort((a, b) => values[b] - values[a]);
  let {x, y, w, h} = box;
  const scale = w * h / total;
  for (let first = 0; first < order.length;) {
    const side = Math.min(w, h);
    let sum = 0, end = first, worst = Infinity;
    for (; end < order.length; ++end) {
      const next = sum + values[order[end]] * scale;
      const big = values[order[first]] * scale, small = values[order[end]] * scale;
      const now = Math.max(side * side * big / (next * next), next * next / (side * side * small));
      if (now > worst) break;
      worst = now;
      sum = next;
    }
    const thick = sum / side;
    let along = 0;
    for (const i of order.slice(first, end)) {
      const length = values[i] * scale / thick;
      placed[i] = w >= h ? {x, y: y + along, w: thick, h: length} : {x: x + along, y, w: length, h: thick};
      along += length;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    first = end;
  }
  return placed;
}

/// "blocks.3" of "blocks.3.mlp" among "blocks.*.mlp".
function partOf(layer, group) {
  const star = group.indexOf("*");
  return star < 0 ? "" : layer.slice(0, layer.length - (group.length - star - 1));
}

function drawTreemap() {
  const width = widthOf("treemap"), height = Math.min(420, Math.max(360, width * 0.42));
  const [, name, unit, value] = metrics.find((m) => m[0] === $("treemap-metric").value);
  const add = (sums, key, phase, more) => {
    if (!sums.has(key)) sums.set(key, {name: key, parts: phases.map(() => 0), sum: 0, layers: new Map()});
    const entry = sums.get(key);
    entry.parts[phases.indexOf(phase)] += more;
    entry.sum += more;
    return entry;
  };
  const groups = new Map(), groupOf = new Map(account.layers.map((l) => [l.name, l.group]));
  for (const k of kernels) add(add(groups, groupOf.get(k.layer), k.phase, value(k)).layers, k.layer, k.phase, value(k));
  const entries = [...groups.values()], total = entries.reduce((sum, e) => sum + e.sum, 0);
  const nested = (items, box, draw) => squarified(items.map((item) => item.sum), box).forEach((place, i) => { if (place) draw(items[i], place); });
  const rect = (b, more) => `<rect x="${b.x.toFixed(1)}" y="${b.y.toFixed(1)}" width="${b.w.toFixed(1)}" height="${b.h.toFixed(1)}" ${more}/>`;
  const border = (b, width) => rect(b, `fill="none" stroke="var(--back)" stroke-width="${width}" pointer-events="none"`);
  let body = "";
  tiles = [];
  nested(entries, {x: 0, y: 0, w: width, h: height}, (group, box) => {
    nested([...group.layers.values()], box, (layer, inner) => {
      let done = 0;
      layer.parts.forEach((more, p) => {  // side by side along the longer side, in order of phase
        if (more === 0) return;
        const from = done / layer.sum, share = more / layer.sum;
        done += more;
        const part = inner.w >= inner.h ? {...inner, x: inner.x + from * inner.w, w: share * inner.w}
                                        : {...inner, y: inner.y + from * inner.h, h: share * inner.h};
        body += rect(part, `class="tile ${phases[p]}" data-tip="tile" data-of="${tiles.length}"`);
        tiles.push(`${layer.name}, ${phases[p]}\n${unit(layer.parts[p])} of ${name}, ${words.part(layer.parts[p] / total)} of the step`);
      });
      body += border(inner, 2);
      const which = partOf(layer.name, group.name), low = inner.y + inner.h;  // of equal layers
      if (which && inner.w > 8 * which.length && low - box.y > 58 && inner.h > 20) body += text(inner.x + 9, low - 8, which, 'pointer-events="none" font-size="11"');
    });
    body += border(box, 5);
    const room = Math.floor((box.w - 12) / 6.9);
    if (room < 4 || box.h < 20) return;
    body += text(box.x + 9, box.y + 19, group.name.length > room ? group.name.slice(0, room - 1) + "…" : group.name, 'pointer-events="none" font-weight="600"');
    if (box.h > 38 && room >= 9) body += text(box.x + 9, box.y + 35, unit(group.sum) + (room > 17 ? `, ${words.part(group.sum / total)}` : ""), 'pointer-events="none"');
  });
  const label = (e) => `${e.name}: ${unit(e.sum)}`;
  $("treemap").innerHTML = svg(width, height, `Treemap of ${name} by layer. ${entries.map(label).join("; ")}`, body);
  $("treemap-key").innerHTML = phaseKey();
}

function drawFusion() {
  const chosen = $("fusion-layer").value, frame = widthOf("fusion") - 2;
  const shown = kernels.map((_, i) => i).filter((i) => chosen === "" || kernels[i].layer === chosen);
  const inside = new Set(shown), depth = new Map();
  for (const i of shown) depth.set(i, Math.max(-1, ...kernels[i].reads_from.filter((f) => inside.has(f)).map((f) => depth.get(f))) + 1);
  const small = shown.length > 80, w = small ? 18 : 120, h = small ? 14 : 40, gapX = small ? 8 : 12, gapY = small ? 12 : 26;
  const across = Math.max(1, Math.floor((frame - gapX) / (w + gapX)));
  const rows = [], place = new Map();
  const middle = (i) => {
    const from = kernels[i].reads_from.filter((f) => place.has(f)).map((f) => place.get(f).x);
    return from.length ? from.reduce((a, b) => a + b, 0) / from.length : frame / 2;
  };
  for (const i of shown) (rows[depth.get(i)] ??= []).push(i);
  let y = 12;
  for (const row of rows) {
    row.sort((a, b) => middle(a) - middle(b));
    for (let first = 0; first < row.length; first += across) {
      const part = row.slice(first, first + across), begin = (frame - part.length * (w + gapX) + gapX) / 2;
      part.forEach((i, n) => place.set(i, {x: begin + n * (w + gapX) + w / 2, y}));
      y += h + gapY;
    }
  }
  let body = "";
  for (const i of shown)
    for (const from of kernels[i].reads_from) {
      if (!inside.has(from)) continue;
      const a = place.get(from), b = place.get(i), y1 = a.y + h, bend = Math.max(10, (b.y - y1) / 2);
      body += `<path class="edge" data-from="${from}" data-to="${i}" d="M${a.x.toFixed(1)} ${y1}C${a.x.toFixed(1)} ${(y1 + bend).toFixed(1)} ${b.x.toFixed(1)} ${(b.y - bend).toFixed(1)} ${b.x.toFixed(1)} ${b.y}"/>`;
    }
  for (const i of shown) {
    const k = kernels[i], p = place.get(i), x0 = p.x - w / 2;
    if (small) {
      body += `<rect x="${x0.toFixed(1)}" y="${p.y}" width="${w}" height="${h}" rx="3" class="group ${k.phase}" data-tip="kernel" data-of="${i}"/>`;
      continue;
    }
    body += `<g data-tip="kernel" data-of="${i}" class="group"><rect x="${x0.toFixed(1)}" y="${p.y}" width="${w}" height="${h}" rx="6" class="box"/>` +
      `<rect x="${x0.toFixed(1)}" y="${p.y}" width="5" height="${h}" rx="2" class="${k.phase}"/>` +
      text(x0 + 12, p.y + 16, k.computes.length > 15 ? k.computes.slice(0, 14) + "…" : k.computes, 'font-weight="600"') +
      text(x0 + 12, p.y + 32, words.seconds(k.measured?.seconds ?? k.least_seconds), 'class="muted" font-size="11"') + "</g>";
  }
  $("fusion").innerHTML = svg(frame, y, `${shown.length} fusion groups of ${chosen || "the whole step"}`, body, true);
  $("fusion-key").innerHTML = phaseKey();
}

function drawLoss() {
  const points = measured.loss, width = widthOf("loss"), height = Math.min(320, Math.max(240, width * 0.32));
  const left = 46, right = 12, top = 10, bottom = 40;
  const first = points[0][0], last = points[points.length - 1][0];
  const high = Math.max(...points.map((p) => p[1])) * 1.04, low = Math.min(...points.map((p) => p[1])) * 0.94;
  const x = (s) => left + (last === first ? 0.5 : (s - first) / (last - first)) * (width - left - right);
  const y = (l) => height - bottom - (l - low) / (high - low) * (height - bottom - top);
  let body = "";
  for (const t of ticks(high, 6, low)) body += line(left, y(t), width - right, y(t), "grid") + text(left - 6, y(t) + 4, t.toFixed(high - low < 1 ? 2 : 1), 'text-anchor="end" class="muted"');
  for (const t of ticks(last, Math.max(3, width / 130))) if (t >= first) body += text(x(t), height - bottom + 16, separated(t), 'text-anchor="middle" class="muted"');
  body += text((left + width) / 2, height - 6, "step", 'text-anchor="middle" class="muted"');
  body += `<path class="curve" d="${points.map((p, i) => (i ? "L" : "M") + x(p[0]).toFixed(1) + " " + y(p[1]).toFixed(1)).join("")}"/>`;
  const wide = (width - left - right) / points.length;
  points.forEach((p, i) => { body += `<rect x="${(x(p[0]) - wide / 2).toFixed(1)}" y="${top}" width="${wide.toFixed(2)}" height="${height - top - bottom}" fill="transparent" style="stroke:none" data-tip="loss" data-of="${i}"/>`; });
  $("loss").innerHTML = svg(width, height, `Loss from ${points[0][1].toFixed(3)} at step ${first} to ${points[points.length - 1][1].toFixed(3)} nats per token at step ${last}`, body);
}

// ---- words and tables

function writeFacts() {
  document.title = $("title").textContent = `One training step of ${account.name}`;
  const peaks = account.device.peaks.map((p, i) => `${number(`/device/peaks/${i}/dense_flops_per_second`, "rate")} in ${p.operands}`).join(", ");
  $("subtitle").innerHTML = `on ${escaped(account.device.name)}: ${number("/device/bytes_per_second", "bandwidth")}; ${peaks}`;
  const facts = [["tokens", number("/tokens", "count")], ["parameters", number("/parameters", "count")],
    ["FLOPs", number("/total/flops/total", "flops"), `${number("/model_flops/exact/total", "flops")} by the model`],
    ["bytes moved", number("/total/bytes/total", "bytes"), `${number("/total/intensity", "intensity")} FLOP/B`],
    ["kernels launched", number("/total/launches", "count")],
    ["peak memory", number("/memory/peak", "bytes"), number("/memory/peak", "count") + " bytes"],
    ["time, at least", number("/total/least_seconds", "seconds"), "a lower bound"]];
  if (measured) facts.push(["time, measured", number("/measured/step_seconds", "seconds"), number("/measured/flops_per_second", "rate")],
    ["MFU", number("/measured/mfu", "part"), measured.mfu === null ? escaped(measured.mfu_unknown) : `of the ${escaped(measured.peak_in)} peak`],
    ["HFU", number("/measured/hfu", "part"), measured.hfu === null ? "" : "of what was executed"]);
  $("facts").innerHTML = facts.map(([name, value, more]) => `<div><dt>${name}</dt><dd>${value}${more ? `<small>${more}</small>` : ""}</dd></div>`).join("");
  $("roofline-note").textContent = "Each point is a kernel, its area in proportion to its time. " + (byKernel
    ? "Full: measured, the median of " + measured.steps_timed_by_kernel + " steps. Rings: the least time, a lower bound."
    : "It stands where the least possible time puts it, a lower bound; after training it stands where it was measured.") +
    " At “none”: kernels that only move bytes.";
  $("kernels-note").textContent = "“At least” is a lower bound: the larger of FLOPs over the peak and bytes over the bandwidth. “Needs” is what is alive in the arena.";
  $("kernels-summary").textContent = `All ${separated(kernels.length)} kernels, one run of each`;
  $("foot").textContent = "All numbers of this page are in the JSON within it. FLOPs are as executed; exponentials and their like are counted apart.";
}
const measuredHead = () => byKernel ? '<th class="measured">measured<th class="measured">achieved<th class="measured">of the bound' : "";
function costCells(path) {
  if (at(path + "/launches") === 0) return '<td>–<td>–<td>–<td class="name">–<td>–' + (byKernel ? '<td class="measured">–'.repeat(3) : "");
  const seconds = at(path + "/measured/seconds");
  return `<td>${number(path + "/flops/total", "flops")}<td>${number(path + "/bytes/total", "bytes")}<td>${number(path + "/intensity", "intensity")}` +
    `<td class="name">${at(path + "/bound_by")}<td>${number(path + "/least_seconds", "seconds")}` +
    (byKernel ? `<td class="measured">${number(path + "/measured/seconds", "seconds")}<td class="measured">${number(path + "/measured/flops_per_second", "rate")}` +
      `<td class="measured">${seconds > 0 ? words.part(at(path + "/least_seconds") / seconds) : "–"}` : "");
}
const costHead = () => `<th>FLOPs<th>bytes<th>FLOP/B<th class="name">bound by<th>at least${measuredHead()}`;
function writeTables() {
  const parts = [["parameters", "parameters"], ...(account.memory.master_copies > 0 ? [["master_copies", "of them, masters of narrower copies"]] : []), ...(account.memory.narrow_copies > 0 ? [["narrow_copies", "narrower copies of parameters"]] : []), ["gradients", "gradients"], ["optimizer_state", "optimizer state"], ["inputs", "inputs"], ["tables", "tables to run the plans by"], ...(account.memory.other > 0 ? [["other", "other"]] : []),
    ["arena", "arena: intermediates"], ["activations", "of it, kept for backward"], ["workspace", "of it, the largest workspace"], ...(account.memory.saved > 0 ? [["saved", "less, for values made again"]] : []), ["arena_lower_bound", "the arena’s lower bound"], ["peak", "peak"]];
  $("memory-table").innerHTML = "<thead><tr><th>memory<th>size<th>bytes<tbody>" + parts.map(([name, words]) =>
    `<tr${name === "peak" ? ' class="sum"' : ""}><td>${words}<td>${number("/memory/" + name, "bytes")}<td>${number("/memory/" + name, "count")}`).join("");
  $("layer-table").innerHTML = `<thead><tr><th>layer${costHead()}<th>parameters<th>kept for backward<th>launches<tbody>` + account.layers.map((l, i) => l.launches === 0 ? "" :
    `<tr><td>${escaped(l.name)}${costCells(`/layers/${i}`)}<td>${number(`/layers/${i}/parameters`, "count")}<td>${number(`/layers/${i}/kept_bytes`, "bytes")}<td>${number(`/layers/${i}/launches`, "count")}`).join("") +
    phases.map((p, i) => `<tr class="sum"><td>${p}${costCells(`/phases/${i}`)}<td><td><td>${number(`/phases/${i}/launches`, "count")}`).join("") +
    `<tr class="sum"><td>total${costCells("/total")}<td>${number("/parameters", "count")}<td><td>${number("/total/launches", "count")}`;
  const within = new Map();  // by group and parameters: the layers that have no kernel of their own
  account.layers.forEach((l, i) => {
    if (l.launches === 0) within.set(`${l.group} ${l.parameters}`, [...(within.get(`${l.group} ${l.parameters}`) ?? []), i]);
  });
  $("layer-note").innerHTML = within.size === 0 ? "" : "Computed within the kernels of others: " + [...within.values()].map((of) =>
    `${escaped(account.layers[of[0]].group)} (${of.length > 1 ? of.length + " of " : ""}${number(`/layers/${of[0]}/parameters`, "count")} parameters)`).join(", ") + ".";
  const remade = account.recomputed;
  if (remade?.groups.length > 0) {
    $("remade").hidden = false;
    $("remade-note").innerHTML = `To keep a budget of ${number("/recomputed/budget", "bytes")} the backward pass makes values of the forward pass itself: again, ` +
      `or later where nothing else reads them; what only those need is kept. The peak is ${number("/recomputed/saved_bytes", "bytes")} lower, what is kept for the backward pass ` +
      `${number("/recomputed/kept_less_bytes", "bytes")}; ${number("/recomputed/flops", "flops")} are done once more.`;
    $("remade-table").innerHTML = '<thead><tr><th>layer<th class="name">value<th class="name">result<th class="name">made<th>how many<th>frees<th>keeps<th>FLOPs<tbody>' +
      remade.groups.map((g, i) => {
        const bytes = g.bytes === 0 ? "" : number(`/recomputed/groups/${i}/bytes`, "bytes"), kept = g.made === "kept";
        return `<tr><td>${escaped(g.layers)}<td class="name">${escaped(g.value)}<td class="name">${escaped(g.result)}<td class="name">${kept ? "" : g.made}` +
          `<td>${number(`/recomputed/groups/${i}/count`, "count")}<td>${kept ? "" : bytes}<td>${kept ? bytes : ""}<td>${kept ? "" : number(`/recomputed/groups/${i}/flops`, "flops")}`;
      }).join("");
  }
  $("kernel-table").innerHTML = `<thead><tr><th>kernel<th class="name">layer<th class="name">phase<th class="name">computes<th class="name">result<th>runs${costHead()}<th>needs<tbody>` +
    kernels.map((k, i) => `<tr><td>${i}<td class="name">${escaped(k.layer)}<td class="name">${k.phase}<td class="name">${escaped(k.computes)}<td class="name">${escaped(k.result)}` +
      `<td>${number(`/kernels/${i}/runs`, "count")}${costCells(`/kernels/${i}`)}<td>${number(`/kernels/${i}/live_bytes`, "bytes")}`).join("");
}

// ---- controls

function fill() {
  $("treemap-metric").innerHTML = metrics.map(([name, words]) => `<option value="${name}">${words}</option>`).join("");
  const layers = account.layers.filter((l) => l.launches > 0).map((l) => l.name);
  $("fusion-layer").innerHTML = '<option value="">the whole step</option>' + layers.map((l) => `<option>${escaped(l)}</option>`).join("");
  const count = (layer) => kernels.filter((k) => k.layer === layer).length;
  $("fusion-layer").value = layers.filter((l) => count(l) <= 60 && l !== "optimizer").sort((a, b) => count(b) - count(a))[0] ?? "";
}
function draw() {
  drawRoofline();
  drawMemory();
  drawTreemap();
  drawFusion();
  if (measured?.loss.length > 1) drawLoss();
}
const schemes = ["", "light", "dark"];
let scheme = Math.max(0, schemes.indexOf(new URLSearchParams(location.search).get("scheme") ?? ""));
function showScheme() {
  if (schemes[scheme]) document.documentElement.dataset.scheme = schemes[scheme];
  else delete document.documentElement.dataset.scheme;
  $("scheme").textContent = "Colours: " + (schemes[scheme] || "system’s");
}
$("scheme").addEventListener("click", () => { scheme = (scheme + 1) % schemes.length; showScheme(); });
$("treemap-metric").addEventListener("change", drawTreemap);
$("fusion-layer").addEventListener("change", drawFusion);
let drawnAt = 0;
addEventListener("resize", () => { if (document.body.clientWidth !== drawnAt) { drawnAt = document.body.clientWidth; draw(); } });

showScheme();
fill();
writeFacts();
writeTables();
if (measured?.loss.length > 1) {
  $("loss-section").hidden = false;
  $("loss-note").textContent = "Nats per token of each step’s batch, before its update.";
}
drawnAt = document.body.clientWidth;
draw();
document.documentElement.dataset.drawn = "yes";  // for tests: all of the above ran
