// What a route, or a definition that isn't one yet, makes of a body; nothing is sent to an upstream.
import { fromBase64, get, post, toBase64 } from './api.js';
import { bodyView, Marks, offsetView } from './bodies.js';
import { copyButton, data, h, hint, labelled, later, line, plural, select, size } from './dom.js';
import { fieldsTable, linkFields } from './fields.js';
import { asText, placeOf } from './readers.js';
import { binarySample, samples } from './samples.js';

const mostBytes = 700_000; // In base64 still less than the 1 MiB that Recast takes.
const liveBytes = 64 * 1024; // Bodies up to this are converted while one writes.

export function showTry(main, query) {
  let way = 'route';
  let side = 'request';
  let file = null; // { name, bytes }: a body that isn't text.
  let isCRLF = false;
  let encodings = [];
  let running = null;
  let lastSaid = '';

  // One of two, as radio buttons.
  function choice(group, legend, chosen, values, onchange) {
    return h('fieldset', { class: 'ways' }, h('legend', { class: 'unseen' }, legend), values.map(([value, name]) => h('label', {},
      h('input', { type: 'radio', name: group, value, checked: value === chosen, onchange: () => onchange(value) }), name)));
  }

  // What converts.
  const route = select([['', 'Choose a route']], '', (value) => {
    history.replaceState(null, '', value ? `#/try?route=${encodeURIComponent(value)}` : '#/try');
    chooseSample();
  });
  const definition = h('textarea', { rows: '5', class: 'code', spellcheck: 'false', value: 'request: form -> json\n', oninput: () => {
    mistakes.replaceChildren();
    fromText();
    soon();
  } });
  const mistakes = h('ul', { class: 'mistakes' });
  const input = h('select', { onchange: () => fromBuilder(true) });
  const output = h('select', { onchange: () => fromBuilder(false) });
  const inputOptions = h('div', { class: 'options' });
  const outputOptions = h('div', { class: 'options' });
  const propose = h('button', { type: 'button', class: 'small', hidden: true, onclick: () => learn() }, 'Propose a definition by its bodies');
  const byRoute = h('div', { class: 'stack' }, labelled('Route', route), h('div', {}, propose));
  const byDefinition = h('div', { class: 'stack' },
    h('div', { class: 'row' }, labelled('From', input), labelled('To', output)),
    h('details', {}, h('summary', {}, 'Options'), h('div', { class: 'both' },
      h('fieldset', {}, h('legend', {}, 'How the input is read'), inputOptions),
      h('fieldset', {}, h('legend', {}, 'How the output is written'), outputOptions))),
    labelled('Definition', definition, 'YAML of a route, without its name, match and upstream: request, response, limits and what else it has.'),
    mistakes);
  const ways = choice('way', 'What converts', way, [['route', 'A route'], ['definition', 'A definition']], (value) => {
    way = value;
    drawWay();
    soon();
  });
  const sides = choice('side', 'Whose body', side, [['request', 'Of a request'], ['response', 'Of the upstream’s response']], (value) => {
    side = value;
    soon();
  });
  function drawWay() {
    byRoute.hidden = way !== 'route';
    byDefinition.hidden = way !== 'definition';
    for (const button of ways.querySelectorAll('input')) button.checked = button.value === way;
  }

  // The body.
  const body = h('textarea', { rows: '10', class: 'code', spellcheck: 'false', oninput: () => {
    file = null;
    drawFile();
    soon();
  } });
  const type = h('input', { list: 'types', spellcheck: 'false', autocomplete: 'off', oninput: () => {
    isCRLF = /^multipart\//i.test(type.value);
    drawFile();
    soon();
  } });
  const sample = h('select', { onchange: () => sample.value && takeSample(sample.value) },
    h('option', { value: '' }, 'Choose one'), [...samples, binarySample].map(([value, name]) => h('option', { value }, name)));
  const picker = h('input', { type: 'file', onchange: () => picker.files[0] && takeFile(picker.files[0]) });
  const fileNote = hint();
  const path = h('input', { spellcheck: 'false', autocomplete: 'off', placeholder: '/orders/7', oninput: () => soon() });
  const search = h('input', { spellcheck: 'false', autocomplete: 'off', placeholder: 'a=1&b=2', oninput: () => soon() });
  const fields = h('textarea', { rows: '2', class: 'code', spellcheck: 'false', placeholder: 'X-Tenant: acme', oninput: () => soon() });
  const drop = h('div', { class: 'drop' }, labelled('Body', body), fileNote, labelled('Or a file, which may be dropped here, too', picker));
  const more = h('details', {}, h('summary', {}, 'Path, query, header fields'),
    h('div', { class: 'row' }, labelled('Path', path), labelled('Query', search)), labelled('Header fields', fields, 'One “Name: value” a line'));
  const run = h('button', { type: 'submit', class: 'main' }, 'Convert');
  const form = h('form', { class: 'trying', onsubmit: (event) => {
    event.preventDefault();
    convert(true);
  } },
  h('section', { 'aria-labelledby': 'try-what' }, h('h2', { id: 'try-what' }, 'What converts'), ways, byRoute, byDefinition),
  h('section', { 'aria-labelledby': 'try-body' }, h('h2', { id: 'try-body' }, 'Body'), sides,
    h('div', { class: 'row' }, labelled('Content-Type', type), labelled('Sample', sample)),
    h('datalist', { id: 'types' }, samples.map(([, , value]) => h('option', { value }))),
    drop, more,
    h('div', { class: 'row' }, run, hint('Ctrl+Enter. Small bodies are converted while you write.'))));

  // What came out.
  const said = h('p', { class: 'unseen', role: 'status' });
  const result = h('div', { class: 'result' });
  main.replaceChildren(h('section', { class: 'page' },
    h('div', { class: 'titles' }, h('h1', { tabindex: '-1' }, 'Try it'), hint('Nothing is sent to an upstream, and nothing is kept.')),
    h('div', { class: 'trial' }, form, h('section', { class: 'outcome', 'aria-labelledby': 'try-result' },
      h('h2', { id: 'try-result' }, 'Result'), said, result))));
  nothingYet();

  function nothingYet() {
    const isOpen = way === 'route' && !route.value;
    result.replaceChildren(hint(isOpen ? 'Choose a route, or a definition, and put in a body.' : 'Put in a body, or choose a sample.'));
  }
  function tell(text) {
    if (text !== lastSaid) said.textContent = text;
    lastSaid = text;
  }

  const bytes = () => file?.bytes ?? new TextEncoder().encode(isCRLF ? body.value.replace(/\r?\n/g, '\r\n') : body.value);
  function drawFile() {
    body.readOnly = file !== null;
    fileNote.replaceChildren(file === null ? (isCRLF ? 'Its lines end with CR LF, as those of a multipart body do.' : '')
      : h('span', {}, line(file.name), `, ${size(file.bytes.length)}, is no text and goes as it is. `, h('button', { type: 'button', class: 'small', onclick: () => {
        file = null;
        body.value = '';
        picker.value = '';
        drawFile();
        body.focus();
      } }, 'Take it away')));
  }
  function takeBytes(name, content) {
    const text = asText(content);
    file = text === null || text.includes('\r') && !/\r\n/.test(text) ? { name, bytes: content } : null;
    isCRLF = text !== null && /\r\n/.test(text);
    body.value = file === null ? text : '';
    drawFile();
    soon();
  }
  async function takeFile(chosen) {
    if (chosen.size > mostBytes) {
      const most = size(mostBytes);
      fileNote.textContent = `${line(chosen.name)} has ${size(chosen.size)}; a body to try has at most ${most}. recast explain takes larger ones.`;
      return;
    }
    if (!type.value) type.value = chosen.type || 'application/octet-stream';
    takeBytes(chosen.name, new Uint8Array(await chosen.arrayBuffer()));
  }
  function takeSample(name) {
    const [, title, media, text] = [...samples, binarySample].find(([value]) => value === name);
    type.value = media;
    sample.value = name;
    takeBytes(title, name === 'bplist' ? fromBase64(text) : new TextEncoder().encode(text));
  }
  // A body of the type that the input takes, where there is none of one's own.
  function chooseSample() {
    const isSample = [...samples].some(([, , , text]) => text.replaceAll('\r\n', '\n') === body.value);
    if (body.value !== '' && !isSample || file !== null && file.name !== binarySample[1]) return soon();
    const name = way === 'route' ? reads.get(route.value) : input.value;
    if (name === 'query') { // Its input is no body.
      search.value ||= samples[0][3];
      more.open = true;
    }
    if (name && [...samples, binarySample].some(([value]) => value === name)) takeSample(name);
    else soon();
  }

  // The definition from lists.
  function drawOptions(frame, encoding, side) {
    const options = encoding?.options.filter((option) => option[side]) ?? [];
    frame.replaceChildren(...options.map((option) => {
      const members = { data: { option: option.name } };
      const first = `${option.default ?? 'default'}${option.default !== null && option.default !== undefined ? ' (default)' : ''}`;
      const others = option.values?.filter((value) => value !== option.default);
      const control = option.values
        ? select([['', first], ...others.map((value) => [value, value])], '', () => fromOptions(), members)
        : h('input', { ...members, spellcheck: 'false', autocomplete: 'off', placeholder: option.default ?? '', oninput: () => fromOptions() });
      return labelled(option.name, control);
    }));
    if (options.length === 0) frame.replaceChildren(hint('None'));
  }
  function expression(encoding, frame) {
    const chosen = [...frame.querySelectorAll('[data-option]')].filter((control) => control.value.trim() !== '')
      .map((control) => `${control.dataset.option}: ${control.value.trim()}`);
    return encoding + (chosen.length ? `(${chosen.join(', ')})` : '');
  }
  function fromOptions() {
    if (/^request:\s*$/m.test(definition.value)) {
      mistakes.replaceChildren(h('li', {}, 'The definition has the long form of “request”: change it there, or take those lines away.'));
      return;
    }
    const words = `${expression(input.value, inputOptions)} -> ${expression(output.value, outputOptions)}`;
    // A colon in it would begin a mapping of YAML's.
    const text = `request: ${words.includes(':') ? `'${words.replaceAll("'", "''")}'` : words}`;
    const rows = definition.value.split('\n');
    const at = rows.findIndex((row) => /^request:\s*\S/.test(row));
    if (at < 0) rows.unshift(text);
    else rows[at] = text;
    definition.value = rows.join('\n');
    soon();
  }
  const drawInput = () => drawOptions(inputOptions, encodings.find((one) => one.name === input.value), 'reads');
  const drawOutput = () => drawOptions(outputOptions, encodings.find((one) => one.name === output.value), 'writes');
  // The lists follow what is written by hand, as far as they have it.
  function fromText() {
    const found = /^request:\s*['"]?([a-z]+)(?:\(([^()]*)\))?\s*->\s*([a-z]+)(?:\(([^()]*)\))?['"]?\s*$/m.exec(definition.value);
    if (!found) return;
    const [, from, read, to, written] = found;
    const both = [[input, from, drawInput, inputOptions, read], [output, to, drawOutput, outputOptions, written]];
    for (const [list, name, draw, frame, text] of both) {
      if (![...list.options].some((option) => option.value === name)) continue;
      if (list.value !== name) {
        list.value = name;
        draw();
      }
      const chosen = new Map((text ?? '').split(',').map((pair) => pair.split(':').map((word) => word.trim())));
      for (const control of frame.querySelectorAll('[data-option]')) control.value = chosen.get(control.dataset.option) ?? '';
    }
  }
  function fromBuilder(isInput) {
    if (isInput) drawInput();
    else drawOutput();
    fromOptions();
    if (isInput) chooseSample();
  }

  // Asks Recast.
  const soon = later(300, () => bytes().length <= liveBytes && convert(false));
  async function convert(isAsked) {
    soon.cancel();
    const content = bytes();
    if (way === 'route' && !route.value) {
      nothingYet();
      if (isAsked) route.focus();
      return;
    }
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    const text = asText(content);
    const value = {
      ...(way === 'route' ? { route: route.value } : { definition: definition.value }), type: type.value.trim() || null, side,
      path: path.value.trim() || null, query: search.value.trim() || null,
      headers: fields.value.split('\n').map((row) => row.trim()).filter(Boolean),
      ...(text === null ? { base64: toBase64(content) } : { body: text }),
    };
    try {
      draw(await post('/console/try', value, signal), content, value.type);
    } catch (fault) {
      if (signal.aborted || fault.status === 401) return;
      drawFault(fault, content);
    }
  }

  function draw(answer, content, media) {
    const { output: made, explanation } = answer;
    mistakes.replaceChildren();
    const marks = (side) => (explanation ? new Marks(explanation, side) : null);
    const sent = text(content);
    result.replaceChildren(...[
      h('p', { class: 'good' }, h('strong', {}, 'It becomes '), h('code', {}, line(made?.type ?? 'a body as it is'))),
      made && h('div', { class: 'sides' },
        h('section', { class: 'side' }, h('h3', {}, 'What comes in'), bodyView(sent, media, { marks: marks('from') })),
        h('section', { class: 'side' }, h('h3', {}, 'What goes on'), bodyView(made.body, made.type, { marks: marks('to') }))),
      fieldsTable(explanation),
      explanation?.request && requestLine(explanation.request),
      answer.yaml && yamlView(answer.yaml),
    ].filter(Boolean));
    tell(`Converted: ${size(made?.body?.size ?? 0)} of ${made?.type ?? 'the same type'}`);
  }
  function text(content) {
    const read = asText(content);
    const base64 = read === null ? toBase64(content) : null;
    return { size: content.length, kept: content.length, whole: true, text: read, base64, masked: 0, coding: null, encoding: null };
  }
  function requestLine(request) {
    const head = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    return h('details', {}, h('summary', {}, 'What the upstream would get'),
      h('pre', { class: 'raw', tabindex: '0', 'aria-label': 'Request head' },
        [`${request.method} ${request.target}`, ...head].map(line).join('\n')));
  }

  // What Recast makes of the bodies that the route has had: a definition to go on with.
  async function learn() {
    if (!route.value) {
      route.focus();
      return;
    }
    try {
      const learnt = await get(`/console/learn?route=${encodeURIComponent(route.value)}`);
      soon.cancel();
      way = 'definition';
      definition.value = learnt.definition ?? learnt.yaml ?? '';
      definition.rows = Math.min(20, Math.max(5, definition.value.split('\n').length));
      mistakes.replaceChildren();
      drawWay();
      fromText();
      drawLearnt(learnt);
    } catch (fault) {
      if (fault.status !== 401) drawFault(fault, new Uint8Array());
    }
  }
  function drawLearnt(learnt) {
    const columns = ['Field', 'Values', 'In bodies', 'Proposed'];
    const left = Object.entries(learnt.unreadable ?? {}).map(([reason, number]) => `${plural(number, 'body', 'bodies')}: ${line(reason)}`);
    result.replaceChildren(...[
      h('p', { class: 'good' }, h('strong', {}, 'Proposed '), `by ${plural(learnt.exchanges, 'body', 'bodies')} of ${line(learnt.route)}`),
      hint('The definition stands on the left: look through it, then try a body.'),
      h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Fields' }, h('table', {},
        h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, learnt.fields.map((field) => h('tr', {},
          h('td', {}, field.kind === 'file' && h('span', { class: 'tag' }, 'file'), data(field.path ?? '')),
          h('td', {}, line([...(field.values ?? []), ...(field.media_types ?? [])].join(', ')), field.repeats && h('span', { class: 'tag' }, 'repeats')),
          h('td', { class: 'number' }, String(field.bodies ?? '')), h('td', {}, field.type ? line(field.type) : '–')))))),
      left.length > 0 && hint(`Could not be read: ${left.join(', ')}`),
      learnt.left_out > 0 && hint(`${plural(learnt.left_out, 'field')} more than are shown`),
      learnt.yaml && yamlView(learnt.yaml),
    ].filter(Boolean));
    tell(`Proposed a definition by ${learnt.exchanges} bodies`);
  }
  const yamlView = (yaml) => h('section', {}, h('div', { class: 'titles' }, h('h3', {}, 'As a route'), copyButton(() => yaml, 'Copy YAML')),
    h('pre', { class: 'raw', tabindex: '0', 'aria-label': 'The route as YAML' }, yaml));

  function drawFault(fault, content) {
    const { answer } = fault;
    const offset = Number.isInteger(answer.offset) ? answer.offset : null;
    mistakes.replaceChildren(...(answer.mistakes ?? []).map((mistake) => h('li', {},
      h('button', { type: 'button', class: 'plain', onclick: () => goTo(definition, mistake.line, mistake.column) },
        `Line ${mistake.line}, column ${mistake.column}`),
      ` ${line(mistake.message)}${mistake.hint && !mistake.message.includes(mistake.hint) ? `; ${line(mistake.hint)}` : ''}`)));
    result.replaceChildren(...[
      h('div', { class: 'problem' }, h('p', {}, h('strong', {}, 'It is refused: '), line(fault.message), ' ',
        answer.code && h('code', {}, line(answer.code)))),
      offset !== null && offsetView(content, offset),
      offset !== null && file === null && h('button', { type: 'button', class: 'small', onclick: () => {
        const { index } = placeOf(content, offset);
        // A field's own text has one sign for each line end.
        const at = isCRLF ? index - (new TextDecoder().decode(content).slice(0, index).match(/\r\n/g)?.length ?? 0) : index;
        body.focus();
        body.setSelectionRange(at, at + 1);
      } }, 'Go there in the body'),
      (answer.mistakes ?? []).length > 0 && hint('The places stand below the definition.'),
      answer.explanation && fieldsTable(answer.explanation, answer.field),
    ].filter(Boolean));
    tell(`Refused: ${fault.message}`);
  }
  function goTo(field, number, column) {
    const rows = field.value.split('\n');
    const at = rows.slice(0, number - 1).reduce((sum, row) => sum + row.length + 1, 0) + Math.max(0, column - 1);
    field.focus();
    field.setSelectionRange(at, at + 1);
  }

  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) convert(true);
  });
  drop.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    if (event.dataTransfer.files[0]) takeFile(event.dataTransfer.files[0]);
  });
  linkFields(result);
  drawWay();
  drawFile();

  const reads = new Map(); // What a route reads, by its name.
  Promise.all([get('/console/routes'), get('/console/options')]).then(([list, known]) => {
    for (const one of list.routes) if (one.request && one.request !== 'forward') reads.set(one.name, /^[a-z]+/.exec(one.request)?.[0]);
    const converting = list.routes.filter((one) => reads.has(one.name));
    const others = list.routes.filter((one) => !reads.has(one.name));
    route.append(...converting.map((one) => h('option', { value: one.name }, `${line(one.name)}: ${line(one.request)}`)),
      ...others.map((one) => h('option', { value: one.name }, `${line(one.name)}: as it is`)));
    encodings = known.encodings;
    input.append(...encodings.filter((one) => one.reads).map((one) => h('option', { value: one.name, selected: one.name === 'form' }, one.name)));
    output.append(...encodings.filter((one) => one.writes).map((one) => h('option', { value: one.name, selected: one.name === 'json' }, one.name)));
    drawInput();
    drawOutput();
    fromText();
    if (converting.length === 0) {
      way = 'definition';
      drawWay();
    }
    update(query);
  }).catch((fault) => {
    if (fault.status !== 401) result.replaceChildren(h('div', { class: 'problem' }, h('p', { role: 'alert' }, fault.message)));
  });

  // A Recast that learns says so among its paths.
  get('/').then((list) => {
    propose.hidden = !list.endpoints.some((one) => one.path.startsWith('/console/learn'));
  }).catch(() => { /* Then it isn't offered. */ });

  function update(next) {
    const name = next.get('route');
    if (!name) return;
    way = 'route';
    route.value = name;
    drawWay();
    chooseSample();
  }
  return { update, hide: () => {
    soon.cancel();
    running?.abort();
  } };
}
