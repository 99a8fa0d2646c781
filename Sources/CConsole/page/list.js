// The first view: exchanges as they come, and one of them.
import { follow, get, listenOrigin } from './api.js';
import {
  clock, command, count, data, duration, empty, h, labelled, later, line, plural, select, size, statusClass, unreadable, unseen,
} from './dom.js';
import { load, makeDetail } from './detail.js';
import { flagWords, isCut } from './flags.js';

const columns = [
  ['Time', 'time'], ['Method', 'method'], ['Target', 'target'], ['Route', 'route'], ['Status', 'answer'], ['Took', 'took'], ['Size', 'sizes'],
];
const filters = ['route', 'status', 'code', 'method', 'text'];

// A status, or a class of them.
const isStatus = (text) => /^([1-9]xx|\d{1,3})$/i.test(text);

// Rows at most: each one more takes time whenever anything is laid out.
const mostRows = 2000;

// A list that was told to pause, while another view is shown: it stands still until it is told to go on.
let standing = null;

export function showExchanges(main, query, setLink) {
  let asked = query;
  let items = []; // Newest first, at most as many as Recast shows.
  let waiting = []; // Those that came while nothing may move.
  let waitingCount = 0;
  let paused = standing !== null;
  let most = 200;
  let truncated = false; // Whether more are kept than are in `items`.
  let missed = 0;
  let known = null; // The document that events begin with.
  let following = null;
  let followed = null;
  let listed = null; // What was followed when `items` came.
  if (standing) ({ items, waiting, waitingCount, most, truncated, missed, known, listed } = standing);
  let opened = null; // The id of the exchange that is shown.
  let loading = null;
  let isPressed = false;
  let linked = null; // How the events stand, for the head of the page.
  const rows = new Map();
  const routes = new Set();

  const address = (changes) => {
    const next = new URLSearchParams();
    for (const name of [...filters, 'id']) {
      const value = name in changes ? changes[name] : asked.get(name);
      if (value) next.set(name, value);
    }
    const text = next.toString();
    return `#/exchanges${text ? `?${text}` : ''}`;
  };
  const set = (changes) => { location.hash = address(changes); };

  // Filters. What is typed is asked for when the typing pauses.
  const change = later(250, () => {
    const typed = [...filterForm.querySelectorAll('input')].map((one) => [one.dataset.filter, one.value.trim()]);
    // While a status is wrong the list stays that of the one before.
    const next = address(Object.fromEntries(typed.filter(([name]) => name !== 'status' || !isWrongStatus())));
    history.replaceState(null, '', next);
    update(new URLSearchParams(next.split('?')[1] ?? ''));
  });
  const field = (name, list, members) => h('input', {
    list, value: asked.get(name) ?? '', spellcheck: 'false', autocomplete: 'off', 'data-filter': name, ...members,
    oninput: () => change(),
  });
  const options = (id, values) => h('datalist', { id }, values.map((value) => h('option', { value })));
  const routeChoice = select([['', 'any']], '', (value) => set({ route: value }), { 'data-filter': 'route' });
  const codes = options('codes', []);
  const status = field('status', 'statuses', { placeholder: '4xx, 422', size: '8', 'aria-describedby': 'status-fault' });
  const statusFault = h('p', { class: 'fault', id: 'status-fault', role: 'alert' });
  const filterForm = h('form', { class: 'filters', role: 'search', 'aria-label': 'Exchanges', onsubmit: (event) => event.preventDefault() },
    labelled('Route', routeChoice),
    labelled('Status', status), options('statuses', ['2xx', '3xx', '4xx', '5xx']), statusFault,
    labelled('Code', field('code', 'codes', { placeholder: 'json_, UR', size: '12' })), codes,
    labelled('Method', field('method', 'methods', { placeholder: 'POST', size: '6' })), options('methods', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    labelled('Text', field('text', null, { type: 'search', placeholder: 'target, host, id', size: '12' })));
  const clear = h('button', { type: 'button', class: 'small', hidden: true,
    onclick: () => {
      status.value = '';
      set(Object.fromEntries(filters.map((name) => [name, null])));
    } }, 'Clear the filter');

  const drawLink = () => {
    const [state, ...more] = linked ?? ['connecting'];
    setLink(state === 'live' && paused ? 'paused' : state, ...more);
  };
  const drawPause = () => {
    pause.setAttribute('aria-pressed', String(paused));
    pause.textContent = paused ? 'Go on' : 'Pause';
  };
  const pause = h('button', { type: 'button', class: 'small', onclick: () => {
    paused = !paused;
    drawPause();
    drawLink();
    if (!paused) release();
    else render();
  } });
  drawPause();
  const news = h('button', { type: 'button', class: 'small news', hidden: true, onclick: () => {
    release();
    draw();
    pane.scrollTop = 0;
    document.scrollingElement.scrollTop = 0;
    rows.get(shownItems()[0]?.id)?.querySelector('a').focus({ preventScroll: true });
  } });
  const note = h('p', { class: 'hint', id: 'shown' });
  const body = h('tbody', {});
  const table = h('table', { class: 'list' },
    h('caption', { class: 'unseen' }, 'Exchanges, the newest first. Up and Down move, Enter opens.'),
    h('thead', {}, h('tr', {}, columns.map(([name, css]) => h('th', { scope: 'col', class: css }, name)))), body);
  const nothing = h('div', { hidden: true });
  const pane = h('div', { class: 'pane' }, table, nothing);
  const bounds = h('p', { class: 'hint bounds' });
  const detail = h('div', { class: 'detail', hidden: true });
  const view = h('div', { class: 'split' },
    h('section', { class: 'exchanges', 'aria-labelledby': 'exchanges-title' },
      h('div', { class: 'titles' }, h('h1', { id: 'exchanges-title', tabindex: '-1' }, 'Exchanges'), note, news, clear, pause),
      filterForm, pane, bounds),
    detail);
  main.replaceChildren(view);

  // The list.
  function shownItems() {
    const text = (asked.get('text') ?? '').toLowerCase();
    if (!text) return items;
    return items.filter((item) => [item.target, item.host, item.request_id, item.id, item.route, item.code, item.method, item.client]
      .some((value) => value?.toLowerCase?.().includes(text)));
  }

  function makeRow(item) {
    const failed = item.code ?? item.flag;
    const wasCut = isCut(item);
    return h('tr', { data: { id: item.id, request: item.request_id } },
      h('td', { class: 'time' }, h('time', { datetime: item.at }, clock(item.at))),
      h('td', { class: 'method' }, line(item.method)),
      h('td', { class: 'target' }, h('a', { href: address({ id: item.id }), tabindex: '-1', title: line(item.target) },
        item.replay_of && h('span', { class: 'tag' }, 'replay'), data(item.target || unreadable))),
      h('td', { class: 'route' }, item.route === null ? '–' : line(item.route)),
      h('td', { class: 'answer' }, h('span', { class: statusClass(item.status, wasCut) }, String(item.status)),
        wasCut && unseen(' cut off'), failed && h('span', { class: 'code', title: item.flag && line(flagWords(item.flag)) }, line(failed))),
      h('td', { class: 'took' }, item.time > 0 ? duration(item.time) : '–'),
      h('td', { class: 'sizes' }, size(item.bytes_in), unseen(' in, '), h('span', { 'aria-hidden': 'true' }, ' / '),
        size(item.bytes_back), unseen(' back')));
  }

  // What has changed is drawn with the next frame. Where that takes long, since much comes or the machine is busy, the page has as
  // much time for everything else before it draws again.
  let drawing = 0;
  let waitingToDraw = 0;
  let rested = 0;
  const nextFrame = () => {
    waitingToDraw = 0;
    drawing ||= requestAnimationFrame(draw);
  };
  const render = () => {
    if (drawing || waitingToDraw) return;
    const rest = rested - performance.now();
    if (rest > 0) waitingToDraw = setTimeout(nextFrame, rest);
    else nextFrame();
  };
  const cancelDrawing = () => {
    clearTimeout(waitingToDraw);
    cancelAnimationFrame(drawing);
    waitingToDraw = drawing = 0;
  };
  function draw() {
    cancelDrawing();
    const begin = performance.now();
    // Behind the frame, of which layout and painting are a part.
    setTimeout(() => { rested = 2 * performance.now() - begin; });
    const found = shownItems();
    const shown = found.slice(0, mostRows);
    // After a restart Recast counts from the first id again: a row of the same id is another exchange's then.
    const ids = new Map(shown.map((item) => [item.id, item.request_id]));
    for (const [id, row] of rows) {
      if (ids.get(id) !== row.dataset.request) {
        row.remove();
        rows.delete(id);
      }
    }
    let before = body.firstChild;
    for (const item of shown) {
      const row = rows.get(item.id);
      if (row && row === before) {
        before = before.nextSibling;
      } else {
        const made = row ?? makeRow(item);
        rows.set(item.id, made);
        body.insertBefore(made, before);
      }
    }
    drawChoice();
    table.hidden = shown.length === 0;
    news.hidden = waitingCount === 0;
    news.textContent = `Show ${count(waitingCount)} new`;
    const filtered = filters.some((name) => asked.get(name));
    clear.hidden = !filtered;
    if (known === null) return;
    note.textContent = [
      shown.length === items.length ? `${count(items.length)} shown` : `${count(shown.length)} of ${count(items.length)} shown`,
      filtered && 'filtered', shown.length < found.length && 'a filter brings the others up',
      truncated && 'older ones are kept, too: a filter brings them here',
      missed > 0 && `${count(missed)} went by too fast to show`,
    ].filter(Boolean).join(', ');
    nothing.hidden = shown.length > 0;
    if (!nothing.hidden && nothing.dataset.filtered !== String(filtered)) {
      nothing.dataset.filtered = String(filtered);
      const passesNone = () => empty('No exchange passes the filter', h('p', {}, 'New ones that do will come up here.'));
      nothing.replaceChildren(filtered ? passesNone() : firstSteps());
    }
  }

  // Which row is open, and which one Tab comes to.
  function drawChoice() {
    const focused = body.contains(document.activeElement) ? document.activeElement.closest('tr') : null;
    const chosen = focused ?? rows.get(opened) ?? body.firstChild;
    for (const row of body.children) {
      const anchor = row.querySelector('a');
      anchor.tabIndex = row === chosen ? 0 : -1;
      if (row.dataset.id === opened) anchor.setAttribute('aria-current', 'true');
      else anchor.removeAttribute('aria-current');
      row.classList.toggle('open', row.dataset.id === opened);
    }
  }

  // Nothing moves while somebody reads further down, is on a row by the keyboard, or is about to click.
  const isHeld = () => paused || isPressed || document.activeElement === news || body.contains(document.activeElement) || pane.scrollTop > 4
    || (document.scrollingElement.scrollTop > 4 && pane.getBoundingClientRect().top < 0);
  function take(more) {
    waiting = more.concat(waiting).slice(0, most);
    waitingCount += more.length;
    if (isHeld()) render();
    else release();
  }
  function release() {
    const there = new Map(items.map((item) => [item.id, item.request_id]));
    const come = waiting.filter((item) => there.get(item.id) !== item.request_id);
    const replaced = new Set(come.map((item) => item.id));
    items = come.concat(items.filter((item) => !replaced.has(item.id)));
    // Where all that is kept can be shown, what goes is what Recast has forgotten.
    if (items.length > most && known.limit < known.entries * known.workers) truncated = true;
    items = items.slice(0, most);
    waiting = [];
    waitingCount = 0;
    learn(items);
    render();
  }
  function learn(list) {
    const old = routes.size;
    for (const { route } of list) if (route !== null) routes.add(route);
    if (routes.size !== old) drawRoutes();
    const names = [...new Set(list.flatMap((item) => [item.code, item.flag]).filter(Boolean))].sort();
    if (names.join() !== [...codes.children].map((option) => option.value).join()) {
      codes.replaceChildren(...names.map((value) => h('option', { value })));
    }
  }
  function drawRoutes() {
    const chosen = asked.get('route') ?? '';
    if (chosen) routes.add(chosen);
    routeChoice.replaceChildren(...[['', 'any'], ...[...routes].sort().map((name) => [name, line(name)])]
      .map(([value, name]) => h('option', { value, selected: value === chosen }, name)));
  }

  function drawBounds() {
    const masks = known.mask?.length ? `Masked: ${known.mask.map(line).join(', ')}.` : 'Nothing is masked.';
    bounds.textContent = [
      known.workers > 1 ? `Each of the ${known.workers} workers` : 'Each worker',
      `keeps its last ${plural(known.entries, 'exchange')}, of each body the first ${size(known.body)}.`, masks, 'Nothing is on a disk.',
      known.workers_missing ? `${plural(known.workers_missing, 'worker')} didn’t answer.` : '',
    ].join(' ');
  }

  function events(name, document) {
    if (name === 'exchanges') {
      // By new settings all that was there is forgotten.
      const settings = ({ entries, body, mask }) => JSON.stringify([entries, body, mask]);
      const isAgain = known !== null && listed === followed && settings(document) === settings(known);
      known = document;
      listed = followed;
      most = document.limit ?? document.entries;
      drawBounds();
      if (isAgain && isHeld() && joinsOn(document.exchanges)) return;
      items = document.exchanges.slice(0, most);
      truncated = document.truncated;
      waiting = [];
      waitingCount = 0;
      missed = 0;
      nothing.dataset.filtered = '';
      learn(items);
      render();
    } else if (name === 'more') {
      missed += document.missed ?? 0;
      take(document.exchanges);
    }
  }

  // Events that begin again, as where the page was hidden for a while: what came meanwhile waits as any other while nothing may move.
  function joinsOn(list) {
    const there = new Map([...waiting, ...items].map((item) => [item.id, item.request_id]));
    if (list.some((item) => there.has(item.id) && there.get(item.id) !== item.request_id)) return false;
    take(list.filter((item) => !there.has(item.id)));
    return true;
  }

  function listen() {
    const search = new URLSearchParams();
    for (const name of ['route', 'code', 'method']) if (asked.get(name)) search.set(name, asked.get(name));
    if (isStatus(asked.get('status') ?? '')) search.set('status', asked.get('status').toLowerCase());
    const path = `/console/exchanges${search.size ? `?${search}` : ''}`;
    if (path === followed) return;
    followed = path;
    following?.end();
    const mine = following = follow(path, (...values) => mine === following && events(...values), (state, value, fault) => {
      if (following !== null && mine !== following) return;
      linked = [state, fault?.message, () => mine.again()];
      drawLink();
      if (state === 'stopped' && value.status !== 401) {
        note.textContent = '';
        known = null;
        items = [];
        draw();
        nothing.hidden = false;
        // What it refuses now, as a console that is off, it may take later.
        const again = () => {
          followed = null;
          nothing.replaceChildren();
          listen();
        };
        nothing.replaceChildren(empty('Recast refused this', h('p', { role: 'alert' }, value.message),
          h('button', { type: 'button', class: 'small', onclick: again }, 'Try again')));
      }
    });
  }

  // The first command: an address that Recast listens on, and the first route that converts.
  function firstSteps() {
    const place = h('div', {});
    const show = (text) => place.replaceChildren(command(text));
    show('curl -d a=1 http://127.0.0.1:8080/');
    Promise.all([listenOrigin(), get('/console/routes')]).then(([origin, list]) => {
      const route = list.routes.find((one) => one.request) ?? list.routes[0];
      const path = (route?.match?.path ?? '/').replace(/\{[^}]*\}|\*+/g, '1');
      const isJSON = /^json/.test(route?.request ?? '');
      show(`curl ${isJSON ? '--json \'{"user":{"name":"Ada"}}\'' : '-d \'user[name]=Ada\''} ${origin}${path}`);
    }).catch(() => { /* The address that is shown is the usual one. */ });
    return empty('No exchange yet', h('p', {}, 'Send a request through Recast, and it stands here:'), place,
      h('p', {}, 'Or see what a route makes of a body without sending one: ', h('a', { href: '#/try' }, 'Try it'), '. Or build one: ',
        h('a', { href: '#/try?new' }, 'New route'), '.'));
  }

  // One exchange.
  async function show(id) {
    if (id === opened) return;
    opened = id;
    loading?.abort();
    view.classList.toggle('with-detail', id !== null);
    detail.hidden = id === null;
    drawChoice();
    document.title = 'Exchanges – Recast console';
    if (id === null) {
      detail.replaceChildren();
      return;
    }
    loading = new AbortController();
    const close = () => {
      set({ id: null });
      requestAnimationFrame(() => (rows.get(id)?.querySelector('a') ?? main.querySelector('h1')).focus());
    };
    // What stands there meanwhile is another one.
    const wait = setTimeout(() => {
      if (opened === id) detail.replaceChildren(h('div', { class: 'empty' }, h('p', { role: 'status' }, 'Waiting for Recast')));
    }, 300);
    try {
      const exchange = await load(id, loading.signal).finally(() => clearTimeout(wait));
      if (opened !== id) return;
      const summary = items.find((item) => item.id === id);
      document.title = line(`${exchange.method} ${exchange.target || unreadable} ${exchange.status} – Recast console`.trim());
      detail.replaceChildren(makeDetail(exchange, { address, close, open: (other) => set({ id: other }), summary }));
    } catch (fault) {
      if (opened !== id || fault.name === 'AbortError' || fault.status === 401) return;
      const isGone = fault.status === 404;
      detail.replaceChildren(h('div', { class: 'empty' },
        h('h2', { tabindex: '-1', id: 'exchange-title' }, isGone ? 'This exchange is gone' : 'This exchange can’t be shown'),
        h('p', {}, isGone ? `A worker keeps its last ${known?.entries ?? 'few'}, and forgets all of them when Recast ends.` : fault.message),
        h('button', { type: 'button', class: 'small close', onclick: close }, 'Close')));
    }
    detail.scrollTop = 0;
    document.getElementById('exchange-title')?.focus({ preventScroll: innerWidth >= 1000 });
  }

  const isWrongStatus = () => status.value.trim() !== '' && !isStatus(status.value.trim());

  function update(next) {
    asked = next;
    for (const control of filterForm.querySelectorAll('[data-filter]')) {
      const value = asked.get(control.dataset.filter) ?? '';
      if (control === document.activeElement || control === status && isWrongStatus()) continue;
      if (control.value !== value) control.value = value;
    }
    const isWrong = isWrongStatus();
    statusFault.textContent = isWrong ? `“${line(status.value.trim())}” is no status: write one as 404, or a class as 4xx` : '';
    status.setAttribute('aria-invalid', String(isWrong));
    drawRoutes();
    for (const row of rows.values()) row.querySelector('a').href = address({ id: row.dataset.id });
    nothing.dataset.filtered = '';
    listen();
    render();
    show(asked.get('id'));
  }

  body.addEventListener('click', (event) => {
    const row = event.target.closest('tr');
    if (!row || event.target.closest('a') || String(getSelection()) !== '') return;
    set({ id: row.dataset.id });
  });
  body.addEventListener('keydown', (event) => {
    const row = event.target.closest('tr');
    const steps = { ArrowDown: row?.nextSibling, ArrowUp: row?.previousSibling, Home: body.firstChild, End: body.lastChild };
    if (!row || event.ctrlKey || event.altKey || event.metaKey || !(event.key in steps)) return;
    event.preventDefault();
    steps[event.key]?.querySelector('a').focus();
    drawChoice();
  });
  const left = () => setTimeout(() => waitingCount > 0 && !isHeld() && release());
  body.addEventListener('focusout', left);
  news.addEventListener('focusout', left);
  pane.addEventListener('scroll', later(100, () => waitingCount > 0 && !isHeld() && release()));
  view.addEventListener('pointerdown', () => { isPressed = true; });
  const released = () => { isPressed = false; };
  addEventListener('pointerup', released);
  addEventListener('pointercancel', released);
  const escape = (event) => {
    if (event.key !== 'Escape' || opened === null || !detail.contains(document.activeElement)) return;
    if (!event.target.matches('input, textarea, select')) detail.querySelector('.close')?.click();
  };
  addEventListener('keydown', escape);
  if (known) drawBounds();
  learn(items);
  update(query);
  get('/console/routes').then((list) => {
    for (const { name } of list.routes) routes.add(name);
    drawRoutes();
  }).catch(() => { /* The routes of what is shown are known anyway. */ });

  return { update, hide: () => {
    standing = paused ? { items, waiting, waitingCount, most, truncated, missed, known, listed } : null;
    following?.end();
    loading?.abort();
    change.cancel();
    cancelDrawing();
    removeEventListener('pointerup', released);
    removeEventListener('pointercancel', released);
    removeEventListener('keydown', escape);
  } };
}
