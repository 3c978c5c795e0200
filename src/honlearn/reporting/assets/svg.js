// SVG elements, scales, ticks, and the one tooltip. Colours are CSS variables, so a drawing follows the theme.
function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'fill' || name === 'stroke') element.style.setProperty(name, value);
    else if (name === 'tip' || name === 'choose') element[name] = value;
    else element.setAttribute(name, value);
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return element;
}

const plainFont = once(() => getComputedStyle(document.body).fontFamily);
const measure = once(() => document.createElement('canvas').getContext('2d'));
function textWidth(text, size = 12) {
  const pen = measure();
  pen.font = `${size}px ${plainFont()}`;
  return pen.measureText(text).width;
}
// The longest start of a text that fits, with an ellipsis.
function fitted(text, room, size = 12) {
  if (textWidth(text, size) <= room) return text;
  let low = 0, high = text.length;
  while (low < high) { const middle = Math.ceil((low + high) / 2); if (textWidth(`${text.slice(0, middle)}…`, size) <= room) low = middle; else high = middle - 1; }
  return low ? `${text.slice(0, low)}…` : '';
}

// Round values between two ends, about `wanted` of them.
function ticksOf(low, high, wanted = 5) {
  const rough = (high - low) / Math.max(wanted, 1) || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((v) => v >= rough - 1e-12), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
// Ends that fit the data with a little room; a share stays between 0 and 1.
function rangeOf(values, { share = false, zero = false } = {}) {
  const known = values.filter((v) => v !== null && Number.isFinite(v));
  let low = Math.min(...known), high = Math.max(...known);
  if (!known.length) return [0, 1];
  if (zero) low = Math.min(low, 0);
  const room = 0.08 * (high - low) || 0.05 * (Math.abs(high) || 1);
  if (!(zero && low === 0)) low -= room;
  high += room;
  return share ? [Math.max(0, low), Math.min(1, high)] : [low, high];
}

const tipBox = h('div', { id: 'tip', hidden: true, 'aria-hidden': 'true' });
document.body.append(tipBox);
function showTip(event) {
  const { tip } = event.target;
  tipBox.hidden = !tip;
  if (!tip) return;
  if (tipBox.said !== tip) { fill(tipBox, String(tip).split('\n').map((line, i) => h('div', i ? {} : { class: 'first' }, line))); tipBox.said = tip; }
  const right = event.clientX + tipBox.offsetWidth + 24 > innerWidth;
  tipBox.style.setProperty('left', `${Math.max(4, event.clientX + (right ? -tipBox.offsetWidth - 12 : 14))}px`);
  tipBox.style.setProperty('top', `${Math.max(4, Math.min(event.clientY + 14, innerHeight - tipBox.offsetHeight - 8))}px`);
}

// The sheet of a drawing: elements with `tip` tell of themselves, those with `choose` can be clicked.
function sheet(width, height, ...children) {
  const made = s('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true' }, children);
  made.addEventListener('pointermove', showTip);
  made.addEventListener('pointerdown', showTip);
  made.addEventListener('pointerleave', () => { tipBox.hidden = true; });
  made.addEventListener('click', (event) => { if (event.target.choose) { tipBox.hidden = true; event.target.choose(); } });
  return made;
}
