// Network explorer: the first-order network, search, colours, and the node that is looked at.
const NET = STUDY.network && once(() => {
  const n = STUDY.network, net = { ...n, size: n.names.length };
  for (const name of ['label', 'x', 'y', 'placed', 'out', 'in']) net[name] = unpack(n[name]);
  net.links = { ...n.links, source: unpack(n.links.source), target: unpack(n.links.target), weight: unpack(n.links.weight) };
  const c = n.contexts;
  net.contexts = { ...c };
  for (const name of ['base', 'place', 'order', 'weight', 'chance', 'base_chance', 'targets', 'inside', 'at_base']) net.contexts[name] = unpack(c[name]);
  net.family = Array.from({ length: net.size }, () => []);
  net.contexts.base.forEach((entity, i) => net.family[entity].push(i));
  net.outOf = Array.from({ length: net.size }, () => []);
  net.into = Array.from({ length: net.size }, () => []);
  for (let e = 0; e < net.links.kept; e++) {
    net.outOf[net.links.source[e]].push(e);
    net.into[net.links.target[e]].push(e);
  }
  net.index = new Map(n.names.map((name, i) => [name, i]));
  return net;
});
const view = { node: null, relative: null, chart: null, zoom: 0 };
// What is known of a node, without its coordinates and without what only repeats its class.
const describe = (i) => {
  const { facts, classes, label } = NET();
  return Object.entries(facts?.[i] ?? {}).filter(([name, value]) => !/^(lat|lon)/i.test(name) && String(value) !== classes[label[i]]).map(([, value]) => value).join(', ');
};

function startNetwork() {
  const net = NET(), { sizes, grown } = net;
  const parts = [`${whole(sizes.entities)} entities, ${whole(sizes.first_order_edges)} links, and ${whole(sizes.conditional)} nodes that remember where a path came from.`];
  if (grown) parts.push(`Grown with order ${grown.order}, ${grown.rule}.`);
  if (sizes.shown < sizes.entities) parts.push(`The ${whole(sizes.shown)} entities with the most traffic are shown.`);
  if (net.links.kept < net.links.all) parts.push(`The ${whole(net.links.kept)} heaviest links are kept.`);
  if (net.contexts.label.length < net.contexts.all) parts.push(`The ${whole(net.contexts.label.length)} strongest contexts are kept.`);
  byId('network-lead').textContent = parts.join(' ');
  const colours = [['label', 'by class'], ['traffic', 'by traffic'], ['memory', 'by contexts']];
  for (const name of Object.keys(STUDY.predictions ?? {})) colours.push([`wrong:${name}`, `right or wrong: ${name}`]);
  options(byId('colour-by'), net.classes.length ? colours : colours.slice(1));
  networkChart();
  byId('colour-by').addEventListener('change', () => view.chart.update());
  byId('show-links').addEventListener('change', () => view.chart.update());
  byId('whole').addEventListener('click', () => { choose(null); view.zoom++; view.chart.update(); });
  startSearch();
  startFamily();
  on('node', (index, relative = null, focus = false) => {
    view.node = index; view.relative = relative;
    view.chart.update();
    showNode();
    if (focus) { byId('network').scrollIntoView(); byId('node').focus({ preventScroll: true }); }
  });
  showNode();
}
const choose = (index, relative = null, focus = false) => tell('node', index, relative, focus);

function colouring() {
  const net = NET(), mode = byId('colour-by').value, all = [...Array(net.size).keys()].filter((i) => net.placed[i]);
  if (mode === 'label') {
    const groups = [...net.classes.map((name, c) => ({ name, colour: classColour(c), nodes: all.filter((i) => net.label[i] === c) })), { name: 'no class', colour: cssColour('--soft'), nodes: all.filter((i) => net.label[i] < 0) }];
    return groups.filter((group) => group.nodes.length);
  }
  if (mode.startsWith('wrong:')) {
    const said = predictionsOf(mode.slice(6)), state = new Map();
    said.at.forEach((at, b) => { if (at >= 0) state.set(at, said.predicted[b] === said.truth[b]); });
    return [
      { name: 'right', colour: cssColour('--good'), nodes: all.filter((i) => state.get(i) === true) },
      { name: 'wrong', colour: cssColour('--bad'), nodes: all.filter((i) => state.get(i) === false) },
      { name: 'not tested', colour: cssColour('--soft'), nodes: all.filter((i) => !state.has(i)) },
    ].filter((group) => group.nodes.length);
  }
  const value = mode === 'memory' ? (i) => net.family[i].length : (i) => net.out[i] + net.in[i];
  return [{ name: mode === 'memory' ? 'contexts' : 'traffic', nodes: all, scale: all.map((i) => Math.log10(1 + value(i))), value }];
}

