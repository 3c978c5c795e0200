// Came from → here → goes to: the steps through one entity, its state nodes inside it; and a matrix of all steps.
const OTHERS = -1;

// Steps through an entity: who came from where, into which state node, and where each state node leads.
function flowsThrough(i, wanted, most = 8) {
  const net = NET(), { steps, contexts, links } = net, byOrigin = new Map();
  for (const c of net.family[i]) if (contexts.order[c] === 2 && steps.came[c] !== NOT_SHOWN) byOrigin.set(steps.came[c], c);
  const own = wanted === null ? null : contexts.order[wanted] === 2 ? steps.came[wanted] : null;
  const arrivals = net.into[i].map((e) => ({ from: links.source[e], weight: links.weight[e] }));
  const shown = arrivals.slice(0, most), mine = arrivals.find((one) => one.from === own);
  if (mine && !shown.includes(mine)) shown.splice(most - 1, 1, mine);
  const states = [], base = { name: net.names[i], context: null, into: 0, next: new Map() }, rest = new Map(net.outOf[i].map((e) => [links.target[e], links.weight[e]]));
  const hidden = { name: 'other contexts', context: null, into: 0, next: new Map() };
  const origins = [];
  const taken = (c, into) => {
    for (let k = steps.start[c]; k < steps.start[c] + steps.sizes[c]; k++) {
      const target = steps.target[k] === NOT_SHOWN ? OTHERS : steps.target[k];
      into.next.set(target, (into.next.get(target) ?? 0) + steps.weight[k]);
      rest.set(target, Math.max(0, (rest.get(target) ?? 0) - steps.weight[k]));
    }
  };
  for (const { from, weight } of shown) {
    const c = byOrigin.get(from), state = c === undefined ? base : { name: contexts.label[c], context: c, into: 0, next: new Map() };
    if (c !== undefined) { taken(c, state); states.push(state); byOrigin.delete(from); }
    state.into += weight;
    origins.push({ name: net.names[from], entity: from, weight, to: new Map([[state, weight]]) });
  }
  const others = { name: '', entity: null, weight: 0, to: new Map(), count: 0 };
  for (const one of arrivals) {
    if (shown.includes(one)) continue;
    const state = byOrigin.has(one.from) ? hidden : base;
    state.into += one.weight; others.weight += one.weight; others.count++;
    others.to.set(state, (others.to.get(state) ?? 0) + one.weight);
  }
  for (const c of byOrigin.values()) taken(c, hidden);
  base.next = new Map([...rest].filter(([, weight]) => weight > 0));
  if (hidden.into || hidden.next.size) states.push(hidden);
  states.push(base);
  if (others.weight) { others.name = `${whole(others.count)} others`; origins.push(others); }
  const totals = new Map();
  for (const state of states) for (const [target, weight] of state.next) totals.set(target, (totals.get(target) ?? 0) + weight);
  const ranked = [...totals].filter(([target]) => target !== OTHERS).sort((a, b) => b[1] - a[1]), kept = ranked.slice(0, most);
  for (const state of states.filter((one) => one.context === wanted && wanted !== null)) for (const [target] of [...state.next].sort((a, b) => b[1] - a[1]).slice(0, 2)) if (target !== OTHERS && !kept.some(([t]) => t === target)) kept.push([target, totals.get(target)]);
  const names = new Set(kept.map(([target]) => target)), left = [...totals].reduce((sum, [target, weight]) => sum + (names.has(target) ? 0 : weight), 0);
  const goals = kept.map(([target, weight]) => ({ name: net.names[target], entity: target, weight }));
  if (left > 0) goals.push({ name: `${whole(ranked.length - kept.length + (totals.has(OTHERS) ? 1 : 0))} others`, entity: null, weight: left });
  return { origins, states, goals, goalOf: (target) => (names.has(target) ? goals.findIndex((goal) => goal.entity === target) : goals.length - 1) };
}

function flowsChart() {
  const net = NET(), about = () => { const { node, context } = shownNode(); return node === null ? null : { node, context, ...flowsThrough(node, context) }; };
  const chart = new Chart({
    title: 'Came from → here → goes to', file: 'flows.csv', level: 'h3', note: '',
    make(width) {
      const found = about();
      if (!found) return sheet(width, 60, s('text', { x: 10, y: 30, class: 'tick' }, 'The network has no entity.'));
      const name = brief(net.names[found.node], 40), many = found.states.filter((state) => state.context !== null).length;
      chart.say(`Steps through ${name}: on the left where they came from, inside it the ${many === 0 ? 'base node alone' : `base node (grey) and ${whole(many)} context${many === 1 ? '' : 's'}`}, on the right where they go. Colours follow the context. Click a context or an entity.`);
      return drawFlows(found, width);
    },
    table() {
      const found = about(), rows = [];
      if (found) {
        for (const origin of found.origins) for (const [state, weight] of origin.to) rows.push([origin.name, state.name, null, weight]);
        for (const state of found.states) for (const [target, weight] of state.next) rows.push([null, state.name, target === OTHERS ? 'others' : net.names[target], weight]);
      }
      return { columns: ['came from', 'state node', 'goes to', 'steps'], rows };
    },
  });
  return chart;
}

