// The data inside the page: read once, typed arrays unpacked.
const DATA = JSON.parse(document.getElementById('data').textContent);
const STUDY = DATA.study;
const UNIT = STUDY.task === 'paths' ? 'path' : 'node', UNITS = `${UNIT}s`;  // what is classified

// A class as the reader knows it: its label, and its name where the table of nodes has one.
const named = (label) => { const name = STUDY.class_names?.[label]; return name ? `${label} · ${name}` : label; };

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };

// {k, s, d} → a typed array with its shape; shares (q) become numbers from 0 to 1.
function unpack(packed) {
  if (!packed) return null;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(packed.d) : Uint8Array.from(atob(packed.d), (c) => c.charCodeAt(0));
  let values = new KINDS[packed.k](bytes.buffer);
  if (packed.q) values = Float32Array.from(values, (v) => v / packed.q);
  values.shape = packed.s;
  return values;
}

const once = (make) => { let made, done = false; return () => { if (!done) { made = make(); done = true; } return made; }; };

function fixed(value, digits = 3) {
  return value === null || value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits);
}
function whole(value) {
  return value === null || value === undefined ? '–' : Math.round(value).toLocaleString('en-US');
}
function short(value) {
  if (value === null || value === undefined) return '–';
  return Number.isInteger(value) ? whole(value) : String(Number(value.toPrecision(4)));
}
