// How good the predictions of a model are, and how its learners learnt: confusion, reliability, classes, diversity, curves.
function startQuality() {
  const host = byId('p-charts'), said = () => predictionsOf(current.model);
  const names = () => said().classes.map((name) => safe(brief(name, 14)));
  const confusion = new Chart({
    title: 'Confusion matrix', file: 'confusion.csv', height: 420, note: 'Rows are the classes, columns what was predicted; colour is the share of the row. Click a cell for its ' + `${UNITS}.`, config: { displayModeBar: false },
    make() {
      const table = said().confusion, total = table.map((row) => row.reduce((a, b) => a + b, 0)), size = table.length, at = [...Array(size).keys()];
      const dark = document.documentElement.dataset.theme === 'dark', share = table.map((row, i) => row.map((n) => n / (total[i] || 1)));
      return { data: [{ type: 'heatmap', x: at, y: at, z: share, zmin: 0, zmax: 1, showscale: false, xgap: 2, ygap: 2, colorscale: dark ? [[0, '#202835'], [1, '#86a9ff']] : [[0, '#f1f4f9'], [1, '#2f5fd0']], hoverinfo: 'text', text: table.map((row, i) => row.map((n, j) => `class ${names()[i]}<br>predicted ${names()[j]}<br><b>${n}</b> of ${total[i]}`)) }], layout: { margin: { l: 10, r: 6, t: 6, b: 10 }, dragmode: false, xaxis: { tickvals: at, ticktext: names(), title: { text: 'predicted' }, fixedrange: true, showgrid: false, zeroline: false }, yaxis: { tickvals: at, ticktext: names(), autorange: 'reversed', title: { text: 'class' }, fixedrange: true, showgrid: false, zeroline: false }, annotations: size <= 16 ? table.flatMap((row, i) => row.map((n, j) => ({ x: j, y: i, text: n ? String(n) : '', showarrow: false, font: { size: 11, color: share[i][j] > 0.5 ? (dark ? '#10141b' : '#fff') : cssColour('--ink') } }))) : [] } };
    },
    table: () => ({ columns: ['class', ...said().classes], rows: said().confusion.map((row, i) => [said().classes[i], ...row]) }),
    click: (point) => { resetFilters(); byId('p-truth').value = String(point.y); byId('p-said').value = String(point.x); filterPredictions(); byId('p-table').scrollIntoView({ block: 'center' }); },
  });
  const reliability = new Chart({
    title: 'Reliability', file: 'reliability.csv', height: 420, config: { displayModeBar: false },
    note: 'How often it is right, by how sure it is. On the line, a confidence is a chance.',
    make() {
      const bins = said().reliability.bins.filter((bin) => bin.nodes), most = Math.max(...bins.map((bin) => bin.nodes));
      const middle = bins.map((bin) => (bin.from + bin.to) / 2), soft = cssColour('--soft');
      return { data: [
        { type: 'bar', x: middle, y: bins.map((bin) => (0.25 * bin.nodes) / most), width: 0.09, marker: { color: soft, opacity: 0.25 }, hoverinfo: 'text', text: bins.map((bin) => `${bin.nodes} ${UNITS}`), textposition: 'none', name: UNITS },
        { type: 'scatter', mode: 'lines', x: [0, 1], y: [0, 1], line: { color: soft, dash: 'dot', width: 1.2 }, hoverinfo: 'skip', name: 'as sure as right' },
        { type: 'scatter', mode: 'lines+markers', x: bins.map((bin) => bin.confidence), y: bins.map((bin) => bin.accuracy), line: { color: cssColour('--accent'), width: 2 }, marker: { size: bins.map((bin) => 7 + 11 * Math.sqrt(bin.nodes / most)), color: cssColour('--accent') }, text: bins.map((bin) => `confidence ${fixed(bin.confidence, 2)}<br>right ${fixed(bin.accuracy, 2)}<br>${bin.nodes} ${UNITS}`), hoverinfo: 'text', name: 'this model' },
      ], layout: { dragmode: false, xaxis: { range: [0, 1.03], title: { text: 'mean confidence' }, fixedrange: true }, yaxis: { range: [0, 1.05], title: { text: 'share right' }, fixedrange: true } } };
    },
    table: () => ({ columns: ['from', 'to', UNITS, 'mean confidence', 'share right'], rows: said().reliability.bins.map((bin) => [bin.from, bin.to, bin.nodes, bin.confidence, bin.accuracy]) }),
  });
  const classes = new Chart({
    title: 'Scores by class', file: 'classes.csv', height: 360, note: `With the number of ${UNITS} of each class.`, config: { displayModeBar: false },
    make() {
      const rows = said().by_class, at = rows.map((_, i) => i);
      const bar = (key, color) => ({ type: 'bar', name: key === 'f1' ? 'F1' : key, x: at, y: rows.map((row) => row[key] ?? 0), marker: { color }, text: rows.map((row, i) => `class ${names()[i]}<br>${key} ${fixed(row[key])}<br>${row.support} ${UNITS}`), textposition: 'none', hoverinfo: 'text' });
      return { data: [bar('precision', '#7d97c4'), bar('recall', '#d89a5a'), bar('f1', cssColour('--accent'))], layout: { barmode: 'group', bargap: 0.25, dragmode: false, xaxis: { tickvals: at, ticktext: rows.map((row, i) => `${names()[i]}<br>${row.support}`), title: { text: `class and its ${UNITS}` }, fixedrange: true }, yaxis: { range: [0, 1.03], fixedrange: true } } };
    },
    table: () => ({ columns: ['class', UNITS, 'predicted', 'precision', 'recall', 'F1'], rows: said().by_class.map((row) => [row.class, row.support, row.predicted, row.precision, row.recall, row.f1]) }),
  });
  const uncertainty = new Chart({
    title: 'Uncertainty', file: 'uncertainty.csv', height: 360, note: `Each ${UNIT}: how sure the model is, against the share of pairs of learners that differ (of a model without learners: the entropy). Click one.`,
    make() {
      const one = said(), all = [...one.nodes.keys()], apart = (b) => (one.disagreement ?? one.entropy)[b];
      const group = (name, right, color) => { const nodes = all.filter((b) => (one.truth[b] === one.predicted[b]) === right); return { type: scatterKind(), mode: 'markers', name, x: nodes.map((b) => one.sure[b]), y: nodes.map(apart), customdata: nodes, marker: { color, size: 7, opacity: 0.65 }, text: nodes.map((b) => `<b>${safe(brief(one.nodes[b], 50))}</b><br>class ${safe(brief(one.classes[one.truth[b]], 30))}, predicted ${safe(brief(one.classes[one.predicted[b]], 30))}`), hoverinfo: 'text' }; };
      return { data: [group('right', true, cssColour('--good')), group('wrong', false, cssColour('--bad'))], layout: { hovermode: 'closest', xaxis: { title: { text: 'confidence' }, range: [0, 1.03] }, yaxis: { title: { text: one.disagreement ? 'disagreement' : 'entropy' }, rangemode: 'tozero' } } };
    },
    table: () => ({ columns: [UNIT, 'class', 'predicted', 'confidence', 'entropy', 'disagreement'], rows: said().nodes.map((node, b) => [node, said().classes[said().truth[b]], said().classes[said().predicted[b]], said().sure[b], said().entropy[b], said().disagreement?.[b] ?? null]) }),
    click: (point) => { if (point.customdata !== undefined) tell('prediction', point.customdata, true); },
  });
  const charts = [confusion, reliability, classes, uncertainty, ...setCharts(said, names)];
  for (const chart of charts) host.append(h('div', {}, chart.figure));
  on('model', () => { for (const chart of charts) chart.update(); });
}