function drawFlows({ node, context, origins, states, goals, goalOf }, width) {
  const net = NET(), margin = Math.min(150, 0.23 * width), bar = 10, gap = 7, top = 30, narrow = width < 560;
  const inside = states.map((state) => { state.out = [...state.next.values()].reduce((a, b) => a + b, 0); return Math.max(state.into, state.out); });
  const columns = [origins.map((one) => one.weight), inside, goals.map((one) => one.weight)], height = Math.max(220, 44 + 30 * Math.max(...columns.map((column) => column.length)));
  const unit = Math.min(...columns.map((column) => (height - top - 14 - gap * (column.length - 1)) / (column.reduce((a, b) => a + b, 0) || 1)));
  const spread = (column) => { const used = column.reduce((a, b) => a + b, 0) * unit, room = column.length > 1 ? Math.min(24, (height - top - 14 - used) / (column.length - 1)) : 0; let y = top + Math.max(0, (height - top - 14 - used - room * (column.length - 1)) / 2); return column.map((weight) => { const start = y; y += weight * unit + room; return start; }); };
  const [ys, ms, gs] = columns.map(spread), x0 = margin, x1 = width / 2, x2 = width - margin, wide = narrow ? 26 : Math.min(150, 0.2 * width);
  const colour = (state) => (state === states.at(-1) || state.name === 'other contexts' ? 'var(--flow-base)' : PALETTE[states.indexOf(state) % PALETTE.length]);
  const ribbon = (xa, ya, xb, yb, weight, state, tip) => { const t = Math.max(weight * unit, 0.6), m = (xa + xb) / 2; return s('path', { class: 'ribbon', d: `M${xa} ${ya}C${m} ${ya} ${m} ${yb} ${xb} ${yb}V${yb + t}C${m} ${yb + t} ${m} ${ya + t} ${xa} ${ya + t}Z`, fill: colour(state), opacity: context === null || state.context === context ? 0.62 : 0.3, tip, choose: state.context === null ? null : () => choose(node, state.context) }); };
  const parts = [], entered = states.map(() => 0), left = states.map(() => 0), reached = goals.map(() => 0);
  const low = Math.min(...ms) - 9, high = Math.max(...ms.map((y, k) => y + inside[k] * unit)) + 9;
  parts.push(s('rect', { x: x1 - wide / 2 - 8, y: low, width: wide + 16, height: high - low, rx: 9, class: 'entity' }));
  origins.forEach((origin, o) => { let y = ys[o]; for (const [state, weight] of origin.to) { const k = states.indexOf(state); parts.push(ribbon(x0 + bar, y, x1 - wide / 2, ms[k] + entered[k], weight, state, `${origin.name} → ${state.name}\n${short(weight)} steps`)); y += weight * unit; entered[k] += weight * unit; } });
  states.forEach((state, k) => {
    const sums = goals.map(() => 0);
    for (const [target, weight] of state.next) sums[goalOf(target)] += weight;
    sums.forEach((weight, g) => { if (!weight) return; parts.push(ribbon(x1 + wide / 2, ms[k] + left[k], x2 - bar, gs[g] + reached[g], weight, state, `${state.name} → ${goals[g].name}\n${short(weight)} steps, ${((100 * weight) / (state.out || 1)).toFixed(1)} % of this state node`)); left[k] += weight * unit; reached[g] += weight * unit; });
  });
  states.forEach((state, k) => {
    const tall = Math.max(inside[k] * unit, 1.5), pressed = state.context !== null && state.context === context, words = state === states.at(-1) ? (states.length > 1 ? `${state.name} (base)` : state.name) : state.name;
    parts.push(s('rect', { x: x1 - wide / 2, y: ms[k], width: wide, height: tall, rx: 2, fill: colour(state), class: `state${state.context !== null ? ' choice' : ''}`, stroke: pressed ? 'var(--ink)' : null, 'stroke-width': pressed ? 2 : null, tip: `${words}\n${short(state.into)} steps in, ${short(state.out)} out`, choose: state.context === null ? null : () => choose(node, state.context) }));
    if (!narrow && tall > 9) parts.push(s('text', { x: x1, y: ms[k] + tall / 2 + 4, 'text-anchor': 'middle', class: `inside${colour(state) === 'var(--flow-base)' ? ' dark' : ''}` }, fitted(words, wide - 8, 11)));
  });
  const end = (list, places, x, anchor, shift) => {
    let last = -99;
    list.forEach((one, k) => {
      const tall = Math.max(one.weight * unit, 1.5), middle = Math.max(places[k] + tall / 2 + 4, last + 13);
      last = middle;
      parts.push(s('rect', { x, y: places[k], width: bar, height: tall, class: 'end', tip: `${one.name}\n${short(one.weight)} steps` }));
      parts.push(s('text', { x: x + shift, y: middle, 'text-anchor': anchor, class: `label${one.entity === null ? '' : ' choice'}`, tip: `${one.name}\n${short(one.weight)} steps`, choose: one.entity === null ? null : () => choose(one.entity) }, fitted(one.name, margin - 12, 12)));
    });
  };
  end(origins, ys, x0, 'end', -6);
  end(goals, gs, x2 - bar, 'start', bar + 6);
  const heads = [[x0 + bar, 'came from', 'end'], [x1, fitted(net.names[node], x2 - x0 - 150, 13), 'middle'], [x2 - bar, 'goes to', 'start']];
  parts.push(heads.map(([x, text, anchor], k) => s('text', { x, y: k === 1 ? Math.max(13, low - 7) : 13, 'text-anchor': anchor, class: k === 1 ? 'head strong' : 'head' }, text)));
  return sheet(width, Math.round(Math.max(height, high + 8)), parts);
}
