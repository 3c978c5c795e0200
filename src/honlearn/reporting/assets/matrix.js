// The matrix: how many steps go from each row to each column, between classes or between the busiest entities.
const MATRIX_ENTITIES = 45;

function matrixChart(kind) {
  const net = NET(), build = once(() => (kind === 'classes' ? classMatrix(net) : entityMatrix(net))), some = net.size > MATRIX_ENTITIES;
  const order = net.classes.length ? 'Sorted by class, the busiest first.' : 'The busiest first.';
  const chart = new Chart({
    title: kind === 'classes' ? 'Steps between classes' : `Steps between ${some ? `the ${MATRIX_ENTITIES} busiest entities` : 'entities'}`, file: `matrix-of-${kind}.csv`, level: 'h3',
    note: kind === 'classes' ? 'From the row to the column; the darker, the larger the share of the row.' : `From the row to the column; the darker, the more steps (logarithm). ${order}`,
    make: (width) => drawMatrix(build(), width),
    table() { const { rows, cells } = build(); return { columns: ['from', 'to', 'steps'], rows: cells.map(([a, b, weight]) => [rows[a].name, rows[b].name, weight]) }; },
  });
  // Without a map the column beside the node has room for the matrix of entities.
  chart.wide = Boolean(net.map) || kind === 'classes';
  return chart;
}

function entityMatrix(net) {
  const busiest = [...Array(net.size).keys()].sort((a, b) => net.traffic[b] - net.traffic[a]).slice(0, MATRIX_ENTITIES);
  const group = (i) => (net.label[i] < 0 ? net.classes.length : net.label[i]);
  busiest.sort((a, b) => group(a) - group(b) || net.traffic[b] - net.traffic[a]);
  const place = new Map(busiest.map((i, k) => [i, k])), cells = [];
  for (let e = 0; e < net.links.kept; e++) {
    const [a, b] = [place.get(net.links.source[e]), place.get(net.links.target[e])];
    if (a !== undefined && b !== undefined) cells.push([a, b, net.links.weight[e]]);
  }
  return { rows: busiest.map((i) => ({ name: net.names[i], entity: i, colour: net.classes.length ? classColour(net.label[i]) : null })), cells };
}

function classMatrix(net) {
  const n = net.classes.length, sums = new Float64Array((n + 1) * (n + 1)), at = (i) => (net.label[i] < 0 ? n : net.label[i]);
  for (let e = 0; e < net.links.kept; e++) sums[at(net.links.source[e]) * (n + 1) + at(net.links.target[e])] += net.links.weight[e];
  const used = [...Array(n + 1).keys()].filter((c) => c < n || sums.some((v, k) => v && (k % (n + 1) === n || Math.floor(k / (n + 1)) === n)));
  const cells = [];
  for (const a of used) for (const b of used) if (sums[a * (n + 1) + b]) cells.push([a, b, sums[a * (n + 1) + b]]);
  const total = new Map();
  for (const [a, , weight] of cells) total.set(a, (total.get(a) ?? 0) + weight);
  return { shade: ([a, , weight]) => weight / total.get(a), rows: used.map((c) => ({ name: c < n ? net.classNames[c] : 'no class', entity: null, colour: c < n ? classColour(c) : 'var(--soft)' })), cells };
}

function drawMatrix({ rows, cells, shade }, width) {
  const n = rows.length, label = Math.min(0.3 * width, Math.max(...rows.map((row) => textWidth(row.name, 11)), 20) + 22), size = Math.min(44, 700 / n, (width - label - 4) / n), top = Math.min(110, label), most = Math.log1p(Math.max(...cells.map((cell) => cell[2]), 1));
  const depth = shade ?? (([, , weight]) => Math.log1p(weight) / most);
  const parts = [s('rect', { x: label, y: top, width: n * size, height: n * size, class: 'empty-cells' })], words = size >= 9;
  for (const cell of cells) {
    const [a, b, weight] = cell;
    parts.push(s('rect', { x: (label + b * size).toFixed(2), y: (top + a * size).toFixed(2), width: Math.max(size - 0.6, 0.6).toFixed(2), height: Math.max(size - 0.6, 0.6).toFixed(2), fill: `color-mix(in srgb, var(--accent) ${Math.round(10 + 90 * depth(cell))}%, var(--card))`, class: rows[a].entity === null ? null : 'choice', tip: `${rows[a].name} → ${rows[b].name}\n${short(weight)} steps${shade ? `, ${(100 * shade(cell)).toFixed(1)} % of the row` : ''}`, choose: rows[a].entity === null ? null : () => choose(rows[a].entity, null, true) }));
  }
  rows.forEach((row, k) => {
    const middle = (k + 0.5) * size;
    if (row.colour) parts.push(s('rect', { x: label - 8, y: top + k * size, width: 5, height: Math.max(size - 0.6, 0.6), fill: row.colour }), s('rect', { x: label + k * size, y: top - 8, width: Math.max(size - 0.6, 0.6), height: 5, fill: row.colour }));
    if (!words) return;
    const act = row.entity === null ? {} : { class: 'label choice', choose: () => choose(row.entity, null, true) };
    parts.push(s('text', { x: label - 12, y: top + middle + 4, 'text-anchor': 'end', class: 'label small', ...act }, fitted(row.name, label - 14, 11)));
    parts.push(s('text', { transform: `translate(${label + middle + 4} ${top - 12}) rotate(-90)`, class: 'label small', ...act }, fitted(row.name, top - 14, 11)));
  });
  return sheet(width, Math.ceil(top + n * size + 6), parts);
}
