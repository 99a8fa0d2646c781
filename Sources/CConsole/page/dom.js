// Elements, texts and how values are shown. Whatever a client has sent goes through `h`, which makes text nodes of it: nothing of
// this page parses markup.

const properties = new Set(['value', 'checked', 'disabled', 'selected', 'readOnly', 'max', 'open', 'hidden', 'indeterminate']);

// An element: `h('a', { href, class, onclick, data: { id } }, 'text', other)`. Members that are null, undefined or false are left out.
export function h(tag, members, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(members ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'data') Object.assign(element.dataset, value);
    else if (properties.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Words for those who don't see the sign beside them.
export const unseen = (text) => h('span', { class: 'unseen' }, text);

// What can't be seen, or turns the direction of text, is shown by its number: a name must not look like another one.
// eslint-disable-next-line no-control-regex
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const byNumber = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
export const visible = (text) => String(text).replace(invisible, (sign) => sign.split('').map(byNumber).join(''));
// The same for what stands on one line.
export const line = (text) => visible(text).replace(/\t/g, '\\t').replace(/\n/g, '\\n');

// A text of a client's, apart from the direction of what stands around it.
export const data = (text, members) => h('bdi', members, line(text));

export function size(bytes) {
  if (bytes === null || bytes === undefined) return '–';
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes / 1024;
  let at = 0;
  while (value >= 1023.95 && at < units.length - 1) { value /= 1024; at += 1; }
  return `${Number(value.toFixed(value < 99.95 ? 1 : 0))} ${units[at]}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 0.00095) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.995) return `${(seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0)} ms`;
  if (seconds < 99.5) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export const count = (number) => Number(number).toLocaleString('en-GB');
export const plural = (number, one, several) => `${count(number)} ${number === 1 ? one : several ?? `${one}s`}`;

// The time of day, here, with milliseconds.
export function clock(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return line(text ?? '');
  const two = (number, digits = 2) => String(number).padStart(digits, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${two(at.getMilliseconds(), 3)}`;
}

// A quiet text.
export const hint = (...text) => h('p', { class: 'hint' }, ...text);

// What class of status it is: 4 of 422, and 5 of 999. An answer that was cut is a failure, whatever its status says.
export const statusClass = (status, wasCut = false) => `status s${wasCut ? 5 : Math.min(5, Math.floor((status ?? 0) / 100))}`;

// How a request is called whose head could not be read.
export const unreadable = '(unreadable request)';

export function empty(title, ...more) {
  return h('div', { class: 'empty' }, h('h2', {}, title), ...more);
}

// A command with a button that copies it.
export function command(text) {
  return h('div', { class: 'command' }, h('code', { tabindex: '0' }, text), copyButton(() => text));
}

// A button that copies what `text` gives, and says whether it did.
export function copyButton(text, name = 'Copy') {
  const said = h('span', { class: 'unseen', role: 'status' });
  const button = h('button', { type: 'button', class: 'small', onclick: async () => {
    const done = await copy(text());
    button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    said.textContent = done ? 'Copied' : 'The browser refused; the text is selected, press Ctrl and C';
    if (done) setTimeout(() => { button.textContent = name; said.textContent = ''; }, 5000);
  } }, name);
  return h('span', { class: 'copy' }, button, said);
}

// The clipboard is for secure contexts: 127.0.0.1 is one, another machine's address isn't. There the text is selected, and
// copied the old way; where the browser refuses that, too, it stays selected in a field of its own.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    document.getElementById('to-copy')?.remove();
    const field = h('textarea', { id: 'to-copy', class: 'to-copy', readOnly: true, value: text, 'aria-label': 'Text to copy' });
    const before = document.activeElement;
    document.body.append(field);
    field.select();
    let done = false;
    try { done = document.execCommand('copy'); } catch { /* An old browser throws here; the field stays. */ }
    if (done) {
      field.remove();
      before?.focus?.();
    } else {
      field.addEventListener('blur', () => field.remove());
    }
    return done;
  }
}

let numbers = 0;
// A name for an element that another one points at.
export const newId = (word) => `${word}-${numbers += 1}`;

// A control with its label.
export function labelled(text, control, more) {
  control.id ||= newId('control');
  return h('div', { class: 'control' }, h('label', { for: control.id }, text), control, more && hint(more));
}

export function select(values, chosen, onchange, members) {
  return h('select', { ...members, onchange: (event) => onchange(event.target.value) },
    values.map(([value, name]) => h('option', { value, selected: value === chosen }, name)));
}

// Calls a function when nothing has asked for it for a while.
export function later(milliseconds, work) {
  let timer;
  const ask = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
  ask.cancel = () => clearTimeout(timer);
  return ask;
}
