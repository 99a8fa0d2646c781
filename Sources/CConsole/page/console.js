// The page: which view is shown, by the fragment of the address, and what each is told.
import { setToken, takeToken, token, whenDenied } from './api.js';
import { h } from './dom.js';
import { showExchanges } from './list.js';

// Views that aren't the first one come when they are asked for.
const views = {
  exchanges: ['Exchanges', async () => showExchanges],
  routes: ['Routes', async () => (await import('./routes.js')).showRoutes],
  try: ['Try it', async () => (await import('./try.js')).showTry],
  uploads: ['Uploads', async () => (await import('./uploads.js')).showUploads],
};

const main = document.getElementById('main');
const link = document.getElementById('link');
let shown = null; // { name, update, hide }
let turn = 0;

// The view and its settings: #/exchanges?status=4xx&id=0-12
export function place() {
  const found = /^#\/([a-z]+)(?:\?(.*))?$/.exec(location.hash);
  const name = found && Object.hasOwn(views, found[1]) ? found[1] : 'exchanges';
  return { name, query: new URLSearchParams(found?.[2] ?? '') };
}

// The state of events, in the head of the page: it is said once, when it changes.
let state = '';
function setLink(word, detail, again) {
  const texts = {
    none: '', connecting: 'Connecting', live: 'Live', paused: 'Paused', waiting: 'Reconnecting', stopped: 'Stopped',
  };
  if (state === word) return;
  state = word;
  link.className = `link ${word}`;
  const retry = word === 'waiting' && again && h('button', { type: 'button', class: 'small', onclick: again }, 'Try now');
  const dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
  link.replaceChildren(...[dot, texts[word] + (detail ? `: ${detail}` : ''), retry].filter(Boolean));
}

async function go(first = false) {
  const { name, query } = place();
  if (shown?.name === name) {
    shown.update?.(query);
    return;
  }
  const mine = turn += 1;
  shown?.hide?.();
  shown = null;
  setLink('none');
  for (const item of document.querySelectorAll('nav a')) {
    if (item.dataset.view === name) item.setAttribute('aria-current', 'page');
    else item.removeAttribute('aria-current');
  }
  const [title, load] = views[name];
  document.title = `${title} – Recast console`;
  try {
    const show = await load();
    if (mine !== turn) return;
    main.className = name;
    main.replaceChildren();
    shown = { name, ...show(main, query, setLink) };
  } catch {
    if (mine !== turn) return;
    main.replaceChildren(h('div', { class: 'empty' }, h('h1', {}, 'This view could not be loaded'),
      h('p', {}, 'Recast doesn’t answer. Does it still run?')));
  }
  if (!first) main.querySelector('h1')?.focus();
}

// Without a token, or with one that Recast doesn't know: it makes another one at each start.
function askToken() {
  const old = token();
  turn += 1;
  shown?.hide?.();
  shown = null;
  setLink('none');
  const field = h('input', { id: 'token', name: 'token', autocomplete: 'off', spellcheck: 'false', required: true });
  const form = h('form', { class: 'token', onsubmit: (event) => {
    event.preventDefault();
    const text = field.value.trim();
    setToken(/#token=([^&\s]+)/.exec(text)?.[1] ?? text);
    go();
  } },
  h('h1', { tabindex: '-1' }, old ? 'Recast doesn’t know this token' : 'This page needs a token'),
  h('p', {}, old ? 'Recast makes a new one each time it starts. ' : '',
    'It stands in the operational log, in a line that Recast prints when it starts:'),
  h('pre', {}, h('code', {}, `console: ${location.origin}/console#token=…`)),
  h('p', {}, 'Open that address, or paste it, or the token alone, here.'),
  h('label', { for: 'token' }, 'Address or token'),
  h('div', { class: 'row' }, field, h('button', { type: 'submit', class: 'main' }, 'Open')));
  main.className = 'asking';
  main.replaceChildren(form);
  field.focus();
}

whenDenied(askToken);
takeToken();
// The fragment is the view's, so the link to the content is followed by hand.
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  (main.querySelector('h1') ?? main).focus();
});
addEventListener('hashchange', () => {
  takeToken();
  go();
});
if (token()) go(true); else askToken();