// Prediction sets (coverage by class, sizes) and the accuracy of the surest nodes.
function setCharts(said, names) {
  const rows = () => said().sets ?? [], percent = (row) => `${Math.round(100 * row.level)} %`, colours = ['#7d97c4', '#d89a5a', '#6aa77f'];
  const coverage = new Chart({
    title: 'Coverage by class', file: 'coverage.csv', height: 360, config: { displayModeBar: false },
    note: 'How often the prediction set holds the true class, over all nodes and by class. It is asked for over all nodes; single classes may be covered less.',
    make() {
      const ticks = ['all', ...names()], at = ticks.map((_, i) => i);
      const bar = (row, k) => ({ type: 'bar', name: `asked ${percent(row)}`, x: at, y: [row.coverage, ...row.by_class].map((v) => v ?? 0), marker: { color: colours[k] }, error_y: { type: 'data', symmetric: false, array: at.map((i) => (i ? 0 : row.high - row.coverage)), arrayminus: at.map((i) => (i ? 0 : row.coverage - row.low)) }, hoverinfo: 'text', textposition: 'none', text: [row.coverage, ...row.by_class].map((v, i) => `${ticks[i]}<br>asked ${percent(row)}<br>covered ${fixed(v)}`) });
      return { data: rows().map(bar), layout: { barmode: 'group', bargap: 0.25, dragmode: false, xaxis: { tickvals: at, ticktext: ticks, fixedrange: true }, yaxis: { range: [0, 1.05], title: { text: 'share covered' }, fixedrange: true } } };
    },
    table: () => ({ columns: ['asked', 'coverage', 'from', 'to', 'mean size', ...said().classes], rows: rows().map((row) => [row.level, row.coverage, row.low, row.high, row.size, ...row.by_class]) }),
  });
  const sizes = new Chart({
    title: 'Set size', file: 'set-sizes.csv', height: 360, config: { displayModeBar: false }, note: 'How many classes the prediction sets hold. A set of one class is an answer; the others abstain.',
    make: () => ({ data: rows().map((row, k) => ({ type: 'bar', name: `asked ${percent(row)}, mean ${fixed(row.size, 2)}`, x: row.sizes.map((_, i) => i), y: row.sizes, marker: { color: colours[k] } })), layout: { barmode: 'group', dragmode: false, xaxis: { title: { text: 'classes in the set' }, dtick: 1, fixedrange: true }, yaxis: { title: { text: 'nodes' }, fixedrange: true } } }),
    table: () => ({ columns: ['asked', ...(rows()[0]?.sizes ?? []).map((_, i) => `size ${i}`)], rows: rows().map((row) => [row.level, ...row.sizes]) }),
  });
  const abstention = new Chart({
    title: 'Accuracy against share answered', file: 'abstention.csv', height: 360, config: { displayModeBar: false }, note: 'Where the model answers only for the nodes that it is surest of.',
    make: () => ({ data: [{ type: 'scatter', mode: 'lines+markers', x: said().abstention.map((row) => row.share), y: said().abstention.map((row) => row.accuracy), line: { color: cssColour('--accent'), width: 2 } }], layout: { dragmode: false, xaxis: { range: [0, 1.03], title: { text: 'share answered' }, fixedrange: true }, yaxis: { title: { text: 'share right' }, fixedrange: true } } }),
    table: () => ({ columns: ['share answered', 'accuracy'], rows: said().abstention.map((row) => [row.share, row.accuracy]) }),
  });
  return STUDY.predictions && Object.values(STUDY.predictions).some((one) => one.sets) ? [coverage, sizes, abstention] : [abstention];
}

