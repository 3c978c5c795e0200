// A node: its family with Eq. 3, how a relative's next steps differ, its neighbours; and all dependencies.
let changesChart = null, dependencyTable = null;

const relativeName = (entity, place) => {
  const net = NET();
  if (!place) return net.names[entity];
  const found = net.family[entity].find((c) => net.contexts.place[c] === place);
  return found === undefined ? `context ${place}` : net.contexts.label[found];
};

function showNode() {
  const host = byId('node'), net = NET(), { node: i, context: chosen, sample } = shownNode();
  changesChart?.remove();
  changesChart = null;
  if (i === null) {
    fill(host, h('div', { class: 'empty' }, h('h3', {}, 'No node chosen'), h('p', {}, 'Click one in the drawing, find one by name, or take one from the dependencies below: its family, what each memory changes, and its neighbours appear here.')));
    return;
  }
  const members = [...net.family[i]].sort((a, b) => net.contexts.chance[b] - net.contexts.chance[a]);
  const facts = Object.entries(net.facts?.[i] ?? {});
  const relative = (name, chance, context) => h('li', {}, h('button', { type: 'button', 'aria-pressed': String(context === chosen && context !== null), disabled: context === null, onclick: () => { choose(i, context); byId('node').querySelector('[aria-pressed="true"]')?.focus(); } },
    h('span', {}, name, context === null ? h('span', { class: 'muted' }, ' (base)') : null),
    h('span', { class: 'share', 'aria-hidden': 'true' }, h('i', { style: { width: `${100 * chance}%` } })),
    h('span', { class: 'number' }, fixed(chance, 3))));
  fill(host,
    sample ? h('p', { class: 'muted' }, `An example: ${chosen === null ? 'the busiest entity' : `the context with the largest evidence${STUDY.example?.right ? ' at a correctly predicted entity' : ''}`}. Click any node, or find one by name.`) : null,
    h('div', { class: 'node-title' }, h('h3', {}, net.names[i]), net.label[i] >= 0 && h('span', { class: 'badge plain' }, h('span', { class: 'dot', style: { background: classColour(net.label[i]) } }), `class ${net.classNames[net.label[i]]}`)),
    facts.length && describe(i) ? h('p', { class: 'muted' }, describe(i)) : null,
    predictionLine(i),
    STUDY.entities ? null : reasonsAt(i),
    h('h4', {}, members.length ? `Family: ${whole(members.length + 1)} relatives, each with its probability (Eq. 3)` : 'No contexts: the entity is alone in its family'),
    h('ul', { class: 'family', 'aria-label': 'Relatives', tabindex: '0' }, relative(net.names[i], net.contexts.base_chance[i], null), members.map((c) => relative(net.contexts.label[c], net.contexts.chance[c], c))),
    h('div', { id: 'changes' }),
    h('div', { class: 'neighbours' }, neighbours('Leads to', net.outOf[i], net.links.target, net.out[i], '--accent'), neighbours('Comes from', net.into[i], net.links.source, net.in[i], '--second')));
  const list = host.querySelector('.family'), pressed = list.querySelector('[aria-pressed="true"]');
  if (pressed) list.scrollTop = pressed.offsetTop - list.offsetTop - 60;
  if (chosen !== null) showChanges(chosen);
}

function predictionLine(i) {
  const names = Object.keys(STUDY.predictions ?? {});
  if (!names.length) return null;
  const said = predictionsOf(current.model), b = said.where.get(i);
  if (b === undefined) return null;
  const right = said.predicted[b] === said.truth[b];
  return h('p', {}, h('span', { class: `badge ${right ? 'good' : 'bad'}` }, right ? 'right' : 'wrong'), ` ${current.model} predicts ${said.classes[said.predicted[b]]} (${fixed(said.sure[b], 2)}). `,
    h('button', { type: 'button', class: 'link', onclick: () => tell('prediction', b, true) }, said.learners ? 'The prediction of every learner' : 'More'));
}

function neighbours(title, edges, ends, total, colour) {
  const net = NET(), most = 40;
  return h('div', {}, h('h4', {}, h('span', { class: 'dot', style: { background: `var(${colour})` } }), `${title} ${whole(edges.length)}`),
    h('ul', { 'aria-label': title, tabindex: '0' }, edges.slice(0, most).map((e) => h('li', {}, h('button', { type: 'button', class: 'link', onclick: () => choose(ends[e]) }, net.names[ends[e]]), h('span', { class: 'number muted' }, `${short(net.links.weight[e])} · ${((100 * net.links.weight[e]) / (total || 1)).toFixed(1)} %`))),
      edges.length > most ? h('li', { class: 'muted' }, `and ${whole(edges.length - most)} more`) : null));
}

function changesOf(c) {
  const net = NET(), k = net.contexts.targets.shape[1], rows = [];
  for (let slot = c * k; slot < (c + 1) * k; slot++) {
    const target = net.contexts.targets[slot];
    if (target !== 65535) rows.push([net.names[target], net.contexts.inside[slot], net.contexts.at_base[slot]]);
  }
  return rows;
}

