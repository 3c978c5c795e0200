// Elements, colours, messages between sections. Text only ever becomes text: nothing here parses HTML.
const byId = (id) => document.getElementById(id);

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, given] of Object.entries(value)) element.style.setProperty(key, given);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}
function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return element;
}

const brief = (text, most = 22) => (text.length > most ? text.slice(0, most - 1) + '…' : text);

const PALETTE = ['#4a78b5', '#e8872b', '#4f9d58', '#d9534f', '#8a6bbf', '#c9a227', '#3aa6a6', '#d670a0', '#8f6b4f', '#7a8797', '#9db83a', '#b0559e'];
function classColour(index) {
  if (index < 0 || index === undefined) return 'var(--soft)';
  return index < PALETTE.length ? PALETTE[index] : `hsl(${(index * 137.5) % 360}, 45%, 55%)`;
}

// A class with the dot of its colour, which stays on the line of the name's first word.
function dotted(colour, name) {
  const [first, ...rest] = String(name).split(/(?= )/);
  return h('span', {}, h('span', { class: 'keep' }, h('span', { class: 'dot', style: { background: colour } }), first), rest.join(''));
}

// --- light and dark: as the system, until the reader chooses -------------------------------------------
const themes = ['auto', 'light', 'dark'];
let theme = 'auto';
const systemDark = matchMedia('(prefers-color-scheme: dark)');
function applyTheme() {
  const dark = theme === 'dark' || (theme === 'auto' && systemDark.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  const said = { auto: 'as the system', light: 'light', dark: 'dark' }[theme];
  byId('theme').setAttribute('aria-label', `Colours: ${said}. Change`);
  byId('theme').title = `Colours: ${said}`;
}
function startTheme() {
  try { theme = themes.includes(localStorage.getItem('honlearn-theme')) ? localStorage.getItem('honlearn-theme') : 'auto'; } catch { theme = 'auto'; }
  applyTheme();
  byId('theme').addEventListener('click', () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem('honlearn-theme', theme); } catch { /* a page from a file may not store */ }
    applyTheme();
  });
  systemDark.addEventListener('change', applyTheme);
}

// --- one section tells another: 'node' (index, relative), 'model' (name) ---------------------------------
const listeners = {};
function on(topic, listen) { (listeners[topic] ??= []).push(listen); }
function tell(topic, ...values) { for (const listen of listeners[topic] ?? []) listen(...values); }

function tile(value, name, extra = '') {
  return h('div', { class: 'tile' }, h('div', { class: 'value' }, value, extra && h('small', {}, ' ', extra)), h('div', { class: 'name' }, name));
}
function options(select, pairs) {
  fill(select, pairs.map(([value, text]) => h('option', { value }, text)));
}

// --- files that the reader asks for ---------------------------------------------------------------------
function csv(columns, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined || Number.isNaN(value) ? '' : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(',')).join('\n') + '\n';
}
function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
