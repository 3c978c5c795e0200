// A plot with two axes. Axis: {range, title, ticks, labels, grid, format}; marks in the units of the axes:
// rect {x0, x1, y0, y1, fill}, line and area {points, stroke}, dot {x, y, r, fill, shape}, span {x0, y0, x1, y1}, text {x, y, text}.
const DASHES = { dot: '2 3', dash: '7 4' };

function drawPlot({ x, y, marks, width, height, right = 14 }) {
  const size = 12, xs = axisTicks(x, Math.max(2, Math.floor(width / 110))), ys = axisTicks(y, Math.max(2, Math.floor(height / 60)));
  const room = Math.min(0.42 * width, Math.max(...ys.labels.map((label) => textWidth(label, size)), 8) + 14), beside = room + (y.title ? 20 : 0);
  const slot = (width - beside - right) / Math.max(1, xs.labels.length), longest = Math.max(...xs.labels.map((label) => textWidth(label, size)));
  const turned = x.labels !== undefined && longest > slot - 4, most = Math.min(140, 0.36 * width);
  // A turned label reaches to the left of its tick: the first must not leave the sheet.
  const left = turned ? Math.max(beside, 0.77 * Math.min(most, textWidth(xs.labels[0], size)) - slot / 2 + 2) : beside, inner = width - left - right;
  const foot = turned ? 18 + 0.65 * Math.min(most, longest) : 22, bottom = foot + (x.title ? 20 : 0), top = 8;
  const at = { x: (v) => left + ((v - x.range[0]) / (x.range[1] - x.range[0] || 1)) * inner, y: (v) => height - bottom - ((v - y.range[0]) / (y.range[1] - y.range[0] || 1)) * (height - top - bottom) };
  const parts = [];
  ys.values.forEach((v, i) => {
    if (y.grid !== false) parts.push(s('line', { x1: left, x2: width - right, y1: at.y(v), y2: at.y(v), class: 'grid' }));
    parts.push(s('text', { x: left - 8, y: at.y(v) + 4, 'text-anchor': 'end', class: 'tick' }, fitted(ys.labels[i], room - 10, size)));
  });
  xs.values.forEach((v, i) => {
    if (x.grid !== false) parts.push(s('line', { x1: at.x(v), x2: at.x(v), y1: top, y2: height - bottom, class: 'grid' }));
    const place = { x: at.x(v), y: height - bottom + 16, 'text-anchor': 'middle', class: 'tick' };
    if (turned) Object.assign(place, { 'text-anchor': 'end', transform: `rotate(-40 ${at.x(v) + 4} ${height - bottom + 12})`, x: at.x(v) + 4, y: height - bottom + 12 });
    parts.push(s('text', place, turned ? fitted(xs.labels[i], most, size) : xs.labels[i]));
  });
  if (x.title) parts.push(s('text', { x: Math.min(left + inner / 2, width - Math.min(width / 2, textWidth(x.title, size) / 2 + 4)), y: height - 5, 'text-anchor': 'middle', class: 'tick' }, fitted(x.title, width - 8, size)));
  if (y.title) parts.push(s('text', { x: 0, y: 0, transform: `translate(12 ${(height - bottom + top) / 2}) rotate(-90)`, 'text-anchor': 'middle', class: 'tick' }, y.title));
  for (const mark of marks) if (mark) parts.push(drawMark(mark, at));
  return sheet(width, height, parts);
}

function axisTicks({ range, ticks, labels, format = short }, wanted) {
  const values = ticks ?? ticksOf(range[0], range[1], wanted);
  return { values, labels: labels ?? values.map(format) };
}

