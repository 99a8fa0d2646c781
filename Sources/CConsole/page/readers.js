// Bodies as what they say: JSON as lines, forms as pairs, multipart bodies as parts, bytes as rows. Nothing here makes elements.

// Lines of JSON that JSON.parse takes: { depth, path, tokens: [[kind, text]] }. Numbers and strings keep their text, members their
// order, also those of one name, which values of JavaScript would not.
export function jsonLines(text) {
  JSON.parse(text);
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
  const lines = [];
  const stack = []; // { path, isArray, index, key }
  let current = { depth: 0, path: '', tokens: [] };
  const finish = () => {
    if (current.tokens.length) lines.push(current);
    current = { depth: stack.length, path: '', tokens: [] };
  };
  const here = () => {
    const top = stack.at(-1);
    if (!top) return '';
    if (top.isArray) return `${top.path}[${top.index}]`;
    return top.path ? `${top.path}.${top.key}` : top.key;
  };
  let match;
  let isKey = false;
  while ((match = token.exec(text))) {
    const word = match[0];
    if (word === '{' || word === '[') {
      const path = here();
      current.path ||= path;
      const close = word === '{' ? '}' : ']';
      const rest = /\s*(\S)/y;
      rest.lastIndex = token.lastIndex;
      if (rest.exec(text)?.[1] === close) {
        token.lastIndex = rest.lastIndex;
        current.tokens.push(['sign', word + close]);
        isKey = false;
        continue;
      }
      current.tokens.push(['sign', word]);
      stack.push({ path, isArray: word === '[', index: 0, key: '' });
      isKey = word === '{';
      finish();
    } else if (word === '}' || word === ']') {
      stack.pop();
      finish();
      current.tokens.push(['sign', word]);
      isKey = false;
    } else if (word === ',') {
      current.tokens.push(['sign', ',']);
      finish();
      const top = stack.at(-1);
      if (top.isArray) top.index += 1;
      else isKey = true;
    } else if (word === ':') {
      current.tokens.push(['sign', ': ']);
      isKey = false;
    } else if (isKey) {
      stack.at(-1).key = JSON.parse(word);
      current.path = here();
      current.tokens.push(['key', word]);
    } else {
      current.path ||= here();
      current.tokens.push([word[0] === '"' ? 'text' : /^[-\d]/.test(word) ? 'number' : 'word', word]);
    }
  }
  finish();
  return lines;
}

function unescaped(text) {
  const plain = text.replaceAll('+', ' ');
  try { return decodeURIComponent(plain); } catch { return plain; }
}

// Pairs of a form: { name, value }, a value of null where there is no `=`.
export function formPairs(text) {
  return text.split('&').filter((piece) => piece !== '').map((piece) => {
    const at = piece.indexOf('=');
    return at < 0 ? { name: unescaped(piece), value: null } : { name: unescaped(piece.slice(0, at)), value: unescaped(piece.slice(at + 1)) };
  });
}

const latin1 = (bytes) => {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return text;
};
export const utf8 = (bytes) => new TextDecoder().decode(bytes);

// UTF-8 without controls, or null.
export function asText(bytes) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    // eslint-disable-next-line no-control-regex
    return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

// How lines end: [[text, end], …], the last one without an end.
function linesOf(text) {
  const parts = text.split(/(\r\n|\r|\n)/);
  return parts.filter((_, at) => at % 2 === 0).map((part, at) => [part, parts[2 * at + 1] ?? '']);
}

// A text that was edited in a field of the page, which has LF for every line end, with the ends of the text that it was: lines before and
// behind what was changed keep theirs, those between end as the one before them; `first` where there is none.
export function withLineEnds(original, edited, first = null) {
  const old = linesOf(original);
  const rows = edited.split('\n');
  const isSame = (at, oldAt) => rows[at] === old[oldAt]?.[0];
  const most = Math.min(old.length, rows.length);
  let front = 0;
  while (front < most && isSame(front, front)) front += 1;
  let back = 0;
  while (back < most - front && isSame(rows.length - 1 - back, old.length - 1 - back)) back += 1;
  let end = first ?? (old[0][1] || '\n');
  return rows.map((row, at) => {
    if (at === rows.length - 1) return row;
    const kept = at < front ? old[at][1] : at >= rows.length - back ? old[at - rows.length + old.length][1] : '';
    end = kept || end;
    return row + end;
  }).join('');
}

