// How good the predictions of a model are: confusion, reliability, classes, uncertainty, prediction sets.
const SHADES = ['#7d97c4', '#d89a5a', '#6aa77f'];
const SHARE = { range: [0, 1] };

function startQuality() {
  const host = byId('p-charts'), said = () => predictionsOf(current.model);
  const made = [confusionChart(said), reliabilityChart(said), classesChart(said), uncertaintyChart(said), ...setCharts(said)];
  for (const chart of made) host.append(h('div', {}, chart.figure));
  on('model', () => { for (const chart of made) chart.update(); });
}

function confusionChart(said) {
  return new Chart({
    title: 'Confusion matrix', file: 'confusion.csv', note: `Rows are the classes, columns what was predicted; colour is the share of the row. Click a cell for its ${UNITS}.`,
    make(width) {
      const { confusion: table, classes } = said(), n = table.length, marks = [], pick = (i, j) => () => { resetFilters(); byId('p-truth').value = String(i); byId('p-said').value = String(j); filterPredictions(); byId('p-table').scrollIntoView({ block: 'center' }); };
      table.forEach((row, i) => {
        const total = row.reduce((a, b) => a + b, 0), y = n - 1 - i;
        row.forEach((count, j) => {
          const share = count / (total || 1), tip = `class ${classes[i]}\npredicted ${classes[j]}\n${count} of ${total}`;
          marks.push({ kind: 'rect', x0: j - 0.5, x1: j + 0.5, y0: y - 0.5, y1: y + 0.5, inset: 1, fill: `color-mix(in srgb, var(--accent) ${Math.round(4 + 96 * share)}%, var(--card))`, tip, choose: pick(i, j) });
          if (count && n <= 16) marks.push({ kind: 'text', x: j, y, anchor: 'middle', text: String(count), fill: share > 0.5 ? 'var(--card)' : 'var(--ink)' });
        });
      });
      const labels = classes.map((name) => brief(name, 18)), at = classes.map((_, i) => i);
      return drawPlot({ width, height: Math.min(560, 130 + 30 * n), x: { range: [-0.5, n - 0.5], ticks: at, labels, title: 'predicted', grid: false }, y: { range: [-0.5, n - 0.5], ticks: at.map((i) => n - 1 - i), labels, title: 'class', grid: false }, marks });
    },
    table: () => ({ columns: ['class', ...said().classes], rows: said().confusion.map((row, i) => [said().classes[i], ...row]) }),
  });
}

function reliabilityChart(said) {
  return new Chart({
    title: 'Reliability', file: 'reliability.csv', note: 'How often a prediction is right, by its confidence. On the dotted line both are equal.',
    legend: () => [{ name: 'this model', colour: 'var(--accent)', shape: 'line' }, { name: `${UNITS} with this confidence`, colour: 'var(--flow-base)' }],
    make(width) {
      const bins = said().reliability.bins.filter((bin) => bin.nodes), most = Math.max(...bins.map((bin) => bin.nodes));
      const marks = [
        ...bins.map((bin) => ({ kind: 'rect', x0: bin.from + 0.005, x1: bin.to - 0.005, y0: 0, y1: (0.25 * bin.nodes) / most, fill: 'var(--flow-base)', opacity: 0.6, tip: `${bin.nodes} ${UNITS}` })),
        { kind: 'line', points: [[0, 0], [1, 1]], stroke: 'var(--soft)', width: 1.3, dash: 'dot' },
        { kind: 'line', points: bins.map((bin) => [bin.confidence, bin.accuracy]), stroke: 'var(--accent)' },
        ...bins.map((bin) => ({ kind: 'dot', x: bin.confidence, y: bin.accuracy, r: 3.5 + 5.5 * Math.sqrt(bin.nodes / most), fill: 'var(--accent)', tip: `confidence ${fixed(bin.confidence, 2)}\nright ${fixed(bin.accuracy, 2)}\n${bin.nodes} ${UNITS}` })),
      ];
      return drawPlot({ width, height: 400, x: { ...SHARE, title: 'mean confidence' }, y: { ...SHARE, title: 'share right' }, marks });
    },
    table: () => ({ columns: ['from', 'to', UNITS, 'mean confidence', 'share right'], rows: said().reliability.bins.map((bin) => [bin.from, bin.to, bin.nodes, bin.confidence, bin.accuracy]) }),
  });
}

function classesChart(said) {
  const looks = [['precision', 'precision'], ['recall', 'recall'], ['f1', 'F1']];
  return new Chart({
    title: 'Scores by class', file: 'classes.csv', note: `In brackets the number of ${UNITS} of each class.`, legend: () => looks.map(([, name], k) => ({ name, colour: SHADES[k] })),
    make(width) {
      const rows = said().by_class, classes = said().classes;
      return groupedBars({ categories: rows.map((row, i) => `${brief(classes[i], 18)} (${row.support})`), width, height: 360, axis: { ...SHARE }, groups: looks.map(([key, name], k) => ({ values: rows.map((row) => row[key]), fill: SHADES[k], tips: rows.map((row, i) => `class ${classes[i]}\n${name} ${fixed(row[key])}\n${row.support} ${UNITS}`) })) });
    },
    table: () => ({ columns: ['class', UNITS, 'predicted', 'precision', 'recall', 'F1'], rows: said().by_class.map((row, i) => [said().classes[i], row.support, row.predicted, row.precision, row.recall, row.f1]) }),
  });
}

