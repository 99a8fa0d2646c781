// A route that is being built: its members as Recast reads them, what is asked and changed of them, and the YAML made of it. The page
// reads no YAML: what is written by hand comes back from Recast as such members.
//
// A value is { text, quoted }, { list } or { members }, which are pairs of a key and a value, in their order.

export const text = (value) => ({ text: String(value), ...(/^(~|null|)$/.test(value) ? { quoted: true } : {}) });
const mapping = (...members) => ({ members });
const order = ['name', 'match', 'upstream', 'verify', 'rewrite', 'request', 'on_other_type', 'response', 'headers', 'limits', 'timeouts',
  'decode', 'remove', 'rename', 'set', 'append', 'map', 'fields', 'encode'];

export const newRoute = (upstream, path = '/new-route') => mapping(
  ['name', text('new-route')], ['match', mapping(['method', text('POST')], ['path', text(path)])], ['upstream', text(upstream)],
  ['request', mapping(['decode', mapping(['as', text('form')])], ['encode', mapping(['as', text('json')])])]);

export const copyOf = (tree) => JSON.parse(JSON.stringify(tree));

// The value behind keys; undefined where there is none.
export function find(tree, ...keys) {
  return keys.reduce((node, key) => node?.members?.find(([name]) => name === key)?.[1], tree);
}

// The single text there, or that of a list as it is typed into a field; null where it is more than that.
export function wordAt(tree, ...keys) {
  const node = find(tree, ...keys);
  if (node === undefined) return '';
  if (node.text !== undefined) return node.text;
  return node.list?.every((one) => one.text !== undefined) ? node.list.map((one) => one.text).join(', ') : null;
}

// Puts a value behind keys, or takes away what is there, and mappings that become empty by it.
export function put(tree, keys, value) {
  const [key, ...rest] = keys;
  const at = tree.members.findIndex(([name]) => name === key);
  if (rest.length > 0) {
    let inner = tree.members[at]?.[1];
    if (!inner?.members) {
      if (value === null) return;
      inner = mapping();
      insert(tree.members, key, inner, at);
    }
    put(inner, rest, value);
    if (inner.members.length === 0) put(tree, [key], null);
  } else if (value === null) {
    if (at >= 0) tree.members.splice(at, 1);
  } else {
    insert(tree.members, key, value, at);
  }
}
function insert(members, key, value, at) {
  if (at >= 0) {
    members[at][1] = value;
    return;
  }
  const rank = order.indexOf(key);
  const before = rank < 0 ? -1 : members.findIndex(([name]) => order.indexOf(name) > rank);
  members.splice(before < 0 ? members.length : before, 0, [key, value]);
}

// What is typed into a field: one text, or a list with commas between.
export function typed(value) {
  const words = value.split(',').map((word) => word.trim()).filter(Boolean);
  return words.length === 0 ? null : words.length === 1 ? text(words[0]) : { list: words.map(text) };
}

// `match` may be a path alone.
export function matchWord(tree, key) {
  const match = find(tree, 'match');
  if (match?.text !== undefined) return key === 'path' ? match.text : '';
  return wordAt(tree, 'match', key);
}
export function putMatch(tree, key, value) {
  const match = find(tree, 'match');
  if (match?.text !== undefined) put(tree, ['match'], mapping(['path', match]));
  put(tree, ['match', key], value);
}

// The rules of single fields. `places` is what Recast says of a field: `map`, where it came in, `now`, where the map has put it, and
// `fields`, where its type is declared.
const isWithin = (path, place) => path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
const membersOf = (tree, ...keys) => find(tree, ...keys)?.members ?? [];

export function renameField(tree, { now }, name) {
  const renames = membersOf(tree, 'request', 'map', 'rename');
  const known = renames.find(([, to]) => to.text === now);
  if (known && known[0] === name) put(tree, ['request', 'map', 'rename', name], null);
  else if (known) known[1] = text(name);
  else put(tree, ['request', 'map', 'rename', now], text(name));
  for (const member of membersOf(tree, 'request', 'fields')) {
    if (isWithin(member[0], now)) member[0] = name + member[0].slice(now.length);
  }
}

