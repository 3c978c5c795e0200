// A table that sorts, pages and downloads. Columns: {key, title, number, format, cell, value, hint}.
class DataTable {
  constructor(host, { title, note, file, columns, rows, sort, descending = true, size = 15, choose = null, level = 'h2', counted = true }) {
    Object.assign(this, { host, columns, rows, size, file, counted, choose, page: 0, sortKey: sort ?? null, descending, filter: () => true, chosen: null });
    this.note = h('p', { class: 'muted', 'aria-live': 'polite' });
    this.about = note;
    this.body = h('tbody');
    this.head = h('tr');
    this.pager = h('div', { class: 'pager' });
    fill(host,
      h('div', { class: 'table-head' },
        h('div', {}, h(level, {}, title), this.note),
        h('button', { type: 'button', class: 'tool', onclick: () => this.save(), 'aria-label': `Download ${title} as CSV` }, 'Download CSV')),
      h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title }, h('table', {}, h('thead', {}, this.head), this.body)),
      this.pager);
    this.show();
  }

  value(row, column) { return column.value ? column.value(row) : row[column.key]; }

  sorted() {
    const column = this.columns.find((c) => c.key === this.sortKey), kept = this.rows.filter(this.filter);
    if (!column) return kept;
    const sign = this.descending ? -1 : 1, none = (v) => v === null || v === undefined || Number.isNaN(v);
    return kept.map((row) => [this.value(row, column), row]).sort(([a], [b]) => {
      if (none(a) || none(b)) return none(a) - none(b);
      return sign * (typeof a === 'string' || typeof b === 'string' ? String(a).localeCompare(String(b), 'en', { numeric: true }) : a - b);
    }).map(([, row]) => row);
  }

  setRows(rows) { this.rows = rows; this.page = 0; this.show(); }
  setFilter(filter) { this.filter = filter; this.page = 0; this.show(); }

  sortBy(key) {
    const column = this.columns.find((c) => c.key === key);
    this.descending = this.sortKey === key ? !this.descending : Boolean(column.number);
    this.sortKey = key;
    this.page = 0;
    this.show();
    this.head.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
  }

  show() {
    fill(this.head, this.columns.map((column) => {
      const direction = column.key === this.sortKey ? (this.descending ? 'descending' : 'ascending') : 'none';
      return h('th', { scope: 'col', class: column.number ? 'number' : null, 'aria-sort': direction, title: column.hint },
        h('button', { type: 'button', 'data-key': column.key, onclick: () => this.sortBy(column.key) }, column.title));
    }));
    const rows = this.sorted(), pages = Math.max(1, Math.ceil(rows.length / this.size));
    this.page = Math.min(this.page, pages - 1);
    const start = this.page * this.size;
    fill(this.body, rows.slice(start, start + this.size).map((row) => this.line(row)));
    if (!rows.length) fill(this.body, h('tr', {}, h('td', { colspan: this.columns.length, class: 'empty' }, 'Nothing fits the filters.')));
    const count = `${whole(rows.length)}${rows.length < this.rows.length ? ` of ${whole(this.rows.length)}` : ''} rows`;
    this.note.textContent = [this.about, this.counted && `${count}.`].filter(Boolean).join(' ');
    fill(this.pager, pages > 1 && [
      h('button', { type: 'button', class: 'tool', disabled: this.page === 0, onclick: () => { this.page--; this.show(); }, 'aria-label': 'Page before' }, '←'),
      h('span', {}, `page ${this.page + 1} of ${whole(pages)}`),
      h('button', { type: 'button', class: 'tool', disabled: this.page >= pages - 1, onclick: () => { this.page++; this.show(); }, 'aria-label': 'Next page' }, '→'),
    ]);
  }

  line(row) {
    const cells = this.columns.map((column, place) => {
      const value = this.value(row, column);
      let content = column.cell ? column.cell(row) : column.format ? column.format(value) : value ?? '–';
      if (place === 0 && this.choose) content = h('button', { type: 'button', class: 'link', onclick: () => this.pick(row) }, content);
      const kind = [column.number && 'number', column.best?.(row) && 'best'].filter(Boolean).join(' ');
      return place === 0 ? h('th', { scope: 'row', class: kind || null }, content) : h('td', { class: kind || null }, content);
    });
    return h('tr', { class: row === this.chosen ? 'chosen' : null }, cells);
  }

  pick(row) { this.chosen = row; this.show(); this.choose(row); }

  save() {
    const columns = this.columns.filter((c) => c.key);
    download(this.file, csv(columns.map((c) => c.title), this.sorted().map((row) => columns.map((c) => this.value(row, c)))));
  }
}