function uncertaintyChart(said) {
  return new Chart({
    title: 'Uncertainty', file: 'uncertainty.csv', note: `Each ${UNIT}: its confidence against the share of pairs of learners that differ (of a model without learners: the entropy). Of many ${UNITS} some are drawn. Click one.`,
    legend: () => [{ name: 'right', colour: 'var(--good)' }, { name: 'wrong', colour: 'var(--bad)' }],
    make(width) {
      const one = said(), apart = one.disagreement ?? one.entropy, step = Math.ceil(one.nodes.length / 2000), some = [...one.nodes.keys()].filter((b) => b % step === 0);
      const marks = some.map((b) => ({ kind: 'dot', x: one.sure[b], y: apart[b], r: 4, fill: one.truth[b] === one.predicted[b] ? 'var(--good)' : 'var(--bad)', opacity: 0.6, tip: `${brief(one.nodes[b], 50)}\nclass ${one.classes[one.truth[b]]}\npredicted ${one.classes[one.predicted[b]]}`, choose: () => tell('prediction', b, true) }));
      return drawPlot({ width, height: 360, x: { ...SHARE, range: [Math.max(0, Math.min(...some.map((b) => one.sure[b])) - 0.05), 1], title: 'confidence' }, y: { range: rangeOf(some.map((b) => apart[b]), { zero: true, share: Boolean(one.disagreement) }), title: one.disagreement ? 'disagreement' : 'entropy' }, marks });
    },
    table: () => ({ columns: [UNIT, 'class', 'predicted', 'confidence', 'entropy', 'disagreement'], rows: said().nodes.map((node, b) => [node, said().classes[said().truth[b]], said().classes[said().predicted[b]], said().sure[b], said().entropy[b], said().disagreement?.[b] ?? null]) }),
  });
}

// Prediction sets (coverage by class, sizes) and the accuracy of the surest nodes.
function setCharts(said) {
  const rows = () => said().sets ?? [], percent = (row) => `${Math.round(100 * row.level)} %`;
  const coverage = () => new Chart({
    title: 'Coverage by class', file: 'coverage.csv', note: `How often the prediction set holds the true class, over all ${UNITS} (with a 95 % interval) and by class. It is asked for over all ${UNITS}; single classes may be covered less.`,
    legend: () => rows().map((row, k) => ({ name: `asked ${percent(row)}`, colour: SHADES[k] })),
    make: (width) => groupedBars({ categories: ['all', ...said().classes.map((name) => brief(name, 18))], width, height: 360, axis: { ...SHARE, title: 'share covered' }, groups: rows().map((row, k) => ({ values: [row.coverage, ...row.by_class], fill: SHADES[k], spans: [[row.low, row.high]], tips: [row.coverage, ...row.by_class].map((v, i) => `${i ? said().classes[i - 1] : 'all'}\nasked ${percent(row)}\ncovered ${fixed(v)}`) })) }),
    table: () => ({ columns: ['asked', 'coverage', 'from', 'to', 'mean size', ...said().classes], rows: rows().map((row) => [row.level, row.coverage, row.low, row.high, row.size, ...row.by_class]) }),
  });
  const sizes = () => new Chart({
    title: 'Set size', file: 'set-sizes.csv', note: 'How many classes the prediction sets hold. A set of one class is a definite prediction; larger ones abstain.',
    legend: () => rows().map((row, k) => ({ name: `asked ${percent(row)}, mean ${fixed(row.size, 2)}`, colour: SHADES[k] })),
    make: (width) => groupedBars({ categories: (rows()[0]?.sizes ?? []).map((_, i) => String(i)), width, height: 360, axis: { range: rangeOf(rows().flatMap((row) => row.sizes), { zero: true }), title: UNITS, across: 'classes in the set', format: whole }, groups: rows().map((row, k) => ({ values: row.sizes, fill: SHADES[k], tips: row.sizes.map((count, i) => `${i} classes\nasked ${percent(row)}\n${count} ${UNITS}`) })) }),
    table: () => ({ columns: ['asked', ...(rows()[0]?.sizes ?? []).map((_, i) => `size ${i}`)], rows: rows().map((row) => [row.level, ...row.sizes]) }),
  });
  const abstention = new Chart({
    title: 'Accuracy against share answered', file: 'abstention.csv', note: `Where the model answers only for the ${UNITS} with the highest confidence.`,
    make(width) {
      const found = said().abstention;
      return drawPlot({ width, height: 360, x: { ...SHARE, title: 'share answered' }, y: { range: rangeOf(found.map((row) => row.accuracy), { share: true }), title: 'share right' }, marks: [{ kind: 'line', points: found.map((row) => [row.share, row.accuracy]), stroke: 'var(--accent)' }, ...found.map((row) => ({ kind: 'dot', x: row.share, y: row.accuracy, fill: 'var(--accent)', tip: `answered ${fixed(row.share, 1)}\nright ${fixed(row.accuracy)}` }))] });
    },
    table: () => ({ columns: ['share answered', 'accuracy'], rows: said().abstention.map((row) => [row.share, row.accuracy]) }),
  });
  return Object.values(STUDY.predictions).some((one) => one.sets) ? [coverage(), sizes(), abstention] : [abstention];
}