function drawMark(mark, at) {
  const seen = { tip: mark.tip, choose: mark.choose, opacity: mark.opacity, class: mark.choose ? 'choice' : null };
  if (mark.kind === 'rect') {
    const [a, b] = [at.x(mark.x0), at.x(mark.x1)], [c, d] = [at.y(mark.y0), at.y(mark.y1)], inset = mark.inset ?? 0;
    return s('rect', { ...seen, x: Math.min(a, b) + inset, y: Math.min(c, d) + inset, width: Math.max(0.5, Math.abs(b - a) - 2 * inset), height: Math.max(0.5, Math.abs(d - c) - 2 * inset), rx: mark.round ?? 2, fill: mark.fill, stroke: mark.stroke, 'stroke-width': mark.stroke ? 2 : null });
  }
  const path = (points) => points.map(([px, py], i) => `${i ? 'L' : 'M'}${at.x(px).toFixed(1)} ${at.y(py).toFixed(1)}`).join('');
  if (mark.kind === 'line') return s('path', { ...seen, d: path(mark.points), fill: 'none', stroke: mark.stroke, 'stroke-width': mark.width ?? 2, 'stroke-dasharray': DASHES[mark.dash], 'stroke-linejoin': 'round' });
  if (mark.kind === 'area') return s('path', { ...seen, d: `${path(mark.points)}Z`, fill: mark.fill });
  if (mark.kind === 'text') return s('text', { x: at.x(mark.x) + (mark.dx ?? 0), y: at.y(mark.y) + (mark.dy ?? 4), 'text-anchor': mark.anchor ?? 'start', fill: mark.fill, class: mark.strong ? 'mark strong' : 'mark' }, mark.text);
  if (mark.kind === 'span') {
    const [a, b, c, d] = [at.x(mark.x0), at.y(mark.y0), at.x(mark.x1), at.y(mark.y1)], cap = mark.caps ? 5 : 0, flat = Math.abs(b - d) < Math.abs(a - c);
    const caps = cap ? (flat ? `M${a} ${b - cap}V${b + cap}M${c} ${d - cap}V${d + cap}` : `M${a - cap} ${b}H${a + cap}M${c - cap} ${d}H${c + cap}`) : '';
    return s('path', { ...seen, d: `M${a} ${b}L${c} ${d}${caps}`, fill: 'none', stroke: mark.stroke, 'stroke-width': mark.width ?? 2 });
  }
  const cx = at.x(mark.x), cy = at.y(mark.y), r = mark.r ?? 4;
  if (mark.shape === 'diamond') return s('path', { ...seen, d: `M${cx} ${cy - r}L${cx + r} ${cy}L${cx} ${cy + r}L${cx - r} ${cy}Z`, fill: mark.fill, stroke: 'var(--card)', 'stroke-width': 1.5 });
  return s('circle', { ...seen, cx, cy, r, fill: mark.fill });
}

// Bars side by side for each category; bar: {value, fill, tip}. Lying bars have their categories from the top down.
function groupedBars({ categories, groups, width, height, axis, lying = false, choose = null }) {
  const n = categories.length, wide = 0.78 / Math.max(groups.length, 1), marks = [];
  groups.forEach((group, g) => group.values.forEach((value, i) => {
    if (value === null) return;
    const from = (lying ? n - 1 - i + 0.39 - (g + 1) * wide : i - 0.39 + g * wide), tip = group.tips[i];
    const bar = lying ? { x0: 0, x1: value, y0: from, y1: from + wide } : { x0: from, x1: from + wide, y0: 0, y1: value };
    marks.push({ kind: 'rect', ...bar, fill: Array.isArray(group.fill) ? group.fill[i] : group.fill, stroke: group.stroke?.[i], tip, choose: choose && (() => choose(i, g)), round: 1.5 });
    if (group.texts) marks.push({ kind: 'text', x: value, y: from + wide / 2, dx: 5, text: group.texts[i], fill: 'var(--ink)' });
    const span = group.spans?.[i];
    if (span) marks.push({ kind: 'span', x0: from + wide / 2, x1: from + wide / 2, y0: span[0], y1: span[1], stroke: 'var(--ink)', width: 1.2, caps: true });
  }));
  const band = { range: [-0.5, n - 0.5], ticks: categories.map((_, i) => (lying ? n - 1 - i : i)), labels: categories, grid: false };
  return drawPlot({ x: lying ? axis : { ...band, title: axis.across }, y: lying ? band : axis, marks, width, height, right: lying && groups.some((group) => group.texts) ? 40 : 14 });
}
