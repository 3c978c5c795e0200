// The map: land and borders, links, nodes at their coordinates; a legend that stays, and zoom by buttons, double click and drag.
function mapChart() {
  const net = NET(), stored = STUDY.network.map, x = unpack(stored.x), y = unpack(stored.y), placed = unpack(stored.placed);
  const here = [...Array(net.size).keys()].filter((i) => placed[i]), top = Math.max(...net.traffic, 1), small = net.size > 1500;
  const colourBy = h('select', { 'aria-label': 'Colour of the nodes' }), links = h('input', { type: 'checkbox', id: 'show-links', checked: true });
  const ways = [['label', 'class'], ['traffic', 'traffic'], ['memory', 'contexts'], ...Object.keys(STUDY.predictions ?? {}).map((name) => [`wrong:${name}`, `right or wrong: ${name}`])];
  options(colourBy, net.classes.length ? ways : ways.slice(1));
  const zoom = { k: 1, x: 0, y: 0 };
  let layers = null, groups = [];
  const bounds = (values) => [Math.min(...here.map((i) => values[i])), Math.max(...here.map((i) => values[i]))];
  const [west, east] = bounds(x), [south, north] = bounds(y), pad = 0.05 * Math.max(east - west, north - south, 0.02);

  function turn(step, about = null) {
    const k = Math.min(40, Math.max(1, zoom.k * step)), [cx, cy] = about ?? [layers.width / 2, layers.height / 2];
    zoom.x = cx - ((cx - zoom.x) * k) / zoom.k; zoom.y = cy - ((cy - zoom.y) * k) / zoom.k; zoom.k = k;
    moved();
  }
  function moved() {
    const { width, height, stage, dots, names } = layers;
    zoom.x = Math.min(0, Math.max(width * (1 - zoom.k), zoom.x)); zoom.y = Math.min(0, Math.max(height * (1 - zoom.k), zoom.y));
    stage.setAttribute('transform', `translate(${zoom.x} ${zoom.y}) scale(${zoom.k})`);
    for (const dot of dots) dot.setAttribute('r', dot.size / zoom.k ** 0.75);
    for (const name of names) name.setAttribute('transform', `translate(${name.place[0]} ${name.place[1]}) scale(${1 / zoom.k})`);
  }
  const button = (text, label, act) => h('button', { type: 'button', class: 'tool', 'aria-label': label, onclick: act }, text);
  const chart = new Chart({
    title: 'Map', file: 'nodes.csv', level: 'h3', note: 'Nodes at their coordinates; the larger, the more traffic. Click one. Land and borders: Natural Earth.',
    extra: [h('label', { class: 'inline' }, 'Colour ', colourBy), h('label', { class: 'tick' }, links, ' links'), h('span', { class: 'buttons' }, button('+', 'Zoom in', () => turn(1.6)), button('−', 'Zoom out', () => turn(1 / 1.6)), button('whole', 'Show the whole map', () => { Object.assign(zoom, { k: 1, x: 0, y: 0 }); moved(); }))],
    legend: () => groups.map(({ name, colour }) => ({ name, colour })),
    make(width) {
      const scale = width / (east - west + 2 * pad), height = Math.min(620, Math.max(240, scale * (north - south + 2 * pad))), used = Math.min(scale, height / (north - south + 2 * pad));
      const px = (v) => (v - (west + east) / 2) * used + width / 2, py = (v) => height / 2 - (v - (south + north) / 2) * used;
      groups = colouring(colourBy.value, here);
      const { node } = shownNode(), faded = view.node !== null, near = faded ? new Set([node, ...net.outOf[node].map((e) => net.links.target[e]), ...net.into[node].map((e) => net.links.source[e])]) : null;
      const shrink = width < 500 ? 0.65 : 1, sizeOf = (i) => shrink * ((small ? 1.8 : 3) + (small ? 5 : 9) * Math.sqrt(net.traffic[i] / top));
      const dots = groups.flatMap((group) => group.nodes.map((i, k) => {
        const dot = s('circle', { cx: px(x[i]).toFixed(1), cy: py(y[i]).toFixed(1), fill: group.scale ? `color-mix(in srgb, var(--accent) ${Math.round(15 + 85 * group.scale[k])}%, var(--card))` : group.colour, class: 'choice node', opacity: near && !near.has(i) ? 0.15 : 0.92, tip: aboutNode(i), choose: () => choose(i) });
        dot.size = sizeOf(i);
        return dot;
      }));
      dots.sort((a, b) => b.size - a.size);
      const busiest = [...here].sort((a, b) => net.traffic[b] - net.traffic[a]).slice(0, width < 500 ? 5 : 14), taken = [], named = [];
      for (const i of faded ? [node, ...busiest.filter((one) => near.has(one) && one !== node)] : busiest) {
        const text = brief(net.names[i], 16), wide = textWidth(text, 11) + 4, box = [px(x[i]) + sizeOf(i) + 2, py(y[i]) - 7, wide, 14];
        if (!placed[i] || taken.some((t) => t[0] < box[0] + box[2] && box[0] < t[0] + t[2] && t[1] < box[1] + box[3] && box[1] < t[1] + t[3])) continue;
        taken.push(box);
        const name = s('text', { class: `place${i === node && faded ? ' strong' : ''}`, x: sizeOf(i) + 3, y: 4 }, text);
        name.place = [px(x[i]), py(y[i])];
        named.push(name);
      }
      const stage = s('g', {}, landLayer(stored.land, px, py), stored.grid.map((line) => s('path', { class: 'graticule', d: `M${line.x.map((v, i) => `${px(v).toFixed(1)} ${py(line.y[i]).toFixed(1)}`).join('L')}` })), linkLayer({ x, y, placed, px, py, shown: links.checked, node: faded ? node : null }), dots, named);
      layers = { width, height, stage, dots, names: named };
      moved();
      const made = sheet(width, Math.round(height), s('rect', { width, height, class: 'sea' }), stage);
      made.classList.add('map');
      dragged(made, (dx, dy) => { zoom.x += dx; zoom.y += dy; moved(); });
      made.addEventListener('dblclick', (event) => { const box = made.getBoundingClientRect(); turn(2, [event.clientX - box.x, event.clientY - box.y]); });
      return made;
    },
    table() {
      return { columns: ['node', 'class', 'out weight', 'in weight', 'contexts'], rows: net.names.map((name, i) => [name, net.classNames[net.label[i]] ?? null, net.out[i], net.in[i], net.family[i].length]) };
    },
  });
  for (const control of [colourBy, links]) control.addEventListener('change', () => chart.update());
  return chart;
}