function slice(group, wanted, opacity) {
  const kept = [...group.nodes.keys()].filter((k) => wanted(group.nodes[k]));
  return { ...group, opacity, nodes: kept.map((k) => group.nodes[k]), scale: group.scale && kept.map((k) => group.scale[k]), top: group.scale && Math.max(...group.scale) };
}

function networkChart() {
  const net = NET(), kind = scatterKind(), touch = matchMedia('(pointer: coarse)').matches;
  const top = Math.max(...net.out.map((w, i) => w + net.in[i]), 1), small = net.size > 1500;
  const shrink = innerWidth < 640 ? 0.7 : 1;
  const sizeOf = (i) => shrink * ((small ? 3.5 : 6) + (small ? 9 : 16) * Math.sqrt((net.out[i] + net.in[i]) / top));
  const drawn = once(() => {
    const edges = [], seenPairs = new Set();
    for (let e = 0; e < net.links.kept && edges.length < net.links.drawn; e++) {
      const a = net.links.source[e], b = net.links.target[e], key = a < b ? a * net.size + b : b * net.size + a;
      if (a !== b && !seenPairs.has(key) && net.placed[a] && net.placed[b]) { seenPairs.add(key); edges.push(e); }
    }
    return edges;
  });
  const path = (edges) => {
    const x = [], y = [];
    for (const e of edges) {
      const a = net.links.source[e], b = net.links.target[e];
      x.push(net.x[a], net.x[b], null); y.push(net.y[a], net.y[b], null);
    }
    return { x, y };
  };
  // Arcs that bend to the right of their way, so that there and back are two lines.
  const arcs = (edges) => {
    const x = [], y = [];
    for (const e of edges) {
      const a = net.links.source[e], b = net.links.target[e];
      if (!net.placed[a] || !net.placed[b]) continue;
      const dx = net.x[b] - net.x[a], dy = net.y[b] - net.y[a];
      for (let t = 0; t <= 8; t++) {
        const s = t / 8, bend = 0.32 * s * (1 - s);
        x.push(net.x[a] + s * dx + bend * dy); y.push(net.y[a] + s * dy - bend * dx);
      }
      x.push(null); y.push(null);
    }
    return { x, y };
  };
  const arc = (edges, color, name) => ({ type: kind, mode: 'lines', ...arcs(edges), line: { color, width: 1.2 }, hoverinfo: 'skip', name });
  const here = [...Array(net.size).keys()].filter((i) => net.placed[i]);
  const fit = (values) => { const own = here.map((i) => values[i]).sort((p, q) => p - q), low = own[0] ?? 0, high = own.at(-1) ?? 1, pad = 0.06 * (high - low || 1); return [low - pad, high + pad]; };
  const line = (edges, color, width, name) => ({ type: kind, mode: 'lines', ...path(edges), line: { color, width }, hoverinfo: 'skip', name, showlegend: false });
  view.chart = new Chart({
    title: net.layout === 'map' ? 'Map' : 'Network', file: 'nodes.csv', height: 560, level: 'h3',
    note: net.layout === 'map' ? 'Where coordinates are known, nodes stand at them. Click a node.' : 'Linked nodes stand near one another. Click a node.',
    config: { scrollZoom: !touch, displayModeBar: true },
    make() {
      const data = [], edges = drawn(), faded = view.node !== null;
      for (const { x, y } of net.grid) data.push({ type: 'scatter', mode: 'lines', x, y, line: { color: cssColour('--line'), width: 0.7 }, hoverinfo: 'skip', showlegend: false });
      if (byId('show-links').checked && !faded) {
        const cut = [Math.ceil(edges.length * 0.06), Math.ceil(edges.length * 0.25), edges.length], dark = document.documentElement.dataset.theme === 'dark';
        [[2, 0.10, 0.6], [1, 0.20, 1], [0, 0.38, 1.8]].forEach(([bin, alpha, width]) => {
          const part = edges.slice(bin ? cut[bin - 1] : 0, cut[bin]);
          if (part.length) data.push(line(part, dark ? `rgba(150,170,205,${alpha})` : `rgba(70,90,125,${alpha})`, width, 'links'));
        });
      }
      if (faded) {
        const most = 150;
        data.push(arc(net.into[view.node].slice(0, most), cssColour('--second'), 'comes from'));
        data.push(arc(net.outOf[view.node].slice(0, most), cssColour('--accent'), 'leads to'));
      }
      const near = faded ? new Set([view.node, ...net.outOf[view.node].map((e) => net.links.target[e]), ...net.into[view.node].map((e) => net.links.source[e])]) : null;
      const groups = colouring();
      // Those near the node that is looked at come last, on top of the faded others.
      const parts = near ? [...groups.map((group) => slice(group, (i) => !near.has(i), small ? 0.05 : 0.13)), ...groups.map((group) => slice(group, (i) => near.has(i), 1))] : groups.map((group) => slice(group, () => true, 0.92));
      for (const group of parts) {
        if (!group.nodes.length) continue;
        const text = group.nodes.map((i) => {
          const known = describe(i);
          return `<b>${safe(brief(net.names[i], 60))}</b>${known ? `<br>${safe(brief(known, 70))}` : ''}<br>${net.label[i] >= 0 ? `class ${safe(brief(net.classes[net.label[i]], 40))}, ` : ''}${whole(net.family[i].length)} contexts<br>out ${short(net.out[i])}, in ${short(net.in[i])}`;
        });
        const marker = { size: group.nodes.map(sizeOf), line: { width: small ? 0 : 0.8, color: cssColour('--card') }, opacity: group.opacity };
        if (group.scale) Object.assign(marker, { color: group.scale, cmin: 0, cmax: group.top, colorscale: document.documentElement.dataset.theme === 'dark' ? [[0, '#2d3b58'], [1, '#a8c1ff']] : [[0, '#cdd9f2'], [1, '#1c3f94']], showscale: false });
        else marker.color = group.colour;
        data.push({ type: kind, mode: 'markers', x: group.nodes.map((i) => net.x[i]), y: group.nodes.map((i) => net.y[i]), customdata: group.nodes, marker, text, hoverinfo: 'text', name: safe(brief(group.name, 24)), showlegend: !group.scale && !faded });
      }
      if (faded && net.placed[view.node]) data.push({ type: kind, mode: 'markers+text', x: [net.x[view.node]], y: [net.y[view.node]], marker: { symbol: 'circle-open', size: sizeOf(view.node) + 9, color: cssColour('--ink'), line: { width: 2.2 } }, text: [kind === 'scattergl' ? brief(net.names[view.node], 30) : safe(brief(net.names[view.node], 30))], textposition: 'top center', textfont: { color: cssColour('--ink'), size: 13 }, hoverinfo: 'skip', showlegend: false });
      const bare = { visible: false, showgrid: false, zeroline: false };
      return { data, layout: { uirevision: view.zoom, hovermode: 'closest', dragmode: touch ? false : 'pan', margin: { l: 0, r: 0, t: 0, b: 0 }, xaxis: { ...bare, range: fit(net.x) }, yaxis: { ...bare, range: fit(net.y), scaleanchor: 'x' }, legend: { orientation: 'h', x: 0, y: 0, yanchor: 'bottom', bgcolor: 'rgba(0,0,0,0)', font: { color: cssColour('--soft'), size: 11 }, itemsizing: 'constant' } } };
    },
    table() {
      return { columns: ['node', 'class', 'out weight', 'in weight', 'contexts', 'x', 'y'], rows: net.names.map((name, i) => [name, net.classes[net.label[i]] ?? null, net.out[i], net.in[i], net.family[i].length, net.x[i], net.y[i]]) };
    },
    click: (point) => { if (point.customdata !== undefined) choose(point.customdata); },
  });
  byId('network-chart').append(view.chart.figure);
}

