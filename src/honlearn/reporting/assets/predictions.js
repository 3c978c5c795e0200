// Predictions: a table of the tested nodes with filters, and for one node the prediction of every learner.
const current = { model: null, node: null };
const opened = new Map();
let predictionTable = null, chanceChart = null;

function predictionsOf(name) {
  if (!opened.has(name)) {
    const packed = STUDY.predictions[name], said = { ...packed, classes: packed.classes.map(named) };
    for (const key of ['at', 'truth', 'fold', 'proba', 'entropy', 'disagreement']) said[key] = unpack(packed[key]);
    if (packed.learners) {
      said.learners = { ...packed.learners };
      for (const key of ['vote', 'chance', 'relative', 'drawn_vote', 'drawn_chance']) said.learners[key] = unpack(packed.learners[key]);
    }
    const width = said.classes.length;
    said.predicted = new Uint16Array(said.nodes.length);
    said.sure = new Float32Array(said.nodes.length);
    for (let b = 0; b < said.nodes.length; b++) {
      let best = 0;
      for (let c = 1; c < width; c++) if (said.proba[b * width + c] > said.proba[b * width + best]) best = c;
      said.predicted[b] = best;
      said.sure[b] = said.proba[b * width + best];
    }
    said.where = new Map();
    said.at.forEach((at, b) => { if (at >= 0) said.where.set(at, b); });
    opened.set(name, said);
  }
  return opened.get(name);
}

function startPredictions() {
  current.model = bestModel(MAIN)?.name in STUDY.predictions ? bestModel(MAIN).name : Object.keys(STUDY.predictions)[0];
  options(byId('model'), Object.keys(STUDY.predictions).map((name) => [name, name]));
  byId('model').addEventListener('change', () => showModel(byId('model').value));
  for (const id of ['p-search', 'p-truth', 'p-said', 'p-wrong', 'p-sure']) byId(id).addEventListener('input', filterPredictions);
  byId('p-reset').addEventListener('click', () => { resetFilters(); filterPredictions(); });
  const says = (c) => dotted(classColour(c), predictionsOf(current.model).classes[c]);
  predictionTable = new DataTable(byId('p-table'), {
    title: UNIT === 'path' ? 'Paths' : 'Nodes', file: 'predictions.csv', rows: [], sort: 'sure', descending: false, size: 20,
    columns: [
      { key: 'node', title: UNIT },
      { key: 'label', title: 'class', cell: (row) => says(row.truth) },
      { key: 'said', title: 'predicted', cell: (row) => h('span', {}, says(row.predicted), row.truth !== row.predicted && [' ', h('span', { class: 'badge bad' }, 'wrong')]) },
      { key: 'sure', title: 'confidence', number: true, format: (v) => fixed(v, 2) },
      { key: 'entropy', title: 'entropy', number: true, format: (v) => fixed(v, 2), hint: 'Of the probabilities, in nats' },
      { key: 'apart', title: 'disagreement', number: true, format: (v) => fixed(v, 2), hint: 'Share of pairs of learners that differ' },
      { key: 'fold', title: 'fold', number: true },
    ],
    choose: (row) => showPrediction(row.b),
  });
  on('prediction', (b, focus) => { resetFilters(); filterPredictions(); showPrediction(b); if (focus) { byId('predictions').scrollIntoView(); byId('p-node').focus({ preventScroll: true }); } });
  startQuality();
  showModel(current.model);
}

function resetFilters() {
  byId('p-search').value = byId('p-truth').value = byId('p-said').value = '';
  byId('p-wrong').checked = false;
  byId('p-sure').value = '1';
}

function showModel(name) {
  current.model = name;
  byId('model').value = name;
  const said = predictionsOf(name), any = [['', 'any'], ...said.classes.map((c, i) => [String(i), c])];
  for (const id of ['p-truth', 'p-said']) { const kept = byId(id).value; options(byId(id), any); byId(id).value = kept < said.classes.length ? kept : ''; }
  predictionTable.rows = said.nodes.map((node, b) => ({ b, node, truth: said.truth[b], predicted: said.predicted[b], label: said.classes[said.truth[b]], said: said.classes[said.predicted[b]], sure: said.sure[b], entropy: said.entropy[b], apart: said.disagreement?.[b] ?? null, fold: said.fold[b] }));
  const right = predictionTable.rows.filter((row) => row.truth === row.predicted).length, total = predictionTable.rows.length;
  const sure = predictionTable.rows.reduce((sum, row) => sum + row.sure, 0) / total;
  fill(byId('p-tiles'), tile(fixed(right / total), 'accuracy over all folds'), tile(whole(total - right), `wrong of ${whole(total)}`), tile(fixed(sure), 'mean confidence'), tile(fixed(said.reliability.error), 'calibration error'), said.learners ? tile(whole(said.learners.number), 'learners') : null);
  filterPredictions();
  showPrediction(said.nodes.length ? firstShown(said) : null);
  tell('model', name);
  if (STUDY.network && byId('node').firstChild) showNode();
}

// The node of the example, where it was tested; else the surest of the right ones.
function firstShown(said) {
  const sample = STUDY.example?.context ?? null, here = sample === null || !STUDY.network ? undefined : said.where.get(NET().contexts.base[sample]);
  if (here !== undefined) return here;
  const all = [...said.nodes.keys()], right = all.filter((b) => said.truth[b] === said.predicted[b]);
  return (right.length ? right : all).reduce((best, b) => (said.sure[b] > said.sure[best] ? b : best));
}

