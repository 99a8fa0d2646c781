// A body on the page: parsed where it can be, raw, or as bytes; never more than a bound of it at once.
import { fromBase64 } from './api.js';
import { copyButton, data, h, hint, line, newId, plural, size, unseen, visible } from './dom.js';
import { asText, formatOf, formPairs, hexRows, jsonLines, multipartParts, placeOf } from './readers.js';

const mostLines = 1000;
const mostText = 200_000;
const mostHex = 1024;

// Which entry of an explanation a row of a body is: the n-th row of a path is the n-th entry with it.
export class Marks {
  constructor(explanation, side) {
    this.entries = new Map();
    const rows = explanation ? [...explanation.sent, ...explanation.removed] : [];
    rows.forEach((entry, index) => {
      const path = entry[side];
      if (path === null || path === undefined) return;
      if (!this.entries.has(path)) this.entries.set(path, []);
      this.entries.get(path).push([index, entry.to === null]);
    });
    this.seen = new Map();
  }

  // What is told of the next row with this path: { entry, gone }.
  next(path) {
    const found = this.entries.get(path);
    if (!found) return null;
    const at = this.seen.get(path) ?? 0;
    this.seen.set(path, at + 1);
    const [entry, gone] = found[Math.min(at, found.length - 1)];
    return { entry, gone };
  }
}

// The members of an element for a row, by what is known of its path.
function rowMembers(path, marks, refused) {
  const mark = path === '' ? null : marks?.next(path);
  const isRefused = refused !== null && refused !== undefined && path !== '' && path === refused;
  return {
    class: `line${mark?.gone ? ' gone' : ''}${isRefused ? ' refused' : ''}`,
    data: mark ? { entry: mark.entry } : {},
    note: isRefused ? 'refused' : mark?.gone ? 'left out' : null,
  };
}

function row(path, marks, refused, ...content) {
  const { note, ...members } = rowMembers(path, marks, refused);
  return h('li', members, content, note && h('span', { class: 'tag' }, note));
}

function jsonView(text, marks, refused) {
  const lines = jsonLines(text);
  return [
    h('ol', { class: 'lines' }, lines.slice(0, mostLines).map(({ depth, path, tokens }) => {
      const item = row(path, marks, refused, tokens.map(([kind, word]) => (kind === 'sign' ? word : h('span', { class: kind }, visible(word)))));
      item.style.setProperty('--depth', depth);
      return item;
    })),
    lines.length > mostLines && hint(`${plural(lines.length - mostLines, 'more line')}: see Raw`),
  ];
}

// Each pair is a line: a line end in a value is written as \n, so that what stands behind it isn't taken for another pair.
function formView(text, marks, refused) {
  const pairs = formPairs(text);
  return [
    h('ol', { class: 'lines' }, pairs.slice(0, mostLines).map(({ name, value }) => row(name, marks, refused,
      data(name, { class: 'key' }), value === null ? h('span', { class: 'word' }, ' (no value)') : [h('span', { class: 'sign' }, ' = '),
        h('bdi', { class: 'text' }, line(value))]))),
    pairs.length > mostLines && hint(`${plural(pairs.length - mostLines, 'more pair')}: see Raw`),
  ];
}

// `isMasked` is whether values are: what stands for one is as long as nothing that came.
function multipartView(parts, marks, refused, isMasked) {
  return h('ol', { class: 'parts' }, parts.slice(0, mostLines).map((part) => {
    const { note, ...members } = rowMembers(part.name, marks, refused);
    const text = asText(part.bytes);
    const shown = text === null || part.filename !== null && part.bytes.length > 2000;
    const length = isMasked && text === '***' ? 'masked' : (part.whole ? '' : 'cut after ') + size(part.bytes.length);
    return h('li', members,
      h('p', { class: 'part' }, data(part.name, { class: 'key' }),
        part.filename !== null && [' file ', data(part.filename, { class: 'text' })],
        h('span', { class: 'hint' }, ` ${[part.type && line(part.type), length].filter(Boolean).join(', ')}`),
        note && h('span', { class: 'tag' }, note)),
      part.bytes.length === 0 ? null : shown ? hexView(part.bytes, 64) : textView(text));
  }));
}

