// Next steps: scores by position and by order, and how much memory helps.
const NEXT_SCORES = { bits: 'bits per step', top1: 'top-1 accuracy' };

function startNext() {
  const { positions, orders, memory } = STUDY.next, rows = STUDY.models.map((row) => row.name);
  const colour = (name) => modelColour(rows.indexOf(name));
  const words = (found) => `<b>${fixed(found.mean)}</b>${found.std === null ? '' : ` ± ${fixed(found.std)}`}`;
  const bars = (found, color) => ({ type: 'data', array: found.map((one) => one.std ?? 0), visible: found.some((one) => one.std !== null), color, thickness: 1.5, width: 4 });
  const values = (row) => Object.keys(NEXT_SCORES).flatMap((score) => [row[score]?.mean ?? null, row[score]?.std ?? null]);
  const headers = Object.keys(NEXT_SCORES).flatMap((score) => [NEXT_SCORES[score], `± of ${NEXT_SCORES[score]}`]);
  const drawn = ({ title, note, file, columns, cells, series, xaxis }) => {
    const choice = h('select', { 'aria-label': `Score of ${title}` });
    options(choice, Object.entries(NEXT_SCORES));
    const chart = new Chart({
      title, note, file, height: 400, extra: [choice],
      make: () => ({ data: series(choice.value), layout: { hovermode: 'closest', xaxis, yaxis: { title: { text: NEXT_SCORES[choice.value] }, rangemode: choice.value === 'top1' ? 'tozero' : 'normal' } } }),
      table: () => ({ columns: [...columns, ...headers], rows: cells() }),
    });
    choice.addEventListener('change', () => chart.update());
    byId('n-charts').append(h('div', {}, chart.figure));
  };
  const line = (name, color, found, x, more = {}) => ({ type: 'scatter', mode: 'lines+markers', name: safe(name), x, y: found.map((one) => one.mean), error_y: bars(found, color), line: { color, width: 2 }, marker: { color, size: 8 }, text: found.map((one, i) => `${safe(name)}<br>${x[i]}: ${words(one)}`), hoverinfo: 'text', ...more });
  drawn({
    title: 'By position', file: 'next-by-position.csv', columns: ['model', 'entities before'],
    note: 'How many entities of its path came before a step. Mean over folds, bars are standard deviations.',
    cells: () => positions.map((row) => [row.name, row.position, ...values(row)]),
    series: (score) => rows.map((name) => [name, positions.filter((row) => row.name === name && row[score])]).filter(([, found]) => found.length)
      .map(([name, found]) => line(name, colour(name), found.map((row) => row[score]), found.map((row) => row.position))),
    xaxis: { title: { text: 'entities before the step' }, type: 'category', categoryorder: 'array', categoryarray: ['1', '2', '3', '4 or more'] },
  });
  const known = [...new Set(orders.map((row) => row.order).filter((order) => order !== null))].sort((a, b) => a - b);
  drawn({
    title: 'By order', file: 'next-by-order.csv', columns: ['model', 'order'],
    note: 'How many entities a model looks at, the present one included; dashed lines are models without an order.',
    cells: () => orders.map((row) => [row.name, row.order, ...values(row)]),
    series: (score) => [...new Set(orders.map((row) => row.model))].map((model) => {
      const own = orders.filter((row) => row.model === model && row[score]), alone = own.filter((row) => row.order === null);
      if (!own.length) return null;
      const color = colour(own[0].name);
      if (!alone.length) return line(model, color, own.map((row) => row[score]), own.map((row) => row.order));
      const ends = known.length ? [known[0] - 0.15, known[known.length - 1] + 0.15] : [0.85, 1.15];
      return line(model, color, [alone[0][score], alone[0][score]], ends, { mode: 'lines', error_y: { visible: false }, line: { color, width: 2, dash: 'dash' }, text: [0, 1].map(() => `${safe(model)}<br>${words(alone[0][score])}`) });
    }).filter(Boolean),
    xaxis: { title: { text: 'order' }, tickvals: known },
  });
  if (!byId('n-memory')) return;
  const pm = (key, title, hint) => ({ key, title, number: true, hint, value: (row) => row[key] ?? null, cell: (row) => (row[key] === undefined ? '–' : `${fixed(row[key])} ± ${fixed(row[`${key}_pm`])}`) });
  new DataTable(byId('n-memory'), {
    title: 'How much memory helps', file: 'memory.csv', rows: memory, sort: null, size: 20,
    note: 'The smoothed model of each order, the end of a path an outcome, too. ± is half of a 95 % interval over paths.',
    columns: [{ key: 'order', title: 'order', number: true }, pm('bits', 'bits per step'), pm('saved', 'saved', 'Bits less than the order below has'), pm('top1', 'top-1')],
  });
}