function filterPredictions() {
  const wanted = byId('p-search').value.trim().toLowerCase(), truth = byId('p-truth').value, says = byId('p-said').value, wrong = byId('p-wrong').checked, most = Number(byId('p-sure').value);
  byId('p-sure-text').textContent = most.toFixed(2);
  predictionTable.setFilter((row) => (!wanted || row.node.toLowerCase().includes(wanted)) && (truth === '' || row.truth === Number(truth)) && (says === '' || row.predicted === Number(says)) && (!wrong || row.truth !== row.predicted) && row.sure <= most + 1e-9);
}

function showPrediction(b) {
  const host = byId('p-node');
  current.node = b;
  chanceChart?.remove();
  chanceChart = null;
  if (b === null) {
    predictionTable.chosen = null;
    fill(host, h('div', { class: 'empty' }, h('h3', {}, `No ${UNIT} chosen`), h('p', {}, UNIT === 'path' ? 'Click a path in the table: its probabilities.' : 'Click a node in the table: its probabilities, and the prediction of every learner from its relative.')));
    return;
  }
  predictionTable.chosen = predictionTable.rows[b];
  predictionTable.show();
  const said = predictionsOf(current.model), right = said.truth[b] === said.predicted[b], at = said.at[b];
  fill(host,
    h('div', { class: 'node-title' }, h('h3', {}, said.nodes[b]), h('span', { class: `badge ${right ? 'good' : 'bad'}` }, right ? 'right' : 'wrong'), STUDY.network && at >= 0 ? h('button', { type: 'button', class: 'link', onclick: () => choose(at, null, true) }, 'in the network') : null),
    h('p', { class: 'muted' }, STUDY.network && at >= 0 ? describe(at) : ''),
    h('p', {}, 'Class ', h('strong', {}, said.classes[said.truth[b]]), ', predicted ', h('strong', {}, said.classes[said.predicted[b]]), ` with ${fixed(said.sure[b], 2)}, in fold ${said.fold[b]} of seed ${said.seed}.`),
    h('div', { id: 'chances' }), reasonsOf(said, b), votes(said, b));
  const width = said.classes.length, rows = said.classes.map((name, c) => [name, said.proba[b * width + c], c]).sort((x, y) => y[1] - x[1]).slice(0, 8);
  chanceChart = new Chart({
    title: 'Probabilities', file: 'probabilities.csv', level: 'h4', note: width > 8 ? `The eight likeliest of ${width} classes; ✓ is the true one.` : '✓ is the true class.',
    make: (wide) => chanceBars(rows.map((row) => [row[0] + (row[2] === said.truth[b] ? ' ✓' : ''), row[1], row[2]]), wide),
    table: () => ({ columns: ['class', 'probability'], rows: said.classes.map((name, c) => [name, said.proba[b * width + c]]) }),
  });
  byId('chances').append(chanceChart.figure);
  chanceChart.draw();
}

// Probabilities of classes as lying bars; rows: [name, probability, class].
function chanceBars(rows, width) {
  return groupedBars({ categories: rows.map((row) => row[0]), width, height: 34 + rows.length * 25, lying: true, axis: { range: [0, 1] }, groups: [{ values: rows.map((row) => row[1]), fill: rows.map((row) => classColour(row[2])), texts: rows.map((row) => fixed(row[1], 2)), tips: rows.map((row) => `${row[0]}\n${fixed(row[1])}`) }] });
}

function votes(said, b) {
  const { learners } = said, size = said.nodes.length;
  if (!learners) return h('p', { class: 'muted' }, said.learners_left_out ? 'The predictions of each learner are left out for this model, to keep the page small; they are in the run folder.' : 'This model has no learners.');
  const vote = (votes, chances, l) => { const c = votes[l * size + b]; return [h('span', { class: 'dot', style: { background: classColour(c) } }), said.classes[c], ' ', h('span', { class: 'muted' }, fixed(chances[l * size + b], 2)), c === said.truth[b] ? ' ✓' : '']; };
  const from = learners.relative ? (l) => relativeAt(said, b, learners.relative[l * size + b]) : null;
  return h('div', {}, h('h4', {}, from ? 'Learners: the prediction of each over all it read, and from one drawn relative' : 'Learners'),
    h('div', { class: 'votes', tabindex: '0', role: 'region', 'aria-label': 'The prediction of every learner' }, h('table', {},
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, '#'), h('th', { scope: 'col' }, 'predicted'), from && [h('th', { scope: 'col' }, 'relative'), h('th', { scope: 'col' }, 'predicted from it')])),
      h('tbody', {}, Array.from({ length: learners.number }, (_, l) => h('tr', {}, h('th', { scope: 'row', class: 'number' }, l + 1), h('td', {}, vote(learners.vote, learners.chance, l)), from && [h('td', {}, from(l)), h('td', {}, vote(learners.drawn_vote, learners.drawn_chance, l))]))))));
}

function relativeAt(said, b, place) {
  const at = said.at[b];
  if (!STUDY.network || at < 0) return place ? `context ${place}` : said.nodes[b];
  const name = relativeName(at, place), context = NET().family[at].find((c) => NET().contexts.place[c] === place);
  return context === undefined || !place ? name : h('button', { type: 'button', class: 'link', onclick: () => choose(at, context, true) }, name);
}