function landLayer(land, px, py) {
  const kinds = unpack(land.kinds), lengths = unpack(land.lengths), points = unpack(land.points), paths = land.names.map(() => []);
  let at = 0;
  kinds.forEach((kind, i) => {
    let d = '';
    for (let k = 0; k < lengths[i]; k++, at += 2) d += `${k ? 'L' : 'M'}${px(points[at] / land.units).toFixed(1)} ${py(points[at + 1] / land.units).toFixed(1)}`;
    paths[kind].push(kind < 2 ? `${d}Z` : d);
  });
  return land.names.map((name, kind) => s('path', { class: name, d: paths[kind].join('') }));
}

// All links in three weights, or of one node those in and out, as arcs that bend to the right of their way.
function linkLayer({ x, y, placed, px, py, shown, node }) {
  const net = NET(), { source, target } = net.links;
  const arc = (e, bend) => {
    const [a, b] = [source[e], target[e]];
    if (a === b || !placed[a] || !placed[b]) return '';
    const [x0, y0, x1, y1] = [px(x[a]), py(y[a]), px(x[b]), py(y[b])];
    return `M${x0.toFixed(1)} ${y0.toFixed(1)}Q${((x0 + x1) / 2 - bend * (y1 - y0)).toFixed(1)} ${((y0 + y1) / 2 + bend * (x1 - x0)).toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
  };
  if (node !== null) return [['into', '--second'], ['outOf', '--accent']].map(([side, colour]) => s('path', { class: 'links own', stroke: `var(${colour})`, d: net[side][node].slice(0, 150).map((e) => arc(e, 0.16)).join('') }));
  if (!shown) return null;
  const most = Math.min(net.links.kept, net.links.drawn), cut = [0, Math.ceil(most * 0.06), Math.ceil(most * 0.25), most];
  return [2, 1, 0].map((bin) => { let d = ''; for (let e = cut[bin]; e < cut[bin + 1]; e++) d += arc(e, 0.05); return s('path', { class: `links bin${bin}`, d }); });
}

function colouring(mode, all) {
  const net = NET();
  if (mode === 'label') {
    const groups = [...net.classNames.map((name, c) => ({ name, colour: classColour(c), nodes: all.filter((i) => net.label[i] === c) })), { name: 'no class', colour: 'var(--soft)', nodes: all.filter((i) => net.label[i] < 0) }];
    return groups.filter((group) => group.nodes.length);
  }
  if (mode.startsWith('wrong:')) {
    const said = predictionsOf(mode.slice(6)), state = new Map();
    said.at.forEach((at, b) => { if (at >= 0) state.set(at, said.predicted[b] === said.truth[b]); });
    return [['right', 'var(--good)', true], ['wrong', 'var(--bad)', false], ['not tested', 'var(--soft)', undefined]].map(([name, colour, kind]) => ({ name, colour, nodes: all.filter((i) => state.get(i) === kind) })).filter((group) => group.nodes.length);
  }
  const value = all.map((i) => Math.log10(1 + (mode === 'memory' ? net.family[i].length : net.traffic[i]))), most = Math.max(...value, 1e-9);
  return [{ name: `more ${mode === 'memory' ? 'contexts' : 'traffic'}: darker`, colour: 'var(--accent)', nodes: all, scale: value.map((v) => v / most) }];
}

function dragged(element, move) {
  let from = null;
  element.addEventListener('pointerdown', (event) => { if (event.pointerType === 'mouse' && !event.target.choose) { from = [event.clientX, event.clientY]; element.setPointerCapture(event.pointerId); } });
  element.addEventListener('pointermove', (event) => { if (from) { move(event.clientX - from[0], event.clientY - from[1]); from = [event.clientX, event.clientY]; } });
  element.addEventListener('pointerup', () => { from = null; });
}
