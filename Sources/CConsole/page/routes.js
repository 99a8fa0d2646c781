// The routes: what each takes and makes, and how often it was asked.
import { get } from './api.js';
import { count, data, empty, h, hint, line, plural, statusClass } from './dom.js';

const pace = 2000; // Milliseconds between two looks.

function matchText(match) {
  if (typeof match === 'string') return line(match);
  const { method, path, ...rest } = match ?? {};
  const isObject = (value) => typeof value === 'object' && value !== null;
  const word = (value) => (Array.isArray(value) ? value.join(', ') : isObject(value) ? JSON.stringify(value) : String(value));
  return [method && word(method), path && word(path), ...Object.entries(rest).map(([name, value]) => `${name}: ${word(value)}`)]
    .filter(Boolean).map(line).join(' ');
}

function conversion(text) {
  return text && text !== 'forward' ? line(text) : h('span', { class: 'hint' }, 'as it is');
}

export function showRoutes(main) {
  const rows = new Map(); // By the route's name: its row and the cells that change.
  const body = h('tbody', {});
  const note = hint();
  const table = h('table', { class: 'routes' },
    h('thead', {}, h('tr', {}, ['Route', 'Takes', 'Request', 'Response', 'Upstream', 'Requests', 'Answers', ''].map((name) => (
      name ? h('th', { scope: 'col' }, name) : h('td', {}))))), body);
  const frame = h('div', {}, h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Routes' }, table));
  main.replaceChildren(h('section', { class: 'page' }, h('div', { class: 'titles' }, h('h1', { tabindex: '-1' }, 'Routes'), note,
    h('a', { class: 'button', href: '#/try?new' }, 'New route')), frame));
  const end = new AbortController();
  let timer;

  function row(route) {
    const requests = h('td', { class: 'number' });
    const answers = h('td', { class: 'answers' });
    const name = encodeURIComponent(route.name);
    const element = h('tr', {},
      h('th', { scope: 'row' }, data(route.name)), h('td', {}, matchText(route.match)), h('td', {}, conversion(route.request)),
      h('td', {}, conversion(route.response)), h('td', {}, route.upstream === null ? '–' : data(route.upstream)), requests, answers,
      h('td', { class: 'links' }, h('a', { href: `#/exchanges?route=${name}`, 'aria-label': `Exchanges of ${line(route.name)}` }, 'Exchanges'), ' ',
        h('a', { href: `#/try?route=${name}`, 'aria-label': `Try ${line(route.name)}` }, 'Try it')));
    return { element, requests, answers, seen: '' };
  }

  function draw({ routes, workers_missing: missing }) {
    note.textContent = `${plural(routes.length, 'route')}, in the order in which they are tried; counted since Recast started${
      missing ? `; ${plural(missing, 'worker')} didn’t answer` : ''}`;
    if (routes.length === 0) {
      frame.replaceChildren(empty('No routes', h('p', {}, 'The settings have none.')));
      return;
    }
    // What a reload has changed is drawn anew.
    const now = new Map(routes.map(({ requests, by_status: answers, ...definition }) => [definition.name, JSON.stringify(definition)]));
    const isSameList = [...now.keys()].join('\n') === [...rows.keys()].join('\n');
    for (const route of routes) {
      const old = rows.get(route.name);
      if (old?.definition === now.get(route.name)) continue;
      const made = { ...row(route), definition: now.get(route.name) };
      rows.set(route.name, made);
      if (isSameList) old.element.replaceWith(made.element);
    }
    if (!isSameList) {
      const ordered = routes.map((route) => [route.name, rows.get(route.name)]);
      rows.clear();
      for (const [name, one] of ordered) rows.set(name, one);
      body.replaceChildren(...[...rows.values()].map((one) => one.element));
    }
    for (const route of routes) {
      const one = rows.get(route.name);
      const seen = JSON.stringify([route.requests, route.by_status]);
      if (one.seen === seen) continue;
      one.seen = seen;
      one.requests.textContent = count(route.requests ?? 0);
      const answers = Object.entries(route.by_status ?? {}).filter(([, number]) => number > 0);
      // What is of no class can't be filtered by one.
      one.answers.replaceChildren(...answers.map(([status, number]) => (status === 'other' ? h('span', {}, `other ${count(number)}`) : h('a', {
        class: statusClass(parseInt(status, 10) * (/x/.test(status) ? 100 : 1)),
        href: `#/exchanges?${new URLSearchParams({ route: route.name, status })}`,
      }, `${status} ${count(number)}`))));
    }
  }

  async function look() {
    clearTimeout(timer);
    try {
      if (!document.hidden) draw(await get('/console/routes', end.signal));
    } catch (fault) {
      if (end.signal.aborted || fault.status === 401) return;
      note.textContent = fault.message;
    }
    if (!end.signal.aborted) timer = setTimeout(look, pace);
  }
  look();
  document.addEventListener('visibilitychange', look, { signal: end.signal });
  return { hide: () => {
    end.abort();
    clearTimeout(timer);
  } };
}
