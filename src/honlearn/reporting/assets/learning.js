// How the learners of a model differ, and how they learnt.
function startLearning() {
  const host = byId('learning-charts'), rows = STUDY.models.map((row) => row.name), colour = (name) => modelColour(rows.indexOf(name));
  const spread = Object.entries(STUDY.diversity ?? {}), curves = Object.entries(STUDY.curves ?? {});
  if (spread.length) host.append(h('div', {}, diversityChart(spread, colour).figure));
  if (curves.length) host.append(h('div', {}, curvesChart(curves).figure));
}

function diversityChart(spread, colour) {
  return new Chart({
    title: 'Diversity of the learners', file: 'diversity.csv', note: "A dot is a pair of learners in one fold: Cohen's kappa of their votes against their mean log loss. Better ensembles are further left (learners differ) and lower (learners are good). Diamonds are the means.",
    legend: () => spread.map(([name]) => ({ name, colour: colour(name) })),
    make(width) {
      const points = spread.flatMap(([, one]) => one.points);
      const marks = spread.flatMap(([name, one]) => [...one.points.map(([fold, i, j, kappa, loss]) => ({ kind: 'dot', x: kappa, y: loss, r: 3, fill: colour(name), opacity: 0.35, tip: `${name}, fold ${fold}\nlearners ${i + 1} and ${j + 1}\nkappa ${fixed(kappa, 2)}, loss ${fixed(loss, 2)}` }))]);
      for (const [name, one] of spread) marks.push({ kind: 'dot', x: one.mean_kappa, y: one.mean_loss, r: 9, shape: 'diamond', fill: colour(name), tip: `${name}\nmean kappa ${fixed(one.mean_kappa, 2)}\nmean loss ${fixed(one.mean_loss, 2)}` });
      const kappa = rangeOf(points.map((p) => p[3]));
      return drawPlot({ width, height: 400, x: { range: [kappa[0], Math.min(1, kappa[1])], title: "Cohen's kappa of a pair" }, y: { range: rangeOf(points.map((p) => p[4])), title: 'mean log loss of the pair' }, marks });
    },
    table: () => ({ columns: ['model', 'fold', 'learner', 'other learner', 'kappa', 'mean loss'], rows: spread.flatMap(([name, one]) => one.points.map(([fold, i, j, kappa, loss]) => [name, fold, i + 1, j + 1, kappa, loss])) }),
  });
}

const CURVES = { 'search loss': ['var(--accent)', 'training loss', null], 'search validation_loss': ['var(--second)', 'validation loss', null], 'refit loss': ['var(--soft)', 'training loss, refit', 'dash'] };

function curvesChart(curves) {
  const choice = h('select', { 'aria-label': 'Model of the learning curves' }), look = (one) => CURVES[`${one.phase} ${one.curve}`] ?? ['var(--soft)', `${one.phase} ${one.curve}`, 'dot'];
  options(choice, curves.map(([name]) => [name, name]));
  const chart = new Chart({
    title: 'Learning curves', file: 'learning-curves.csv', extra: [choice], note: `Mean over the fits, with the range. The refit trains on all ${UNITS}, without a validation part.`,
    legend: () => STUDY.curves[choice.value].map((one) => ({ name: look(one)[1], colour: look(one)[0], shape: 'line' })),
    make(width) {
      const found = STUDY.curves[choice.value];
      const marks = found.flatMap((one) => {
        const [colour, name, dash] = look(one), step = Math.max(1, Math.ceil(one.epoch.length / 80));
        return [
          { kind: 'area', points: [...one.epoch.map((e, i) => [e, one.most[i]]), ...one.epoch.map((e, i) => [e, one.least[i]]).reverse()], fill: colour, opacity: 0.13 },
          { kind: 'line', points: one.epoch.map((e, i) => [e, one.mean[i]]), stroke: colour, dash },
          ...one.epoch.map((e, i) => [e, i]).filter(([, i]) => i % step === 0).map(([e, i]) => ({ kind: 'dot', x: e, y: one.mean[i], r: 6, fill: colour, opacity: 0.01, tip: `epoch ${e}\n${name} ${fixed(one.mean[i])}\n${one.fits[i]} fits` })),
        ];
      });
      const epochs = found.flatMap((one) => one.epoch);
      return drawPlot({ width, height: 400, x: { range: [Math.min(...epochs), Math.max(...epochs)], title: 'epoch' }, y: { range: rangeOf(found.flatMap((one) => one.most), { zero: true }), title: 'loss' }, marks });
    },
    table: () => ({ columns: ['phase', 'curve', 'epoch', 'mean', 'least', 'most', 'fits'], rows: STUDY.curves[choice.value].flatMap((one) => one.epoch.map((e, i) => [one.phase, one.curve, e, one.mean[i], one.least[i], one.most[i], one.fits[i]])) }),
  });
  choice.addEventListener('change', () => chart.update());
  return chart;
}
