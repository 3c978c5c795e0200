// Links: pairs held out, the precision-recall curve, and links that are not there yet.
function startLinks() {
  const names = Object.keys(STUDY.links), rows = STUDY.models.map((row) => row.name), read = new Map();
  const said = () => {
    const name = byId('l-model').value;
    if (!read.has(name)) {
      const one = STUDY.links[name];
      read.set(name, { ...one, truth: unpack(one.truth), linked: unpack(one.linked), disagreement: unpack(one.disagreement) });
    }
    return read.get(name);
  };
  options(byId('l-model'), names.map((name) => [name, name]));
  const node = (name) => { const at = STUDY.network ? NET().index.get(name) : undefined; return at === undefined ? name : h('button', { type: 'button', class: 'link', onclick: () => choose(at, null, true) }, name); };
  const ends = [{ key: 'source', title: 'from', cell: (row) => node(row.source) }, { key: 'target', title: 'to', cell: (row) => node(row.target) }];
  const uncertainty = { key: 'apart', title: 'disagreement', number: true, format: (v) => fixed(v, 2), hint: 'Share of pairs of learners that differ' };
  const chance = { key: 'chance', title: 'probability', number: true, format: (v) => fixed(v, 3) };
  const fresh = new DataTable(byId('l-new'), { title: 'Expected links', note: 'Not in the network; the likeliest among pairs that most two-step walks join, by the fit of repetition 0.', file: 'expected-links.csv', rows: [], sort: 'chance', size: 12, columns: [...ends, chance, uncertainty] });
  const pairs = new DataTable(byId('l-pairs'), { title: 'Pairs held out', note: 'Of repetition 0, surest first.', file: 'held-out-pairs.csv', rows: [], sort: 'chance', size: 15, columns: [...ends, chance, { key: 'truth', title: 'linked', cell: (row) => [row.truth ? 'yes' : 'no', row.wrong && [' ', h('span', { class: 'badge bad' }, 'wrong')]] }, uncertainty] });
  const curve = new Chart({
    title: 'Precision and recall', file: 'precision-recall.csv', note: 'Of all held-out pairs of all repetitions.',
    legend: () => names.map((name) => ({ name, colour: modelColour(rows.indexOf(name)), shape: 'line' })),
    make: (width) => drawPlot({ width, height: 400, x: { range: [0, 1], title: 'recall' }, y: { range: [0, 1], title: 'precision' }, marks: names.flatMap((name) => {
      const colour = modelColour(rows.indexOf(name)), { curve: points } = STUDY.links[name];
      return [{ kind: 'line', points, stroke: colour }, ...points.map((p) => ({ kind: 'dot', x: p[0], y: p[1], r: 5, fill: colour, opacity: 0.08, tip: `${name}\nrecall ${fixed(p[0], 2)}, precision ${fixed(p[1], 2)}\nfrom ${fixed(p[2], 3)} on` }))];
    }) }),
    table: () => ({ columns: ['model', 'recall', 'precision', 'threshold'], rows: names.flatMap((name) => STUDY.links[name].curve.map((p) => [name, ...p])) }),
  });
  const tested = names.some((name) => STUDY.links[name].tested);
  if (tested) byId('l-curve').append(curve.figure);
  else { curve.remove(); byId('l-curve').remove(); byId('l-pairs').remove(); byId('l-wrong').closest('label').remove(); byId('l-new').parentElement.className = 'one'; }
  const filter = () => {
    const wanted = byId('l-search').value.trim().toLowerCase(), wrong = byId('l-wrong')?.checked;
    const named = (row) => !wanted || row.source.toLowerCase().includes(wanted) || row.target.toLowerCase().includes(wanted);
    fresh.setFilter(named);
    pairs.setFilter((row) => named(row) && (!wrong || row.wrong));
  };
  const show = () => {
    const one = said();
    fresh.rows = one.new.map(([source, target, p, apart]) => ({ source, target, chance: p, apart }));
    pairs.rows = one.pairs.map(([source, target], i) => ({ source, target, chance: one.linked[i], truth: one.truth[i], wrong: (one.linked[i] >= 0.5) !== Boolean(one.truth[i]), apart: one.disagreement?.[i] ?? null }));
    filter();
  };
  byId('l-model').addEventListener('change', show);
  for (const id of ['l-search', 'l-wrong']) byId(id)?.addEventListener('input', filter);
  show();
}