function startLearning() {
  const host = byId('learning-charts'), rows = STUDY.models.map((row) => row.name);
  const spread = Object.entries(STUDY.diversity ?? {}), colour = (name) => modelColour(rows.indexOf(name));
  if (spread.length) {
    host.append(h('div', {}, new Chart({
      title: 'Diversity of the learners', file: 'diversity.csv', height: 420, note: "A dot is a pair of learners in one fold: Cohen's kappa of their votes against their mean log loss. Good ensembles stand left (they differ) and low (they are good). Diamonds are the means.",
      make: () => ({ data: spread.flatMap(([name, one]) => [
        { type: scatterKind(), mode: 'markers', name: safe(name), legendgroup: name, x: one.points.map((p) => p[3]), y: one.points.map((p) => p[4]), marker: { color: colour(name), size: 5, opacity: 0.35 }, text: one.points.map(([fold, i, j, kappa, loss]) => `${safe(name)}, fold ${fold}<br>learners ${i + 1} and ${j + 1}<br>kappa ${fixed(kappa, 2)}, loss ${fixed(loss, 2)}`), hoverinfo: 'text' },
        { type: 'scatter', mode: 'markers', legendgroup: name, showlegend: false, x: [one.mean_kappa], y: [one.mean_loss], marker: { color: colour(name), size: 14, symbol: 'diamond', line: { width: 2, color: cssColour('--card') } }, text: [`<b>${safe(name)}</b><br>mean kappa ${fixed(one.mean_kappa, 2)}<br>mean loss ${fixed(one.mean_loss, 2)}`], hoverinfo: 'text' },
      ]), layout: { hovermode: 'closest', xaxis: { title: { text: "Cohen's kappa of a pair" } }, yaxis: { title: { text: 'mean log loss of the pair' } } } }),
      table: () => ({ columns: ['model', 'fold', 'learner', 'other learner', 'kappa', 'mean loss'], rows: spread.flatMap(([name, one]) => one.points.map(([fold, i, j, kappa, loss]) => [name, fold, i + 1, j + 1, kappa, loss])) }),
    }).figure));
  }
  const curves = Object.entries(STUDY.curves ?? {});
  if (!curves.length) return;
  const choice = h('select', { 'aria-label': 'Row of the learning curves' });
  options(choice, curves.map(([name]) => [name, name]));
  const chart = new Chart({
    title: 'Learning curves', file: 'learning-curves.csv', height: 380, extra: [choice], note: 'Mean over the fits, with the range. The refit trains anew on all ' + `${UNITS}, without a validation part.`,
    make() {
      const data = [], looks = { 'search loss': ['--accent', 'training loss', 'solid'], 'search validation_loss': ['--second', 'validation loss', 'solid'], 'refit loss': ['--soft', 'training loss, refit', 'dash'] };
      for (const one of STUDY.curves[choice.value]) {
        const [token, name, dash] = looks[`${one.phase} ${one.curve}`] ?? ['--soft', `${one.phase} ${one.curve}`, 'dot'], color = cssColour(token);
        data.push({ type: 'scatter', mode: 'lines', x: [...one.epoch, ...[...one.epoch].reverse()], y: [...one.most, ...[...one.least].reverse()], fill: 'toself', fillcolor: color, opacity: 0.13, line: { width: 0 }, hoverinfo: 'skip', showlegend: false });
        data.push({ type: 'scatter', mode: 'lines', name, x: one.epoch, y: one.mean, line: { color, width: 2.2, dash }, text: one.epoch.map((e, i) => `epoch ${e}<br>${name} ${fixed(one.mean[i])}<br>${one.fits[i]} fits`), hoverinfo: 'text' });
      }
      return { data, layout: { hovermode: 'closest', xaxis: { title: { text: 'epoch' } }, yaxis: { title: { text: 'loss' }, rangemode: 'tozero' } } };
    },
    table: () => ({ columns: ['phase', 'curve', 'epoch', 'mean', 'least', 'most', 'fits'], rows: STUDY.curves[choice.value].flatMap((one) => one.epoch.map((e, i) => [one.phase, one.curve, e, one.mean[i], one.least[i], one.most[i], one.fits[i]])) }),
  });
  choice.addEventListener('change', () => chart.update());
  host.append(h('div', {}, chart.figure));
}
