// Start: each section that the page has, the place in the menu, and print.
startTheme(redrawAll);
startOverview();
if (byId('predictions')) startPredictions();
if (byId('entities')) startEntities();
if (STUDY.network) startNetwork();
if (byId('links')) startLinks();
if (byId('next')) startNext();
if (byId('learning')) startLearning();

const places = new Map([...document.querySelectorAll('nav a')].map((link) => [link.getAttribute('href').slice(1), link]));
const reader = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of places.values()) link.removeAttribute('aria-current');
    places.get(entry.target.id)?.setAttribute('aria-current', 'true');
  }
}, { rootMargin: '-30% 0px -60% 0px' });
for (const section of document.querySelectorAll('main > section')) reader.observe(section);

byId('print').addEventListener('click', () => window.print());
let before = null;
addEventListener('beforeprint', () => {
  before = { theme: document.documentElement.dataset.theme, closed: [...document.querySelectorAll('details:not([open])')] };
  document.documentElement.dataset.theme = 'light';
  for (const details of before.closed) details.open = true;
  drawAll();
  redrawAll();
});
addEventListener('afterprint', () => {
  document.documentElement.dataset.theme = before.theme;
  for (const details of before.closed) details.open = false;
  redrawAll();
});
document.documentElement.dataset.ready = 'true';
