// Overview: tiles, first order against higher order in each fold, and all scores as chart and table.
const MAIN = Object.keys(STUDY.scores)[0];
const modelColour = (index) => PALETTE[index % PALETTE.length];
const meanOf = (row, score) => row.scores[score]?.mean ?? null;
const pText = (p) => (p === null ? '' : p < 0.001 ? 'p < 0.001' : `p = ${Number(p.toPrecision(2))}`);

function bestModel(score) {
  if (!score) return null;
  const more = STUDY.scores[score].more, known = STUDY.models.filter((row) => meanOf(row, score) !== null);
  return known.reduce((best, row) => (!best || (more ? meanOf(row, score) > meanOf(best, score) : meanOf(row, score) < meanOf(best, score)) ? row : best), null);
}

function startOverview() {
  const best = bestModel(MAIN), sizes = STUDY.network?.sizes, tiles = [], { memory } = STUDY;
  if (best) {
    const { mean, std } = best.scores[MAIN];
    tiles.push(tile(fixed(mean), `${STUDY.models.length > 1 ? 'best ' : ''}${STUDY.scores[MAIN].title}: ${best.name}`, std === null ? '' : `± ${fixed(std)}`));
  }
  if (memory) tiles.push(tile(fixed(memory.saved, 2), `of ${fixed(memory.first, 2)} bits per step saved by memory, on held-out paths`, 'bits'));
  if (sizes) {
    tiles.push(tile(whole(sizes.entities), 'entities', ''));
    tiles.push(tile(whole(sizes.conditional), 'contexts that became nodes', ''));
  }
  if (STUDY.network?.classes.length) tiles.push(tile(whole(STUDY.network.classes.length), 'classes'));
  fill(byId('tiles'), tiles);
  if (!STUDY.models.length) return;
  if (STUDY.pair) byId('scores-chart').append(pairChart().figure);
  if (!STUDY.pair || STUDY.models.length > 2) byId(STUDY.pair ? 'scores-all' : 'scores-chart').append(scoresChart().figure);
  scoresTable();
}

// One line for each fold, from its score without memory to that with it; the last line is the mean.
function pairChart() {
  const { folds, mean, p_value: p, score, model } = STUDY.pair, { title, share } = STUDY.scores[score], name = title[0].toUpperCase() + title.slice(1);
  const shown = folds.slice(0, 20), seeds = STUDY.pair.seeds > 1, rows = [...shown.map((row) => [seeds ? `seed/fold ${row.fold}` : `fold ${row.fold.split('/')[1]}`, row.first, row.higher]), ['mean', mean.first, mean.higher]];
  const looks = [['first order', 'var(--second)', 1], ['higher order', 'var(--accent)', 2]];
  return new Chart({
    title: `${name}: first order against higher order`, level: 'h2', file: 'paired-folds.csv',
    note: `${model} with the same settings on both networks, fold by fold: ${fixed(mean.first, 2)} without memory, ${fixed(mean.higher, 2)} with it${p === null ? '' : ` (${pText(p)}, corrected resampled t-test)`}.${folds.length > shown.length ? ` The first ${shown.length} of ${folds.length} folds are drawn.` : ''}`,
    legend: () => looks.map(([text, colour]) => ({ name: text, colour })),
    make(width) {
      const marks = [], last = rows.length - 1;
      rows.forEach(([text, first, higher], i) => {
        const y = last - i, bold = i === last;
        marks.push({ kind: 'span', x0: first, x1: higher, y0: y, y1: y, stroke: bold ? 'var(--ink)' : 'var(--soft)', width: bold ? 3 : 1.6, opacity: bold ? 0.8 : 0.55 });
        for (const [label, fillColour, place] of looks) marks.push({ kind: 'dot', x: rows[i][place], y, r: bold ? 9 : 6, shape: bold ? 'diamond' : null, fill: fillColour, tip: `${text}\n${label} ${fixed(rows[i][place])}` });
        if (bold) for (const [, , place] of looks) marks.push({ kind: 'text', x: rows[i][place], y, dy: -13, anchor: 'middle', text: fixed(rows[i][place], 2), fill: 'var(--ink)', strong: true });
      });
      const ends = rangeOf(rows.flatMap((row) => [row[1], row[2]]), { share });
      return drawPlot({ x: { range: ends, title: `${title}, on nodes that the fit has not seen`.replace('nodes', STUDY.task === 'nodes' ? 'nodes' : STUDY.task === 'links' ? 'pairs' : 'paths') }, y: { range: [-0.6, last + 0.7], ticks: rows.map((_, i) => last - i), labels: rows.map((row) => row[0]), grid: false }, marks, width, height: 96 + 34 * rows.length, right: 22 });
    },
    table: () => ({ columns: ['seed/fold', 'first order', 'higher order', 'difference'], rows: [...folds.map((row) => [row.fold, row.first, row.higher, row.higher - row.first]), ['mean', mean.first, mean.higher, mean.higher - mean.first]] }),
  });
}

