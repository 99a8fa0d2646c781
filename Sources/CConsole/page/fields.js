// What became of each field: where it went, by which rules, and what was left out. And fields of heads, side by side.
import { data, h, hint, line, plural } from './dom.js';

const mostRows = 500;

// What decided about a field, where no rule of the route did.
const unruled = (entry) => (entry.from === entry.to ? 'unchanged' : 'spelled as the output writes it');

// Why no field is told of where there are some: what `output` of an explanation says.
const nothing = { problem: 'A problem took its place', 'the same': 'It goes on as it came' };

// The table of an explanation. Its rows have the numbers that `Marks` gives to those of the bodies. `change` gives, for an entry, what a
// row that is opened holds: controls that change what becomes of the field; null where nothing can. `wasSent` is whether the values went
// to anybody.
export function fieldsTable(explanation, refused = null, change = null, wasSent = true) {
  if (!explanation) return null;
  const entries = [...explanation.sent, ...explanation.removed];
  const names = [change ? 'From: choose a field to change it' : 'From', 'To', 'Why'];
  const head = h('thead', {}, h('tr', {}, names.map((name) => h('th', { scope: 'col' }, name))));
  const rows = entries.slice(0, mostRows).map((entry, index) => {
    const gone = entry.to === null;
    const from = entry.from === null ? h('span', { class: 'hint' }, 'the route') : data(entry.from);
    const changes = change && entry.from !== null && entry.places;
    const row = h('tr', { class: `${gone ? 'gone' : ''}${entry.from === refused && refused !== null ? ' refused' : ''}`, data: { entry: index } },
      h('td', {}, h('button', { type: 'button', class: `plain${changes ? ' opens' : ''}`, data: { show: index, from: entry.from ?? '' },
        'aria-expanded': changes ? 'false' : null, onclick: (event) => changes && toggle(event.currentTarget, row, entry, change) },
      entry.kind === 'file' && h('span', { class: 'tag' }, 'file'), from)),
      h('td', {}, gone ? h('span', { class: 'tag' }, 'left out') : data(entry.to)),
      h('td', {}, entry.rules.length === 0 ? h('span', { class: 'hint' }, unruled(entry))
        : entry.rules.map((rule) => h('span', { class: 'rule' }, line(rule)))));
    return row;
  });
  const left = explanation.removed.length;
  const went = wasSent ? 'went on' : 'would have gone on';
  return h('section', { class: 'fields' },
    h('h3', {}, 'What became of each field'),
    entries.length === 0 ? hint(nothing[explanation.output] ?? 'Nothing came in') : [
      hint(`${plural(explanation.sent.length, 'value')} ${went}, ${left === 0 ? 'none was' : `${plural(left, 'was', 'were')}`} left out`),
      h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Fields' }, h('table', {}, head, h('tbody', {}, rows))),
      entries.length > mostRows && hint(`${plural(entries.length - mostRows, 'more value')}, which recast explain prints`),
    ],
    notes(explanation));
}

// Opens the row below a field's own, or closes it; one is open at a time.
function toggle(button, row, entry, change) {
  const open = row.parentElement.querySelector('tr.changes');
  const wasOpen = open !== null && open === row.nextElementSibling;
  open?.previousElementSibling.querySelector('button').setAttribute('aria-expanded', 'false');
  open?.remove();
  if (wasOpen) return;
  const close = () => {
    toggle(button, row, entry, change);
    button.focus();
  };
  const below = h('tr', { class: 'changes', onkeydown: (event) => event.key === 'Escape' && close() },
    h('td', { colspan: '3' }, change(entry, close)));
  row.after(below);
  button.setAttribute('aria-expanded', 'true');
  below.querySelector('input, select, button')?.focus();
}

function notes(explanation) {
  const list = [
    ...(explanation.guards ?? []).map(({ kind, ...members }) => [
      kind, Object.entries(members).map(([name, value]) => `${name}: ${value}`).join(', ')]),
    ...(explanation.notes ?? []).map((note) => ['note', `${note.what} ${note.effect}${note.remedy ? `; ${note.remedy}` : ''}`]),
  ];
  return list.length > 0 && h('ul', { class: 'notes' }, list.map(([kind, text]) => h('li', {}, h('b', {}, line(kind)), ' ', line(text))));
}

// Points at the other side's row of a field when the pointer or the focus is on one; a click brings both into view.
export function linkFields(root) {
  let lit = null;
  const light = (entry) => {
    if (entry === lit) return;
    lit = entry;
    for (const element of root.querySelectorAll('.lit')) element.classList.remove('lit');
    if (entry !== null) for (const element of root.querySelectorAll(`[data-entry="${entry}"]`)) element.classList.add('lit');
  };
  const over = (event) => light(event.target.closest?.('[data-entry]')?.dataset.entry ?? null);
  root.addEventListener('pointerover', over);
  root.addEventListener('pointerleave', () => light(null));
  root.addEventListener('focusin', over);
  root.addEventListener('click', (event) => {
    const entry = event.target.closest?.('[data-show]')?.dataset.show;
    if (entry === undefined) return;
    for (const element of root.querySelectorAll(`li[data-entry="${entry}"]`)) element.scrollIntoView({ block: 'nearest' });
  });
}

// Of one connection or of how content is framed on it: each side has its own, so that none is missing on the other one.
const framing = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'trailer', 'upgrade']);

// Field lines of a head, each with what the other side makes of it: only here, or with another value.
export function headFields(message, other, words) {
  if (!message) return null;
  const key = (field) => field.name.toLowerCase();
  const values = new Map();
  for (const field of other?.fields ?? []) values.set(key(field), [...(values.get(key(field)) ?? []), field.value]);
  return h('ul', { class: 'head' }, h('li', { class: 'first' }, data(message.line)), message.fields.map((field) => {
    const there = values.get(key(field));
    const alone = words[0] === 'not sent' && framing.has(key(field)) ? null : words[0];
    const change = !other ? null : !there ? alone : there.includes(field.value) ? null : words[1];
    return h('li', { class: change ? `differs ${change === words[1] ? 'changed' : 'alone'}` : '' },
      data(field.name, { class: 'key' }), ': ', field.masked ? h('span', { class: 'masked' }, '***') : h('bdi', {}, line(field.value)),
      field.masked && h('span', { class: 'tag' }, 'masked'),
      change && h('span', { class: 'tag' }, change));
  }));
}