export function leaveOutField(tree, { map, now }) {
  const rules = find(tree, 'request', 'map', 'remove');
  const list = rules?.list ?? (rules ? [rules] : []);
  for (const [key] of [...membersOf(tree, 'request', 'fields')]) if (isWithin(key, now)) put(tree, ['request', 'fields', key], null);
  for (const [key, to] of [...membersOf(tree, 'request', 'map', 'rename')]) {
    if (isWithin(key, map) || to.text === now) put(tree, ['request', 'map', 'rename', key], null);
  }
  put(tree, ['request', 'map', 'remove'], { list: [...list, text(map)] });
}

// The path of the rule that left a field out, where one of the map did.
export const removalOf = (entry) => entry.rules.map((rule) => /^map\.remove (.+)$/s.exec(rule)?.[1]).find(Boolean) ?? null;

export function putBackField(tree, path) {
  const rules = find(tree, 'request', 'map', 'remove');
  const list = (rules?.list ?? (rules ? [rules] : [])).filter((one) => one.text !== path);
  put(tree, ['request', 'map', 'remove'], list.length ? { list } : null);
}

export const typeOf = (tree, { now, fields }) => wordAt(tree, 'request', 'fields', fields) || wordAt(tree, 'request', 'fields', now) || '';
export function typeField(tree, { now, fields }, type) {
  for (const key of new Set([now, fields])) put(tree, ['request', 'fields', key], null);
  if (type) put(tree, ['request', 'fields', type === 'array' ? now : fields], text(type));
}

// YAML. Quotes change nothing for a text that doesn't look like more than one, so whatever isn't plainly one gets them.
function isPlain(word) {
  return word.length <= 200 && /^(?:[\w/.$(~+]|-\w)/.test(word) && !word.endsWith(' ')
    && /^(?:[\w /.$()~+*@=;<>%-]|:(?=[\w/]))*$/.test(word);
}
function quoted(word) {
  return JSON.stringify(word).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, // eslint-disable-line no-control-regex
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
const key = (word) => (isPlain(word) ? word : quoted(word));
function scalar(node) {
  if (node.quoted) return quoted(node.text);
  return node.text === '' ? 'null' : isPlain(node.text) ? node.text : quoted(node.text);
}
const isText = (node) => node.text !== undefined;

// What stands in one line.
function short(node, room) {
  if (isText(node)) return scalar(node);
  const isList = node.list !== undefined;
  const values = isList ? node.list : node.members.map(([, value]) => value);
  if (values.length === 0) return isList ? '[]' : '{}';
  if (!values.every(isText)) return null;
  const words = isList ? values.map(scalar) : node.members.map(([name, value]) => `${key(name)}: ${scalar(value)}`);
  const line = isList ? `[${words.join(', ')}]` : `{ ${words.join(', ')} }`;
  return isList || line.length <= room ? line : null;
}
function lines(node, indent) {
  const lead = ' '.repeat(indent);
  if (node.list) {
    return node.list.flatMap((value) => {
      const line = short(value, 70 - indent);
      if (line !== null) return [`${lead}- ${line}`];
      const inner = lines(value, indent + 2);
      return value.list ? [`${lead}-`, ...inner] : [`${lead}- ${inner[0].slice(indent + 2)}`, ...inner.slice(1)];
    });
  }
  return node.members.flatMap(([name, value]) => {
    const line = short(value, 70 - indent);
    return line !== null ? [`${lead}${key(name)}: ${line}`] : [`${lead}${key(name)}:`, ...lines(value, indent + 2)];
  });
}

// `form(types: safe) -> json`, where nothing stands between the two sides.
function expression(request) {
  const sides = request.members?.map(([name, side]) => {
    const [first, ...options] = side.members ?? [];
    if (first?.[0] !== 'as' || !options.every(([, value]) => isText(value))) return null;
    const words = options.map(([option, value]) => `${key(option)}: ${scalar(value)}`);
    return [name, first[1].text + (words.length ? `(${words.join(', ')})` : '')];
  });
  if (sides?.length !== 2 || sides.some((side) => side === null)) return null;
  const both = Object.fromEntries(sides);
  return both.decode && both.encode ? text(`${both.decode} -> ${both.encode}`) : null;
}

// The members as YAML: what can be said shortly is.
export function yaml(tree) {
  const members = tree.members.map(([name, value]) => {
    if (name === 'request') return [name, expression(value) ?? value];
    return name === 'match' && value.members?.length === 1 && value.members[0][0] === 'path' ? [name, value.members[0][1]] : [name, value];
  });
  return `${lines(mapping(...members), 0).join('\n')}\n`;
}
