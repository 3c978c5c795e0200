// Next steps: scores by position and by order, and how much memory helps.
const NEXT_SCORES = { bits: 'bits per step', top1: 'top-1 accuracy' };

function startNext() {
  const { positions, orders } = STUDY.next, rows = STUDY.models.map((row) => row.name);
  const colour = (name) => modelColour(rows.indexOf(name));
  const words = (found) => `${fixed(found.mean)}${found.std === null ? '' : ` ± ${fixed(found.std)}`}`;
  const values = (row) => Object.keys(NEXT_SCORES).flatMap((score) => [row[score]?.mean ?? null, row[score]?.std ?? null]);
  const headers = Object.keys(NEXT_SCORES).flatMap((score) => [NEXT_SCORES[score], `± of ${NEXT_SCORES[score]}`]);
  const drawn = ({ title, note, file, columns, cells, series, across }) => {
    const choice = h('select', { 'aria-label': `Score of ${title}` });
    options(choice, Object.entries(NEXT_SCORES));
    const chart = new Chart({
      title, note, file, extra: [choice],
      legend: () => series(choice.value).map(({ name, colour: shade }) => ({ name, colour: shade, shape: 'line' })),
      make(width) {
        const lines = series(choice.value), share = choice.value === 'top1';
        const marks = lines.flatMap(({ name, colour: shade, dash, points }) => [
          { kind: 'line', points: points.map((p) => [p.x, p.mean]), stroke: shade, dash },
          ...points.filter((p) => p.std).map((p) => ({ kind: 'span', x0: p.x, x1: p.x, y0: p.mean - p.std, y1: p.mean + p.std, stroke: shade, width: 1.4, caps: true })),
          ...points.map((p) => ({ kind: 'dot', x: p.x, y: p.mean, r: dash ? 0 : 4.5, fill: shade, tip: `${name}\n${p.text}: ${words(p)}` })),
        ]);
        const reach = lines.flatMap(({ points }) => points.flatMap((p) => [p.mean - (p.std ?? 0), p.mean + (p.std ?? 0)]));
        return drawPlot({ width, height: 380, x: { ...across, grid: false }, y: { range: rangeOf(reach, { share, zero: share }), title: NEXT_SCORES[choice.value] }, marks });
      },
      table: () => ({ columns: [...columns, ...headers], rows: cells() }),
    });
    choice.addEventListener('change', () => chart.update());
    byId('n-charts').append(h('div', {}, chart.figure));
  };
  const places = ['1', '2', '3', '4 or more'];
  drawn({
    title: 'By position', file: 'next-by-position.csv', columns: ['model', 'entities before'],
    note: 'How many entities of its path came before a step. Mean over folds, bars are standard deviations.',
    cells: () => positions.map((row) => [row.name, row.position, ...values(row)]),
    series: (score) => rows.map((name) => ({ name, colour: colour(name), points: positions.filter((row) => row.name === name && row[score]).map((row) => ({ x: places.indexOf(row.position), text: row.position, ...row[score] })) })).filter(({ points }) => points.length),
    across: { title: 'entities before the step', range: [-0.3, 3.3], ticks: [0, 1, 2, 3], labels: places },
  });
  const known = [...new Set(orders.map((row) => row.order).filter((order) => order !== null))].sort((a, b) => a - b), ends = known.length ? [known[0] - 0.3, known.at(-1) + 0.3] : [0.7, 1.3];
  drawn({
    title: 'By order', file: 'next-by-order.csv', columns: ['model', 'order'],
    note: 'How many entities a model looks at, the present one included; dashed lines are models without an order.',
    cells: () => orders.map((row) => [row.name, row.order, ...values(row)]),
    series: (score) => [...new Set(orders.map((row) => row.model))].map((model) => {
      const own = orders.filter((row) => row.model === model && row[score]), alone = own.find((row) => row.order === null);
      if (!own.length) return null;
      if (alone) return { name: model, colour: colour(own[0].name), dash: 'dash', points: ends.map((x) => ({ x, text: 'no order', mean: alone[score].mean, std: null })) };
      return { name: model, colour: colour(own[0].name), points: own.map((row) => ({ x: row.order, text: `order ${row.order}`, ...row[score] })) };
    }).filter(Boolean),
    across: { title: 'order', range: ends, ticks: known, labels: known.map(String) },
  });
}

// How many bits of a step each order saves on held-out paths.
function startMemory() {
  const pm = (key, title, hint) => ({ key, title, number: true, hint, value: (row) => row[key] ?? null, cell: (row) => (row[key] === undefined ? '–' : `${fixed(row[key])} ± ${fixed(row[`${key}_pm`])}`) });
  new DataTable(byId('memory-table'), {
    title: 'Bits saved by memory, on held-out paths', file: 'memory.csv', rows: STUDY.memory.rows, sort: null, size: 20, counted: false,
    level: 'h3', note: `${STUDY.memory.sentence} Each path was held out once; the end of a path is an outcome, too. ± is half of a 95 % interval over paths.`,
    columns: [{ key: 'order', title: 'order', number: true }, pm('bits', 'bits per step'), pm('saved', 'saved', 'Bits less than the order below has'), pm('top1', 'top-1')],
  });
}
