// A chart: a figure with what it shows in words, the drawing, and its data as a table and as a file.
const charts = new Set();
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.chart.drawn && Math.abs(target.clientWidth - target.chart.width) > 6) requestAnimationFrame(() => target.chart.draw());
});

class Chart {
  // make(width): an SVG; legend(): [{name, colour, shape}]; table(): {columns, rows}; extra: controls above the drawing.
  constructor({ title, note = '', file, make, table, legend = null, extra = [], level = 'h3' }) {
    Object.assign(this, { title, make, table, legend, file, drawn: false, width: 0 });
    this.plot = h('div', { class: 'plot', role: 'img' });
    this.keys = h('ul', { class: 'legend', hidden: !legend, 'aria-label': `Colours of ${title}` });
    this.caption = h('p', {});
    this.data = h('div', { class: 'data', hidden: true, tabindex: '0', role: 'region', 'aria-label': `Data of ${title}` });
    this.toggle = h('button', { type: 'button', class: 'tool', 'aria-expanded': 'false', onclick: () => this.flip() }, 'Data as table');
    this.figure = h('figure', { class: 'chart' },
      h('figcaption', {}, h(level, {}, title), this.caption),
      extra.length ? h('div', { class: 'extra' }, extra) : null,
      this.keys, this.plot,
      h('div', { class: 'tools' }, this.toggle,
        h('button', { type: 'button', class: 'tool', onclick: () => this.save(), 'aria-label': `Download the data of ${title} as CSV` }, 'Download CSV')),
      this.data);
    this.plot.chart = this;
    this.say(note);
    charts.add(this);
    resized.observe(this.plot);
  }

  say(note) {
    this.caption.textContent = note;
    this.caption.hidden = !note;
    this.plot.setAttribute('aria-label', `${this.title}. ${note} The data is in the table below.`);
  }

  draw() {
    this.drawn = true;
    this.width = this.plot.clientWidth || 640;
    fill(this.plot, this.make(this.width));
    if (this.legend) fill(this.keys, this.legend().map(({ name, colour, shape = 'dot' }) => h('li', {}, h('span', { class: `key ${shape}`, style: { background: colour } }), name)));
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

  remove() { charts.delete(this); resized.unobserve(this.plot); this.figure.remove(); }
}

// Charts are drawn when the page is idle, not when they are scrolled to: prints and captures have all of them.
const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 1));
function drawAll() { for (const chart of charts) if (!chart.drawn) chart.draw(); }
function drawWhenIdle() {
  const next = [...charts].find((chart) => !chart.drawn);
  if (!next) { document.documentElement.dataset.drawn = 'true'; return; }
  next.draw();
  idle(drawWhenIdle);
}