function scoresChart() {
  const choice = h('select', { 'aria-label': 'Score shown' }), rows = STUDY.models, n = rows.length;
  options(choice, Object.entries(STUDY.scores).filter(([name]) => rows.some((row) => row.scores[name])).map(([name, { title }]) => [name, title]));
  const chart = new Chart({
    title: 'Scores', level: 'h2', file: 'scores-by-fit.csv', extra: [choice],
    note: 'A dot is one fold; the diamond is the mean, the bar the standard deviation.',
    make(width) {
      const score = choice.value, marks = [], values = [];
      rows.forEach((row, index) => {
        const found = row.scores[score], y = n - 1 - index, colour = modelColour(index);
        if (!found) return;
        found.values.forEach((value, i) => { if (value !== null) { values.push(value); marks.push({ kind: 'dot', x: value, y: y + 0.2 * Math.sin(i * 2.4), r: 4.5, fill: colour, opacity: 0.45, tip: `${row.name}\nseed/fold ${row.folds[i]}: ${fixed(value)}` }); } });
        const wide = found.std ?? 0;
        values.push(found.mean - wide, found.mean + wide);
        if (wide) marks.push({ kind: 'span', x0: found.mean - wide, x1: found.mean + wide, y0: y, y1: y, stroke: colour, width: 2.5, caps: true });
        marks.push({ kind: 'dot', x: found.mean, y, r: 8, shape: 'diamond', fill: colour, tip: `${row.name}\n${fixed(found.mean)}${found.std === null ? '' : ` ± ${fixed(found.std)}`}` });
      });
      return drawPlot({ x: { range: rangeOf(values, STUDY.scores[score]), title: STUDY.scores[score].title }, y: { range: [-0.6, n - 0.4], ticks: rows.map((_, i) => n - 1 - i), labels: rows.map((row) => row.name), grid: false }, marks, width, height: Math.max(150, 60 + n * 44) });
    },
    table() {
      return { columns: ['model', 'seed/fold', ...Object.keys(STUDY.scores)], rows: rows.flatMap((row) => row.folds.map((fold, i) => [row.name, fold, ...Object.keys(STUDY.scores).map((name) => row.scores[name]?.values[i] ?? null)])) };
    },
  });
  choice.addEventListener('change', () => chart.update());
  return chart;
}

// Models as columns where there are few: the table then fits any screen.
function scoresTable() {
  const spread = (found, digits) => (found ? `${fixed(found.mean, digits)}${found.std === null ? '' : ` ± ${fixed(found.std, digits)}`}` : '–');
  const note = `Mean ± standard deviation over folds and seeds; the best in green${STUDY.models.length > 1 ? `; p: whether the ${STUDY.scores[MAIN].title} differs from that of ${STUDY.models[0].name}` : ''}.${STUDY.next ? ' These are scores of the next entity where a path goes on. In “Bits saved by memory” the end of a path is an outcome, too, so its bits per step are others.' : ''}`;
  const names = Object.keys(STUDY.scores).filter((name) => STUDY.models.some((row) => row.scores[name]));
  const top = (name) => (['gain', 'disagreement', 'coverage_90'].includes(name) ? null : bestModel(name));
  // What prints alike is equally good.
  const isTop = (name, row) => { const best = top(name); return best !== null && meanOf(row, name) !== null && fixed(meanOf(row, name)) === fixed(meanOf(best, name)); };
  const columns = [{ key: 'name', title: 'model' }, { key: 'records', title: 'fits', number: true }];
  for (const name of names) columns.push({ key: name, title: STUDY.scores[name].title, number: true, value: (row) => meanOf(row, name), cell: (row) => spread(row.scores[name], 3), best: (row) => isTop(name, row) && STUDY.models.length > 1 });
  columns.push({ key: 'cpu', title: 'CPU s', number: true, hint: 'CPU seconds of one fit', value: (row) => row.fit_cpu_seconds?.mean ?? null, cell: (row) => spread(row.fit_cpu_seconds, 1) });
  if (STUDY.models.length > 1) columns.push({ key: 'p_value', title: 'p', number: true, hint: `Is the ${STUDY.scores[MAIN].title} that of the first model? Corrected resampled t-test`, format: (v) => fixed(v, 3) });
  if (STUDY.models.length > 3) {
    new DataTable(byId('scores-table'), { title: 'All scores', file: 'scores.csv', columns, rows: STUDY.models, sort: null, size: 40, note });
    return;
  }
  const turned = columns.slice(1).map((column) => ({ key: column.key, title: column.title, column }));
  new DataTable(byId('scores-table'), {
    title: 'All scores', file: 'scores.csv', rows: turned, sort: null, size: 40, note, counted: false,
    columns: [{ key: 'title', title: 'score' }, ...STUDY.models.map((model, i) => ({ key: `model ${i}`, title: model.name, number: true, value: (row) => (row.column.value ? row.column.value(model) : model[row.column.key]), cell: (row) => (row.column.cell ? row.column.cell(model) : row.column.format ? row.column.format(model[row.column.key]) : whole(model[row.column.key])), best: (row) => Boolean(row.column.best?.(model)) }))],
  });
}
