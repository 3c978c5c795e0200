// Reasons for a prediction: memories, neighbours, paths and labels, each with what it moves and what was observed.
const REASON_KINDS = { memory: 'memories', neighbor: 'neighbours', path: 'paths', example: 'labels in the path kernel' };

function reasonsOf(said, b) {
  return reasonsFor(said.reasons?.[String(b)], said.nodes[b]);
}

function reasonsFor(found, node) {
  if (!found) return null;
  const moved = (one) => one.value ?? found.probability - one.without;
  const most = Math.max(1e-9, ...found.reasons.map((one) => Math.abs(moved(one))));
  const line = (one) => [h('tr', { class: one.support ? 'supported' : null }, h('th', { scope: 'row' }, one.name),
    h('td', { class: 'number' }, h('span', { class: 'share', 'aria-hidden': 'true' }, h('i', { style: { width: `${(100 * Math.abs(moved(one))) / most}%` } })), ` ${moved(one) < 0 ? '−' : '+'}${fixed(Math.abs(moved(one)), 3)}`),
    h('td', { class: 'number' }, fixed(one.without, 3))), one.support ? h('tr', {}, h('td', { class: 'observed', colspan: 3 }, one.support)) : null];
  const group = ([kind, title]) => {
    const rows = found.reasons.filter((one) => one.kind === kind);
    return rows.length ? h('tbody', {}, h('tr', {}, h('th', { colspan: 3, scope: 'rowgroup' }, title)), rows.flatMap(line)) : null;
  };
  const others = Object.entries(found.references).map(([name, value]) => `${name} ${fixed(value, 2)}`).join('; ');
  const columns = ['kind', 'reason', 'moves the probability by', 'without it', 'observed'];
  const rows = found.reasons.map((one) => [one.kind, one.name, moved(one), one.without, one.support]);
  return h('div', { class: 'reasons' }, h('h4', {}, `Reasons for ${named(found.label)}, ${fixed(found.probability, 2)}`), others ? h('p', { class: 'muted' }, `${others}.`) : null,
    h('div', { class: 'votes', tabindex: '0', role: 'region', 'aria-label': `Reasons for the prediction of ${node}` }, h('table', {},
      h('thead', {}, h('tr', {}, ['reason', 'moves it by', 'without it'].map((title) => h('th', { scope: 'col' }, title)))),
      Object.entries(REASON_KINDS).map(group))),
    h('button', { type: 'button', class: 'tool', onclick: () => download('reasons.csv', csv(columns, rows)), 'aria-label': `Download the reasons for ${node} as CSV` }, 'Download CSV'));
}

function reasonsAt(i) {
  if (!Object.keys(STUDY.predictions ?? {}).length) return null;
  const said = predictionsOf(current.model), b = said.where.get(i);
  return b === undefined ? null : reasonsOf(said, b);
}