// What is to be said of line ends that a field of the page doesn't show.
export function lineEndsHint(text) {
  const ends = new Set(linesOf(text).map(([, end]) => end).filter(Boolean));
  if (ends.size > 1) return 'Not all of its lines end alike: each keeps its end, and a new one ends as the line before it.';
  return ends.has('\r\n') ? 'Its lines end with CR LF.' : ends.has('\r') ? 'Its lines end with CR.' : '';
}

// One parameter of a field, as boundary of a Content-Type: a token or a quoted string.
export function parameter(value, name) {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, 'i').exec(value ?? '');
  return found ? found[1]?.replace(/\\(.)/g, '$1') ?? found[2] : null;
}

// The delimiters of a multipart body's text: { start, end, isLast }, with the line end in front, without the one behind. A line that begins with
// the boundary and goes on with anything but two hyphens, spaces and tabs is content (RFC 2046 §5.1.1). The text may be cut within one.
function delimiterLines(text, boundary) {
  const line = new RegExp(`(?:^|\\r\\n)--${boundary.replace(/\W/g, '\\$&')}(--|-$)?[ \\t]*(?=\\r\\n|\\r?$)`, 'g');
  return Array.from(text.matchAll(line), (found) => (
    { start: found.index, end: found.index + found[0].length, isLast: found[1] !== undefined }));
}

// Parts of a multipart body: { fields: [{ name, value }], name, filename, type, bytes, whole }. Null where it can't be read so.
export function multipartParts(bytes, contentType) {
  const boundary = parameter(contentType, 'boundary');
  if (!boundary) return null;
  const text = latin1(bytes);
  const parts = [];
  const delimiters = delimiterLines(text, boundary);
  if (!delimiters.length) return null;
  for (const [index, delimiter] of delimiters.entries()) {
    const lineEnd = delimiter.end;
    if (delimiter.isLast || lineEnd === text.length) break;
    const next = delimiters[index + 1];
    const end = next ? next.start : text.length;
    const headEnd = text.startsWith('\r\n', lineEnd + 2) ? lineEnd : text.indexOf('\r\n\r\n', lineEnd);
    if (headEnd < 0 || headEnd > end) break;
    const head = utf8(bytes.subarray(lineEnd + 2, Math.max(headEnd, lineEnd + 2)));
    const fields = head.split('\r\n').filter(Boolean).map((row) => {
      const colon = row.indexOf(':');
      return { name: row.slice(0, colon), value: row.slice(colon + 1).trim() };
    });
    const field = (name) => fields.find((one) => one.name.toLowerCase() === name)?.value ?? null;
    const disposition = field('content-disposition');
    parts.push({
      fields, name: parameter(disposition, 'name') ?? '', filename: parameter(disposition, 'filename'), type: field('content-type'),
      bytes: bytes.subarray(Math.min(headEnd + 4, end), end), whole: next !== undefined,
    });
  }
  return parts;
}

// Rows of a hex dump: { offset, hex: ['00', …], signs }.
export function hexRows(bytes, from, to) {
  const rows = [];
  for (let at = from - (from % 16); at < Math.min(to, bytes.length); at += 16) {
    const row = bytes.subarray(at, at + 16);
    rows.push({
      offset: at, hex: Array.from(row, (byte) => byte.toString(16).padStart(2, '0')),
      signs: Array.from(row, (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join(''),
    });
  }
  return rows;
}

// Where a byte of UTF-8 stands: { line, column, before, after, index }, both from 1, columns in characters, index in the text.
export function placeOf(bytes, offset) {
  const end = Math.max(0, Math.min(offset, bytes.length));
  let start = end;
  while (start > 0 && bytes[start - 1] !== 10) start -= 1;
  let rows = 1;
  for (let at = 0; at < start; at += 1) if (bytes[at] === 10) rows += 1;
  let stop = end;
  while (stop < bytes.length && bytes[stop] !== 10) stop += 1;
  const before = utf8(bytes.subarray(start, end));
  return {
    line: rows, column: Array.from(before).length + 1, before, after: utf8(bytes.subarray(end, stop)), index: utf8(bytes.subarray(0, end)).length,
  };
}

// How the text of a media type is read; null for what is shown as it is.
export function formatOf(contentType, encoding) {
  const type = (contentType ?? '').split(';')[0].trim().toLowerCase();
  if (type === 'application/json' || type.endsWith('+json') || type === 'text/json') return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'multipart/form-data') return 'multipart';
  return type === '' && ['json', 'form'].includes(encoding) ? encoding : null;
}
