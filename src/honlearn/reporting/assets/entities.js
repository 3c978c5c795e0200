// Every entity: the prediction of the final model with its set, what memory changes, and the reasons.
let entityTable = null, entityChart = null;

const entityRows = once(() => {
  const packed = STUDY.entities, classes = packed.classes.map(named), width = classes.length;
  const at = unpack(packed.at), known = unpack(packed.known), proba = unpack(packed.proba), sets = unpack(packed.sets), before = unpack(packed.without_memory);
  return packed.nodes.map((node, i) => {
    const chances = proba.subarray(i * width, (i + 1) * width);
    let predicted = 0;
    for (let c = 1; c < width; c++) if (chances[c] > chances[predicted]) predicted = c;
    const row = { i, node, at: at[i], known: known[i], predicted, chances, sure: chances[predicted], memory: before[i] < 0 ? null : chances[predicted] - before[i], before: before[i] < 0 ? null : before[i], set: null };
    if (sets) row.set = classes.map((_, c) => c).filter((c) => sets[i * width + c]).sort((a, b) => chances[b] - chances[a]);
    return row;
  });
});

function startEntities() {
  const { alpha, left_out: leftOut } = STUDY.entities, classes = STUDY.entities.classes.map(named), rows = entityRows(), labelled = rows.some((row) => row.known >= 0);
  const dot = (c) => dotted(classColour(c), classes[c]);
  const columns = [
    { key: 'node', title: 'entity' },
    labelled && { key: 'known', title: 'label', value: (row) => classes[row.known] ?? null, cell: (row) => (row.known < 0 ? h('span', { class: 'badge plain' }, 'none') : dot(row.known)) },
    { key: 'said', title: 'predicted', value: (row) => classes[row.predicted], cell: (row) => dot(row.predicted) },
    { key: 'sure', title: 'confidence', number: true, format: (v) => fixed(v, 2) },
    rows[0].set && { key: 'set', title: `${fixed(100 * (1 - alpha), 0)} % set`, hint: 'Classes that are not ruled out', value: (row) => row.set.map((c) => classes[c]).join(' | '), cell: (row) => shownSet(row) },
    rows.some((row) => row.memory !== null) && { key: 'memory', title: 'memory', number: true, hint: 'How much memory adds to the probability of the predicted class', format: (v) => (v === null ? '–' : Math.abs(v) < 0.005 ? fixed(0, 2) : `${v < 0 ? '−' : '+'}${fixed(Math.abs(v), 2)}`) },
  ].filter(Boolean);
  options(byId('e-said'), [['', 'any'], ...classes.map((name, c) => [String(c), name])]);
  entityTable = new DataTable(byId('e-table'), {
    title: 'Entities', file: 'entities.csv', rows, columns, sort: null, size: 18, choose: showEntity, level: 'h3',
    note: leftOut ? `The first ${whole(rows.length)}; ${whole(leftOut)} more are in predictions.csv.` : '',
  });
  for (const id of ['e-search', 'e-said', 'e-new', 'e-changed']) byId(id).addEventListener('input', filterEntities);
  byId('e-new').closest('label').hidden = !labelled || rows.every((row) => row.known >= 0);
  byId('e-changed').closest('label').hidden = rows.every((row) => row.memory === null);
  const first = rows[STUDY.example?.entity ?? 0];
  entityTable.chosen = first;
  entityTable.show();
  showEntity(first);
}

// The classes of a set by their short labels; how many where there are many.
function shownSet(row) {
  const { classes } = STUDY.entities;
  if (!row.set.length) return 'none';
  const shown = row.set.slice(0, 4).map((c) => classes[c]).join(', ');
  return row.set.length > 4 ? `${shown}, … (${row.set.length})` : shown;
}

function filterEntities() {
  const wanted = byId('e-search').value.trim().toLowerCase(), said = byId('e-said').value, fresh = byId('e-new').checked, moved = byId('e-changed').checked;
  entityTable.setFilter((row) => (!wanted || row.node.toLowerCase().includes(wanted)) && (said === '' || row.predicted === Number(said)) && (!fresh || row.known < 0) && (!moved || (row.before !== null && row.before < 0.5 && row.sure >= 0.5)));
}

function showEntity(row) {
  const classes = STUDY.entities.classes.map(named), host = byId('e-node');
  entityChart?.remove();
  const title = row.known < 0 ? 'without a label' : `labelled ${classes[row.known]}`, list = row.set?.map((c) => classes[c]);
  const sets = !list ? null : list.length === 1 ? `One class is left: ${list[0]}.` : list.length ? `Not ruled out: ${list.join(', ')}.` : 'No class fits: it is unlike the labelled entities.';
  const known = STUDY.network && row.at >= 0 ? describe(row.at) : '';
  fill(host,
    h('div', { class: 'node-title' }, h('h3', {}, row.node), entityRows().some((one) => one.known >= 0) ? h('span', { class: 'badge plain' }, title) : null, STUDY.network && row.at >= 0 ? h('button', { type: 'button', class: 'link', onclick: () => choose(row.at, null, true) }, 'in the network') : null),
    known ? h('p', { class: 'muted' }, known) : null,
    h('p', {}, 'Predicted ', h('strong', {}, classes[row.predicted]), ` with ${fixed(row.sure, 2)}`, row.before === null ? '' : `, without memory ${fixed(row.before, 2)}`, '. ', sets),
    h('div', { id: 'e-chances' }), reasonsFor(STUDY.entities.reasons[String(row.i)], row.node));
  const found = classes.map((name, c) => [name, row.chances[c], c]).sort((x, y) => y[1] - x[1]).slice(0, 8);
  entityChart = new Chart({
    title: 'Probabilities', file: 'entity-probabilities.csv', level: 'h4', note: classes.length > 8 ? `The eight likeliest of ${classes.length} classes.` : '',
    make: (width) => chanceBars(found, width),
    table: () => ({ columns: ['class', 'probability'], rows: classes.map((name, c) => [name, row.chances[c]]) }),
  });
  byId('e-chances').append(entityChart.figure);
  entityChart.draw();
}
