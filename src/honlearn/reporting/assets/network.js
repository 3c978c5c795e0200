// The network: what is known of it, search, and the node that is looked at; drawn as a map, as flows and as a matrix.
const NET = STUDY.network && once(() => {
  const n = STUDY.network, net = { ...n, size: n.names.length };
  for (const name of ['label', 'out', 'in']) net[name] = unpack(n[name]);
  net.classNames = n.classes.map(named);
  net.links = { ...n.links, source: unpack(n.links.source), target: unpack(n.links.target), weight: unpack(n.links.weight) };
  const c = n.contexts;
  net.contexts = { ...c };
  for (const name of ['base', 'place', 'order', 'weight', 'chance', 'base_chance', 'targets', 'inside', 'at_base']) net.contexts[name] = unpack(c[name]);
  net.steps = { came: unpack(c.steps.came), sizes: unpack(c.steps.sizes), target: unpack(c.steps.target), weight: unpack(c.steps.weight) };
  let start = 0;
  net.steps.start = Array.from(net.steps.sizes, (size) => { start += size; return start - size; });
  net.family = Array.from({ length: net.size }, () => []);
  net.contexts.base.forEach((entity, i) => net.family[entity].push(i));
  net.outOf = Array.from({ length: net.size }, () => []);
  net.into = Array.from({ length: net.size }, () => []);
  for (let e = 0; e < net.links.kept; e++) {
    net.outOf[net.links.source[e]].push(e);
    net.into[net.links.target[e]].push(e);
  }
  net.index = new Map(n.names.map((name, i) => [name, i]));
  net.traffic = Float64Array.from(net.out, (w, i) => w + net.in[i]);
  return net;
});
const NOT_SHOWN = 65535;  // an entity that the page has no room for
const view = { node: null, relative: null };
// What is known of a node, without its coordinates and without what only repeats its class.
const describe = (i) => {
  const { facts, classes, label } = NET(), own = classes[label[i]];
  return Object.entries(facts?.[i] ?? {}).filter(([name, value]) => !/^(lat|lon)/i.test(name) && String(value) !== own && String(value) !== STUDY.class_names?.[own]).map(([, value]) => value).join(', ');
};
const aboutNode = (i) => {
  const net = NET(), known = describe(i);
  return [brief(net.names[i], 60), known && brief(known, 70), net.label[i] >= 0 && `class ${brief(net.classNames[net.label[i]], 40)}`, `${whole(net.family[i].length)} contexts, out ${short(net.out[i])}, in ${short(net.in[i])}`].filter(Boolean).join('\n');
};

function startNetwork() {
  const net = NET(), { sizes, grown } = net;
  const parts = [`${whole(sizes.entities)} entities, ${whole(sizes.first_order_edges)} links, and ${whole(sizes.conditional)} contexts: nodes for where a path came from.`];
  if (grown) parts.push(`Grown with order ${grown.order}, ${grown.rule}.`);
  if (sizes.shown < sizes.entities) parts.push(`The ${whole(sizes.shown)} entities with the most traffic are shown.`);
  if (net.links.kept < net.links.all) parts.push(`The ${whole(net.links.kept)} heaviest links are kept.`);
  if (net.contexts.seen_once) parts.push(`${whole(net.contexts.seen_once)} contexts that were seen once are not shown.`);
  if (net.contexts.label.length < net.contexts.all - net.contexts.seen_once) parts.push(`The ${whole(net.contexts.label.length)} strongest contexts are kept.`);
  byId('network-lead').textContent = parts.join(' ');
  const drawings = [net.map && mapChart(), flowsChart(), matrixChart('entities'), net.classes.length > 1 && matrixChart('classes')].filter(Boolean), host = byId('network-chart');
  for (const chart of drawings) (chart.wide ? byId('network-more') : host).append(chart.figure);
  byId('whole').addEventListener('click', () => choose(null));
  startSearch();
  startFamily();
  on('node', (index, relative = null, focus = false) => {
    view.node = index; view.relative = relative;
    showNode();
    for (const chart of drawings) chart.update();
    if (focus) { byId('network').scrollIntoView(); byId('node').focus({ preventScroll: true }); }
  });
  showNode();
}
const choose = (index, relative = null, focus = false) => tell('node', index, relative, focus);

// The node and the context that are shown: those chosen, else the example.
function shownNode() {
  const net = NET(), sample = STUDY.example?.context ?? null;
  if (view.node !== null) return { node: view.node, context: view.relative ?? strongest(view.node), sample: false };
  if (sample !== null) return { node: net.contexts.base[sample], context: sample, sample: true };
  const heaviest = net.traffic.indexOf(Math.max(...net.traffic));
  return { node: net.size ? heaviest : null, context: null, sample: true };
}
const strongest = (i) => { const net = NET(); return net.family[i].reduce((best, c) => (best === null || net.contexts.chance[c] > net.contexts.chance[best] ? c : best), null); };

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
