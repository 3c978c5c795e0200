// Every entity: the prediction of the final model with its set, what memory changes, and the reasons.
let entityTable = null, entityChart = null;

function startEntities() {
  const { classes, rows, with_sets: withSets, alpha, left_out: leftOut } = STUDY.entities;
  const says = (c) => h('span', {}, h('span', { class: 'dot', style: { background: classColour(c) } }), classes[c]);
  const sure = (row) => row.probabilities[row.predicted];
  const changed = (row) => (row.without_memory === null ? null : sure(row) - row.without_memory);
  const columns = [
    { key: 'node', title: 'entity' },
    { key: 'known', title: 'label', cell: (row) => (row.known === null ? h('span', { class: 'badge plain' }, 'none') : row.known) },
    { key: 'said', title: 'predicted', value: (row) => classes[row.predicted], cell: (row) => says(row.predicted) },
    { key: 'sure', title: 'confidence', number: true, value: sure, format: (v) => fixed(v, 2) },
  ];
  if (withSets) columns.push({ key: 'set', title: `${fixed(100 * (1 - alpha), 0)} % set`, hint: 'Classes that are not ruled out', value: (row) => row.set.join(' | '), cell: (row) => (row.set.length ? row.set.join(', ') : 'none') });
  if (rows.some((row) => row.without_memory !== null)) columns.push({ key: 'memory', title: 'memory', number: true, hint: 'How much memory adds to the probability of the predicted class', value: changed, format: (v) => (v === null ? '–' : `${v < 0 ? '−' : '+'}${fixed(Math.abs(v), 2)}`) });
  options(byId('e-said'), [['', 'any'], ...classes.map((name, c) => [String(c), name])]);
  entityTable = new DataTable(byId('e-table'), {
    title: 'Entities', file: 'entities.csv', rows, columns, sort: null, size: 14, choose: showEntity, level: 'h3',
    note: leftOut ? `The first ${whole(rows.length)}; ${whole(leftOut)} more are in predictions.csv.` : '',
  });
  for (const id of ['e-search', 'e-said', 'e-new', 'e-changed']) byId(id).addEventListener('input', filterEntities);
  const first = rows.find((row) => row.reasons) ?? rows[0];
  entityTable.chosen = first;
  entityTable.show();
  showEntity(first);
}

function filterEntities() {
  const wanted = byId('e-search').value.trim().toLowerCase(), said = byId('e-said').value, fresh = byId('e-new').checked, moved = byId('e-changed').checked;
  entityTable.setFilter((row) => (!wanted || row.node.toLowerCase().includes(wanted)) && (said === '' || row.predicted === Number(said)) && (!fresh || row.known === null) && (!moved || (row.without_memory !== null && row.without_memory < 0.5 && row.probabilities[row.predicted] >= 0.5)));
}

function showEntity(row) {
  const { classes } = STUDY.entities, host = byId('e-node');
  entityChart?.remove();
  const title = row.known === null ? 'without a label' : `labelled ${row.known}`;
  const sets = row.set === null ? null : row.set.length === 1 ? `One class is left: ${row.set[0]}.` : row.set.length ? `Not ruled out: ${row.set.join(', ')}.` : 'No class fits: it is unlike the labelled entities.';
  fill(host,
    h('div', { class: 'node-title' }, h('h3', {}, row.node), h('span', { class: 'badge plain' }, title), STUDY.network && row.at >= 0 ? h('button', { type: 'button', class: 'link', onclick: () => choose(row.at, null, true) }, 'in the network') : null),
    h('p', {}, 'Predicted ', h('strong', {}, classes[row.predicted]), ` with ${fixed(row.probabilities[row.predicted], 2)}`, row.without_memory === null ? '' : `, without memory ${fixed(row.without_memory, 2)}`, '. ', sets),
    h('div', { id: 'e-chances' }), reasonsFor(row.reasons, row.node));
  const found = classes.map((name, c) => [name, row.probabilities[c], c]).sort((x, y) => y[1] - x[1]).slice(0, 8), turned = found.map((_, i) => found.length - 1 - i);
  entityChart = new Chart({
    title: 'Probabilities', file: 'entity-probabilities.csv', level: 'h4', height: 50 + found.length * 24, note: classes.length > 8 ? `The eight likeliest of ${classes.length} classes.` : '', config: { displayModeBar: false },
    make: () => ({ data: [{ type: 'bar', orientation: 'h', y: turned, x: found.map((one) => one[1]), marker: { color: found.map((one) => classColour(one[2])) }, text: found.map((one) => fixed(one[1], 2)), textposition: 'outside', cliponaxis: false, hoverinfo: 'none' }], layout: { margin: { l: 10, r: 34, t: 4, b: 26 }, dragmode: false, bargap: 0.3, xaxis: { range: [0, 1], fixedrange: true }, yaxis: { tickvals: turned, ticktext: found.map((one) => safe(brief(one[0], 18))), fixedrange: true, zeroline: false } } }),
    table: () => ({ columns: ['class', 'probability'], rows: classes.map((name, c) => [name, row.probabilities[c]]) }),
  });
  byId('e-chances').append(entityChart.figure);
}