// A combobox by the book: arrows move, Enter takes, Escape closes.
function startSearch() {
  const net = NET(), input = byId('node-search'), list = byId('node-options');
  let found = [], active = -1;
  const facts = net.names.map((name, i) => `${name} ${describe(i)}`.toLowerCase());
  const close = () => { list.hidden = true; input.setAttribute('aria-expanded', 'false'); input.removeAttribute('aria-activedescendant'); active = -1; };
  const take = (i) => { input.value = net.names[i]; close(); choose(i); };
  const mark = (next) => {
    active = next;
    [...list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === active)));
    if (list.children[active]) { input.setAttribute('aria-activedescendant', list.children[active].id); list.children[active].scrollIntoView({ block: 'nearest' }); }
  };
  const look = () => {
    const wanted = input.value.trim().toLowerCase();
    if (!wanted) return close();
    const rank = (i) => { const name = net.names[i].toLowerCase(); return name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : facts[i].includes(wanted) ? 3 : 9; };
    found = net.names.map((_, i) => [rank(i), -(net.out[i] + net.in[i]), i]).filter(([r]) => r < 9).sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, 10).map(([, , i]) => i);
    fill(list, found.length ? found.map((i, place) => h('li', { role: 'option', id: `node-option-${place}`, 'aria-selected': 'false', onmousedown: (event) => { event.preventDefault(); take(i); } }, net.names[i], ' ', h('small', {}, brief(describe(i), 60)))) : h('li', { role: 'option', 'aria-disabled': 'true' }, 'no such node'));
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    active = -1;
  };
  input.addEventListener('input', look);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close();
    else if (event.key === 'Enter' && found.length && !list.hidden) { event.preventDefault(); take(found[Math.max(active, 0)]); }
    else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !list.hidden && found.length) {
      event.preventDefault();
      mark((active + (event.key === 'ArrowDown' ? 1 : found.length)) % found.length);
    }
  });
}
