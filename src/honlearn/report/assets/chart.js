// A chart: a figure with what it shows in words, the drawing, and its data as a table and as a file.
const charts = [];
// Named one by one: the library's own choice has a button that would send the chart away.
const BUTTONS = [['toImage'], ['zoom2d', 'pan2d'], ['zoomIn2d', 'zoomOut2d', 'resetScale2d']];
const hasWebGL = once(() => {
  try { return Boolean(document.createElement('canvas').getContext('webgl')); } catch { return false; }
});
// Thousands of points need WebGL; without it the same points are drawn as SVG.
const scatterKind = () => (hasWebGL() ? 'scattergl' : 'scatter');
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); entry.target.chart.draw(); }
}, { rootMargin: '300px' });

class Chart {
  // make(): {data, layout}; table(): {columns, rows}; extra: controls above the drawing.
  constructor({ title, note = '', height = 320, file, make, table, click = null, extra = [], config = {}, level = 'h3' }) {
    Object.assign(this, { title, file, make, table, click, config, drawn: false });
    this.plot = h('div', { class: 'plot', role: 'img', 'aria-label': `${title}. ${typeof note === 'string' ? note : ''} The data is in the table below.` });
    this.caption = h('p', {}, note);
    this.data = h('div', { class: 'data', hidden: true, tabindex: '0' });
    this.toggle = h('button', { type: 'button', class: 'tool', 'aria-expanded': 'false', onclick: () => this.flip() }, 'Data as table');
    this.figure = h('figure', { class: 'chart', style: { '--height': `${height}px` } },
      h('figcaption', {}, h(level, {}, title), this.caption),
      extra.length ? h('div', { class: 'extra' }, extra) : null,
      this.plot,
      h('div', { class: 'tools' }, this.toggle,
        h('button', { type: 'button', class: 'tool', onclick: () => this.save(), 'aria-label': `Download the data of ${title} as CSV` }, 'Download CSV')),
      this.data);
    this.plot.chart = this;
    charts.push(this);
    seen.observe(this.plot);
  }

  say(note) { this.caption.textContent = note; this.plot.setAttribute('aria-label', `${this.title}. ${note} The data is in the table below.`); }

  draw() {
    const { data, layout } = this.make();
    const first = !this.drawn;
    this.drawn = true;
    const done = Plotly.react(this.plot, data, themed(layout), { displaylogo: false, responsive: true, modeBarButtons: BUTTONS, ...this.config });
    if (first && this.click) this.plot.on('plotly_click', (event) => this.click(event.points[0]));
    return done;
  }

  update() {
    if (this.drawn) this.draw();
    if (!this.data.hidden) this.list();
  }

  flip() {
    this.data.hidden = !this.data.hidden;
    this.toggle.setAttribute('aria-expanded', String(!this.data.hidden));
    if (!this.data.hidden) this.list();
  }

  list() {
    const { columns, rows } = this.table(), most = 200;
    const shown = (value) => (typeof value === 'number' ? short(value) : value ?? '–');
    fill(this.data,
      h('table', {}, h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, rows.slice(0, most).map((row) => h('tr', {}, row.map((value) => h('td', { class: typeof value === 'number' ? 'number' : null }, shown(value))))))),
      rows.length > most ? h('p', { class: 'muted' }, `${whole(most)} of ${whole(rows.length)} rows; the CSV has all.`) : null);
  }

  save() { const { columns, rows } = this.table(); download(this.file, csv(columns, rows)); }

  remove() { charts.splice(charts.indexOf(this), 1); seen.unobserve(this.plot); if (this.drawn) Plotly.purge(this.plot); this.figure.remove(); }
}

function themed(layout) {
  const ink = cssColour('--ink'), soft = cssColour('--soft'), line = cssColour('--line');
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line, tickfont: { color: soft }, title: { font: { color: soft, size: 12 } }, automargin: true };
  const merged = {
    font: { family: 'system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif', size: 12, color: ink },
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    margin: { l: 50, r: 12, t: 10, b: 42 },
    hoverlabel: { bgcolor: cssColour('--card'), bordercolor: line, font: { color: ink }, align: 'left' },
    legend: { orientation: 'h', y: 1.02, yanchor: 'bottom', x: 0, font: { color: soft } },
    modebar: { bgcolor: 'rgba(0,0,0,0)', color: soft, activecolor: cssColour('--accent') },
    ...layout,
  };
  for (const name of Object.keys(merged)) {
    if (/^[xy]axis\d*$/.test(name)) merged[name] = { ...axis, ...merged[name], title: { ...axis.title, ...(merged[name].title ?? {}) } };
  }
  for (const name of ['xaxis', 'yaxis']) merged[name] ??= axis;
  return merged;
}

function redrawAll() { for (const chart of charts) if (chart.drawn) chart.draw(); }
function drawAll() { for (const chart of charts) if (!chart.drawn) { seen.unobserve(chart.plot); chart.draw(); } }
