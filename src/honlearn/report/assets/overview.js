// Overview: tiles, the scores with their spread as chart and table.
const MAIN = Object.keys(STUDY.scores)[0];
const modelColour = (index) => PALETTE[index % PALETTE.length];
const meanOf = (row, score) => row.scores[score]?.mean ?? null;

function bestModel(score) {
  const more = STUDY.scores[score].more, known = STUDY.models.filter((row) => meanOf(row, score) !== null);
  return known.reduce((best, row) => (!best || (more ? meanOf(row, score) > meanOf(best, score) : meanOf(row, score) < meanOf(best, score)) ? row : best), null);
}

function startOverview() {
  const best = bestModel(MAIN), sizes = STUDY.network?.sizes, tiles = [];
  if (best) {
    const { mean, std } = best.scores[MAIN];
    tiles.push(tile(fixed(mean), `best ${STUDY.scores[MAIN].title}: ${best.name}`, std === null ? '' : `± ${fixed(std)}`));
  }
  if (sizes) {
    tiles.push(tile(whole(sizes.entities), 'entities', ''));
    tiles.push(tile(whole(sizes.conditional), 'contexts that became nodes', ''));
  }
  if (STUDY.memory) {
    const [told, open] = STUDY.memory;
    tiles.push(tile(open > 0 ? `${Math.round((100 * told) / open)} %`: '0 %', 'less uncertainty about the next step, with memory'));
  }
  if (STUDY.network?.classes.length) tiles.push(tile(whole(STUDY.network.classes.length), 'classes'));
  tiles.push(tile(whole(STUDY.models.reduce((sum, row) => sum + row.records, 0)), 'fits'));
  fill(byId('tiles'), tiles);
  scoresChart();
  scoresTable();
}

function scoresChart() {
  const choice = h('select', { 'aria-label': 'Score shown' });
  options(choice, Object.entries(STUDY.scores).filter(([name]) => STUDY.models.some((row) => row.scores[name])).map(([name, { title }]) => [name, title]));
  const rows = STUDY.models, place = (index) => rows.length - 1 - index;
  const chart = new Chart({
    title: 'Scores', level: 'h2', file: 'scores-by-fit.csv', height: Math.max(340, 80 + rows.length * 52), extra: [choice],
    note: 'A dot is one fold; the diamond is the mean, the bar the standard deviation.',
    make() {
      const score = choice.value, data = [];
      rows.forEach((row, index) => {
        const found = row.scores[score];
        if (!found) return;
        const colour = modelColour(index), known = found.values.map((value, i) => [value, row.folds[i], i]).filter(([value]) => value !== null);
        data.push({ type: 'scatter', mode: 'markers', x: known.map(([v]) => v), y: known.map(([, , i]) => place(index) + 0.2 * Math.sin(i * 2.4)), marker: { color: colour, size: 8, opacity: 0.45 }, text: known.map(([v, fold]) => `${safe(row.name)}<br>seed/fold ${safe(fold)}: ${fixed(v)}`), hoverinfo: 'text', showlegend: false });
        data.push({ type: 'scatter', mode: 'markers', x: [found.mean], y: [place(index)], error_x: { type: 'data', array: [found.std ?? 0], color: colour, thickness: 2.5, width: 7, visible: found.std !== null }, marker: { color: colour, size: 13, symbol: 'diamond', line: { color: cssColour('--card'), width: 1.5 } }, text: [`${safe(row.name)}<br><b>${fixed(found.mean)}</b>${found.std === null ? '' : ` ± ${fixed(found.std)}`}`], hoverinfo: 'text', showlegend: false });
      });
      return { data, layout: { hovermode: 'closest', margin: { l: 10, r: 16, t: 8, b: 42 }, xaxis: { title: { text: STUDY.scores[score].title } }, yaxis: { tickvals: rows.map((_, i) => place(i)), ticktext: rows.map((row) => safe(brief(row.name, innerWidth < 640 ? 18 : 34))), range: [-0.6, rows.length - 0.4], zeroline: false, gridcolor: 'rgba(0,0,0,0)', fixedrange: true } } };
    },
    table() {
      return { columns: ['model', 'seed/fold', ...Object.keys(STUDY.scores)], rows: rows.flatMap((row) => row.folds.map((fold, i) => [row.name, fold, ...Object.keys(STUDY.scores).map((name) => row.scores[name]?.values[i] ?? null)])) };
    },
  });
  choice.addEventListener('change', () => chart.update());
  byId('scores-chart').append(chart.figure);
}

function scoresTable() {
  const spread = (found, digits) => (found ? `${fixed(found.mean, digits)}${found.std === null ? '' : ` ± ${fixed(found.std, digits)}`}` : '–');
  const columns = [{ key: 'name', title: 'model' }, { key: 'records', title: 'fits', number: true }];
  for (const [name, { title }] of Object.entries(STUDY.scores)) {
    if (!STUDY.models.some((row) => row.scores[name])) continue;
    const top = ['gain', 'disagreement'].includes(name) ? null : bestModel(name);
    columns.push({ key: name, title, number: true, value: (row) => meanOf(row, name), cell: (row) => spread(row.scores[name], 3), best: (row) => row === top && STUDY.models.length > 1 });
  }
  columns.push({ key: 'cpu', title: 'CPU s', number: true, hint: 'CPU seconds of one fit', value: (row) => row.fit_cpu_seconds?.mean ?? null, cell: (row) => spread(row.fit_cpu_seconds, 1) });
  if (STUDY.models.length > 1) columns.push({ key: 'p_value', title: `p`, number: true, hint: `Is the ${STUDY.scores[MAIN].title} that of the first model? Corrected resampled t-test`, format: (v) => fixed(v, 3) });
  new DataTable(byId('scores-table'), {
    title: 'All scores', file: 'scores.csv', columns, rows: STUDY.models, sort: null, size: 40,
    note: `Mean ± standard deviation over folds and seeds; the best in green${STUDY.models.length > 1 ? `; p: whether the ${STUDY.scores[MAIN].title} differs from that of ${STUDY.models[0].name}` : ''}.`,
  });
}
