// Start: each section that the page has, the place in the menu, and print.
startTheme();
startOverview();
if (byId('predictions')) startPredictions();
if (byId('entities')) startEntities();
if (STUDY.network) startNetwork();
if (byId('links')) startLinks();
if (byId('next')) startNext();
if (byId('memory-table')) startMemory();
if (byId('learning')) startLearning();

const places = new Map([...document.querySelectorAll('nav a')].map((link) => [link.getAttribute('href').slice(1), link]));
const sections = [...document.querySelectorAll('main > section')];
let present = null;
// The section that has passed the upper third of the window; at the end of the page the last one.
function markPlace() {
  const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 4;
  const here = (end && scrollY > 0 ? sections.at(-1) : sections.findLast((section) => section.getBoundingClientRect().top < 0.35 * innerHeight) ?? sections[0]).id, link = places.get(here);
  if (here === present || !link) return;
  present = here;
  for (const other of places.values()) other.removeAttribute('aria-current');
  link.setAttribute('aria-current', 'true');
  // On a phone the menu is wider than the screen; the present section stays in sight.
  link.parentElement.scrollTo({ left: link.offsetLeft - link.parentElement.offsetLeft - link.parentElement.clientWidth / 2 + link.offsetWidth / 2 });
}
addEventListener('scroll', () => requestAnimationFrame(markPlace), { passive: true });
markPlace();

byId('print').addEventListener('click', () => window.print());
let before = null;
addEventListener('beforeprint', () => {
  before = { theme: document.documentElement.dataset.theme, closed: [...document.querySelectorAll('details:not([open])')] };
  document.documentElement.dataset.theme = 'light';
  for (const details of before.closed) details.open = true;
  drawAll();
});
addEventListener('afterprint', () => {
  document.documentElement.dataset.theme = before.theme;
  for (const details of before.closed) details.open = false;
});
document.documentElement.dataset.ready = 'true';
drawWhenIdle();