function showChanges(c) {
  const net = NET(), { contexts } = net, rows = changesOf(c), base = net.names[contexts.base[c]], label = contexts.label[c];
  const parts = [`Next steps that change most: after ${label} against ${base} alone.`];
  if (contexts.bits[c] !== null) parts.push(`Divergence from the base ${fixed(contexts.bits[c], 3)} bits, on the paths that the network was grown from`);
  if (contexts.threshold[c] !== null) parts.push(`(needed more than ${fixed(contexts.threshold[c], 3)})`);
  if (contexts.frequency[c] !== null) parts.push(`, seen ${whole(contexts.frequency[c])} times.`);
  const drawn = [[`after ${brief(label, 22)}`, 1, 'var(--accent)'], [`after ${brief(base, 18)}, from anywhere`, 2, 'var(--flow-base)']];
  changesChart = new Chart({
    title: `What ${brief(label, 40)} changes`, file: 'next-steps.csv', level: 'h4', note: parts.join(' ').replace(' ,', ','),
    legend: () => drawn.map(([name, , colour]) => ({ name, colour })),
    make: (width) => groupedBars({ categories: rows.map((row) => brief(row[0], 18)), width, height: 60 + rows.length * 34, lying: true, axis: { range: [0, 1], title: 'probability of the next step' }, groups: drawn.map(([name, column, colour]) => ({ values: rows.map((row) => row[column]), fill: colour, tips: rows.map((row) => `${row[0]}\n${name}: ${fixed(row[column])}`) })) }),
    table() { return { columns: ['next', `after ${label}`, `after ${base}`], rows }; },
  });
  byId('changes').append(changesChart.figure);
  changesChart.draw();
}

function startFamily() {
  const net = NET(), { contexts } = net;
  if (!contexts.label.length) {
    fill(byId('dependencies'), h('h2', {}, 'Strongest dependencies'), h('p', { class: 'muted' }, 'No context was kept: the network is first-order.'));
    return;
  }
  const rows = contexts.label.map((label, c) => ({ label, c, base: net.names[contexts.base[c]], order: contexts.order[c], frequency: contexts.frequency[c] ?? contexts.weight[c], divergence: contexts.divergence[c], threshold: contexts.threshold[c], strength: contexts.strength[c], p: contexts.p_value[c], q: contexts.q_value[c], bayes: contexts.ln_bayes_factor[c], chance: contexts.chance[c] }));
  const known = (key) => rows.some((row) => row[key] !== null), small = (v) => (v === null ? '–' : v < 1e-300 ? '<1e-300' : v < 0.001 ? v.toExponential(1) : fixed(v));
  const change = (row) => changesOf(row.c).slice(0, 3).map(([next, inside, without]) => `${brief(next, 24)} ${fixed(without, 2)}→${fixed(inside, 2)}`).join('; ');
  dependencyTable = new DataTable(byId('dependencies'), {
    title: 'Strongest dependencies', file: 'dependencies.csv', rows, sort: null, size: 10,
    note: `Contexts after which the next step is another one, by the evidence for them. Click one to see it in the network.${known('p') && !known('q') ? ' q takes a network that was grown by evidence.' : ''}`,
    columns: [
      { key: 'label', title: 'context' },
      { key: 'frequency', title: 'seen', number: true, format: short },
      { key: 'divergence', title: 'divergence', number: true, hint: 'Bits by which the next step differs from that of the shorter context', format: (v) => fixed(v) },
      { key: 'threshold', title: 'threshold', number: true, hint: 'What the divergence had to exceed', format: (v) => fixed(v) },
      { key: 'strength', title: 'strength', number: true, hint: 'The tau up to which the context is kept', format: (v) => fixed(v, 1) },
      { key: 'p', title: 'p', number: true, hint: 'G-test of its next steps against those of the shorter context without it', format: small },
      { key: 'q', title: 'q', number: true, hint: 'p after Benjamini and Hochberg, over all contexts tested', format: small },
      { key: 'bayes', title: 'ln BF', number: true, hint: 'Logarithm of the Bayes factor: the context against the shorter one', format: (v) => fixed(v, 1) },
      { key: 'chance', title: 'Eq. 3', number: true, hint: 'Probability to be drawn among its relatives', format: (v) => fixed(v) },
      { key: 'change', title: 'next step: without → with it', value: change },
    ].filter(({ key }) => key === 'change' || known(key)),
    choose: (row) => choose(contexts.base[row.c], row.c, true),
  });
  const find = h('input', { type: 'search', placeholder: 'filter', 'aria-label': 'Filter the dependencies by name', oninput: () => { const wanted = find.value.trim().toLowerCase(); dependencyTable.setFilter((row) => row.label.toLowerCase().includes(wanted)); } });
  byId('dependencies').querySelector('.table-head').lastChild.before(find);
}