export function hexView(bytes, first = mostHex, mark = null) {
  const list = h('code', {});
  const frame = h('pre', { class: 'hex', tabindex: '0', 'aria-label': 'Bytes in hexadecimal' }, list);
  let until = 0;
  const more = h('button', { type: 'button', class: 'small', onclick: () => add(mostHex) });
  const add = (amount, from = until) => {
    until = Math.min(bytes.length, from + amount);
    for (const { offset, hex, signs } of hexRows(bytes, from, until)) {
      const marked = mark !== null && mark >= offset && mark < offset + 16;
      const at = mark - offset;
      list.append(h('span', { class: 'offset' }, offset.toString(16).padStart(6, '0')), '  ');
      if (marked) {
        list.append(hex.slice(0, at).map((word) => `${word} `).join(''), h('mark', {}, hex[at]));
        list.append(hex.slice(at + 1).map((word) => ` ${word}`).join(''));
      } else {
        list.append(hex.join(' '));
      }
      list.append(' '.repeat((16 - hex.length) * 3 + 2), h('span', { class: 'signs' }, signs), '\n');
    }
    more.hidden = until >= bytes.length;
    more.textContent = `Show ${size(Math.min(mostHex, bytes.length - until))} more of ${size(bytes.length - until)}`;
  };
  if (mark === null) add(first);
  else add(Math.min(first, 128), Math.max(0, mark - (mark % 16) - 48));
  return h('div', {}, frame, more);
}

function textView(text) {
  return [
    h('pre', { class: 'raw', tabindex: '0', 'aria-label': 'Body' }, h('bdi', {}, visible(text.slice(0, mostText)))),
    text.length > mostText && hint(`${size(text.length - mostText)} more, which only Copy has`),
  ];
}

// The place of a byte in a body, marked: its line with what stands around it, or the rows of hex.
export function offsetView(bytes, offset) {
  if (asText(bytes) === null) return h('div', { class: 'place' }, hint(`Byte ${offset}`), hexView(bytes, 128, offset));
  const { line: number, column, before, after } = placeOf(bytes, offset);
  const cut = before.length > 60 ? `…${before.slice(-60)}` : before;
  const [sign = '', ...rest] = Array.from(after);
  const tail = rest.join('');
  return h('div', { class: 'place' },
    hint(`Byte ${offset}: line ${number}, column ${column}`),
    h('pre', { tabindex: '0', 'aria-label': 'Where the body is wrong' }, line(cut),
      h('mark', {}, unseen('here: '), sign !== '' ? line(sign) : offset >= bytes.length ? 'end of the body' : 'end of the line'),
      line(tail.length > 60 ? `${tail.slice(0, 60)}…` : tail)));
}

export const bytesOf = (body) => (body.base64 === null || body.base64 === undefined
  ? new TextEncoder().encode(body.text ?? '') : fromBase64(body.base64));

// A body as the contract has it, with the Content-Type that it came with. `marks` and `refused` tell of its fields, `announced` how long
// its head says that it is.
export function bodyView(body, ownType, { marks = null, refused = null, offset = null, announced = 0 } = {}) {
  if (!body || body.size === 0) return hint(announced > 0 ? `${size(announced)} announced, not read` : 'No body');
  const contentType = ownType ?? body.type ?? null;
  const facts = [
    announced > body.size ? `${size(body.size)} of ${size(announced)} announced` : size(body.size),
    body.encoding, body.coding && `was in ${line(body.coding)}`,
    !body.whole && `the first ${size(body.kept)} are kept`,
    body.masked > 0 && `${plural(body.masked, 'value')} masked as ***`,
  ].filter(Boolean);
  if (body.hidden) return hint(`${facts.join(', ')}. It is not shown: ${line(body.hidden)}.`);
  if (body.kept === 0) return hint(`${facts.join(', ')}. None of it is kept.`);

  const bytes = bytesOf(body);
  const text = body.text ?? null;
  const format = formatOf(contentType, body.encoding);
  const ways = [];
  const way = (name, make) => ways.push({ name, make });
  try {
    if (format === 'multipart') {
      const parts = multipartParts(bytes, contentType);
      if (parts) way('Parts', () => multipartView(parts, marks, refused, body.masked > 0));
    } else if (text !== null && body.whole && format === 'json') {
      jsonLines(text);
      way('Parsed', () => jsonView(text, marks, refused));
    } else if (text !== null && format === 'form') {
      way('Parsed', () => formView(text, marks, refused));
    }
  } catch { /* It isn't what it says, which is then to be seen as it is. */ }
  if (text !== null) way('Raw', () => textView(text));
  if (text === null) way('Hex', () => hexView(bytes));

  const content = h('div', {});
  const name = newId('way');
  const show = (chosen) => {
    if (marks) marks.seen.clear();
    content.replaceChildren(...[chosen.make()].flat().filter(Boolean));
  };
  show(ways[0]);
  return h('div', { class: 'body' },
    h('div', { class: 'bar' },
      hint(facts.join(', ')),
      ways.length > 1 && h('fieldset', { class: 'ways' }, h('legend', { class: 'unseen' }, 'How the body is shown'),
        ways.map((each, index) => h('label', {}, h('input', {
          type: 'radio', name, value: each.name, checked: index === 0, onchange: () => show(each),
        }), each.name))),
      text !== null && copyButton(() => text)),
    content,
    offset !== null && offset <= bytes.length && offsetView(bytes, offset));
}
