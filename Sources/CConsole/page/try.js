// What a route, or a definition that isn't one yet, makes of a body; nothing is sent to an upstream.
import { fromBase64, get, post, toBase64 } from './api.js';
import { bodyView, Marks, offsetView } from './bodies.js';
import { copyButton, data, h, hint, labelled, later, line, plural, select, size } from './dom.js';
import { fieldsTable, linkFields } from './fields.js';
import { about, types } from './options.js';
import { asText, lineEndsHint, placeOf, withLineEnds } from './readers.js';
import * as building from './route.js';
import { samples } from './samples.js';

const mostBytes = 700_000; // In base64 still less than the 1 MiB that Recast takes.
const liveBytes = 64 * 1024; // Bodies up to this are converted while one writes.

// What was put in and built, while another view is shown: nobody should have to write it twice.
let left = null;

export function showTry(main, query) {
  const restored = left;
  let asking = query; // What the address said last, which may be before there are lists to choose from.
  let way = restored?.way ?? 'route';
  let side = restored?.side ?? 'request';
  let file = restored?.file ?? null; // { name, bytes }: a body that isn't text.
  let taken = restored?.taken ?? ''; // The text that the body was, with its line ends.
  let encodings = [];
  let running = null;
  let lastSaid = '';
  let tree = restored?.tree ?? building.newRoute('app'); // The new route, as it was read last.
  let isByHand = false; // Its text was changed and hasn't been read since.
  let treeText = ''; // The text that it was read from, or that was made of it.
  let before = restored?.before ?? []; // Both, before each change.
  let leftOut = restored?.leftOut ?? []; // What a copy lacks of a route that serves.
  let begun = restored?.begun ?? ''; // The route that serves, and that the new one is a copy of.
  let returnTo = null; // The field whose row gets the focus back.

  // One of two, as radio buttons.
  function choice(group, legend, chosen, values, onchange) {
    return h('fieldset', { class: 'ways' }, h('legend', { class: 'unseen' }, legend), values.map(([value, name]) => h('label', {},
      h('input', { type: 'radio', name: group, value, checked: value === chosen, onchange: () => onchange(value) }), name)));
  }

  // What converts.
  const route = select([['', 'Choose a route']], '', (value) => {
    history.replaceState(null, '', value ? `#/try?route=${encodeURIComponent(value)}` : '#/try');
    // They were for the route before.
    for (const control of [path, search]) control.value = '';
    closeRows();
    askRecorded();
    chooseSample();
  });
  const field = (members) => h('input', { spellcheck: 'false', autocomplete: 'off', ...members });
  const name = field({ oninput: () => change((next) => building.put(next, ['name'], building.text(name.value.trim())), true) });
  const method = field({ placeholder: 'any', list: 'methods', oninput: () => change((next) => (
    building.putMatch(next, 'method', building.typed(method.value.toUpperCase()))), true) });
  const matched = field({ placeholder: '/*', oninput: () => {
    path.value = ''; // It was one that the pattern before takes.
    change((next) => building.putMatch(next, 'path', matched.value.trim() ? building.text(matched.value.trim()) : null), true);
  } });
  const upstream = h('select', { onchange: () => change((next) => building.put(next, ['upstream'], building.text(upstream.value))) });
  const begin = h('select', {},
    h('option', { value: '' }, 'A form to JSON'), h('option', { value: 'example' }, 'An example with map and fields'));
  const definition = h('textarea', { rows: '6', class: 'code', spellcheck: 'false', oninput: () => {
    isByHand = true;
    drawLists();
    soon();
  } });
  const byHand = h('p', { class: 'hint byhand', role: 'status' });
  const mistakes = h('ul', { class: 'mistakes' });
  const input = h('select', { onchange: () => chooseSide('decode', input.value) });
  const output = h('select', { onchange: () => chooseSide('encode', output.value) });
  const inputOptions = h('div', { class: 'options' });
  const outputOptions = h('div', { class: 'options' });
  const undo = h('button', { type: 'button', class: 'small', disabled: true, onclick: () => {
    const last = before.pop();
    ({ tree, leftOut } = last);
    drawTree(false, last.text);
    convert(false);
  } }, 'Undo the last change');
  const propose = h('button', { type: 'button', class: 'small', disabled: true, onclick: () => learn() }, 'Propose from recorded requests');
  const proposed = h('span', { class: 'hint', role: 'status' });
  const proposal = h('div', { class: 'row propose', hidden: true }, propose, proposed);
  const byRoute = h('div', { class: 'stack' }, labelled('Route', route));
  const byDefinition = h('div', { class: 'stack' },
    h('div', { class: 'row' }, labelled('Begin with', begin), h('button', { type: 'button', onclick: () => beginWith(begin.value) }, 'Begin')),
    h('div', { class: 'row' }, labelled('Name', name), labelled('Upstream', upstream)),
    h('div', { class: 'row' }, labelled('Method', method), labelled('Path of its requests', matched)),
    h('datalist', { id: 'methods' }, ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'].map((value) => h('option', { value }))),
    h('div', { class: 'row' }, labelled('From', input), labelled('To', output)));
  const lists = h('details', {}, h('summary', {}, 'Options of From and To'),
    h('fieldset', {}, h('legend', {}, 'How the input is read'), inputOptions),
    h('fieldset', {}, h('legend', {}, 'How the output is written'), outputOptions));
  const asDefinition = h('section', { 'aria-labelledby': 'try-definition' },
    h('div', { class: 'titles' }, h('h2', { id: 'try-definition' }, 'Definition'), undo),
    lists, byHand, labelled('The route as YAML, to be edited, too', definition), mistakes);
  const ways = choice('way', 'What converts', way, [['route', 'A route that serves'], ['definition', 'A new route']], (value) => {
    way = value;
    drawWay();
    closeRows();
    askRecorded();
    soon();
  });
  const sides = choice('side', 'Whose body', side, [['request', 'Of a request'], ['response', 'Of the upstream’s response']], (value) => {
    side = value;
    soon();
  });
  function drawWay() {
    const isNew = way === 'definition';
    byRoute.hidden = isNew;
    byDefinition.hidden = !isNew;
    asDefinition.hidden = !isNew;
    title.textContent = isNew ? 'New route' : 'Try it';
    document.title = `${title.textContent} – Recast console`;
    for (const button of ways.querySelectorAll('input')) button.checked = button.value === way;
  }

  // The body.
  const body = h('textarea', { rows: '10', class: 'code', spellcheck: 'false', oninput: () => {
    file = null;
    if (body.value === '') taken = '';
    drawFile();
    soon();
  } });
  const type = h('input', { list: 'types', spellcheck: 'false', autocomplete: 'off', oninput: () => {
    drawFile();
    soon();
  } });
  const sample = h('select', { onchange: () => sample.value && takeSample(sample.value) },
    h('option', { value: '' }, 'Choose one'), samples.map(([value, name]) => h('option', { value }, name)));
  const picker = h('input', { type: 'file', onchange: () => picker.files[0] && takeFile(picker.files[0]) });
  const fileNote = hint();
  const path = h('input', { spellcheck: 'false', autocomplete: 'off', placeholder: '/orders/7', oninput: () => soon() });
  const search = h('input', { spellcheck: 'false', autocomplete: 'off', placeholder: 'a=1&b=2', oninput: () => soon() });
  const fields = h('textarea', { rows: '2', class: 'code', spellcheck: 'false', placeholder: 'X-Tenant: acme', oninput: () => soon() });
  const drop = h('div', { class: 'drop' }, labelled('Body', body), fileNote, labelled('Or a file, which may be dropped here, too', picker));
  const more = h('details', {}, h('summary', {}, 'Path, query and header fields of the sample'),
    h('div', { class: 'row' }, labelled('Path', path), labelled('Query', search)), labelled('Header fields', fields, 'One “Name: value” a line'));
  const run = h('button', { type: 'submit', class: 'main' }, 'Convert');
  const form = h('form', { class: 'trying', onsubmit: (event) => {
    event.preventDefault();
    convert(true);
  } },
  h('section', { 'aria-labelledby': 'try-what' }, h('h2', { id: 'try-what' }, 'What converts'), ways, byRoute, byDefinition, proposal),
  h('section', { 'aria-labelledby': 'try-body' }, h('h2', { id: 'try-body' }, 'Body'), sides,
    h('div', { class: 'row' }, labelled('Content-Type', type), labelled('Sample', sample)),
    h('datalist', { id: 'types' }, [...new Set(samples.map(([, , media]) => media))].map((value) => h('option', { value }))),
    drop, more,
    h('div', { class: 'row' }, run, hint('Ctrl+Enter. Small bodies are converted while you write.'))),
  asDefinition);

  // What came out.
  const said = h('p', { class: 'unseen', role: 'status' });
  const result = h('div', { class: 'result' });
  const title = h('h1', { tabindex: '-1' }, 'Try it');
  main.replaceChildren(h('section', { class: 'page' },
    h('div', { class: 'titles' }, title, hint('Nothing is sent to an upstream, and nothing is kept.')),
    h('div', { class: 'trial' }, form, h('section', { class: 'outcome', 'aria-labelledby': 'try-result' },
      h('h2', { id: 'try-result' }, 'Result'), said, result))));
  nothingYet();

  function nothingYet() {
    const isOpen = way === 'route' && !route.value;
    result.replaceChildren(hint(isOpen ? 'Choose a route, or build a new one, and put in a body.' : 'Put in a body, or choose a sample.'));
  }
  function tell(text) {
    if (text !== lastSaid) said.textContent = text;
    lastSaid = text;
  }

  const written = () => withLineEnds(taken, body.value, /^multipart\//i.test(type.value) ? '\r\n' : null);
  const bytes = () => file?.bytes ?? new TextEncoder().encode(written());
  function drawFile() {
    body.readOnly = file !== null;
    fileNote.replaceChildren(file === null ? lineEndsHint(written())
      : h('span', {}, line(file.name), `, ${size(file.bytes.length)}, is no text and goes as it is. `, h('button', { type: 'button', class: 'small', onclick: () => {
        file = null;
        taken = '';
        body.value = '';
        picker.value = '';
        drawFile();
        body.focus();
      } }, 'Take it away')));
  }
  function takeBytes(name, content) {
    const text = asText(content);
    file = text === null ? { name, bytes: content } : null;
    taken = text ?? '';
    body.value = taken;
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
  function takeSample(word) {
    const [, called, media, text, coding] = samples.find(([value]) => value === word);
    type.value = media;
    sample.value = word;
    takeBytes(called, coding === 'base64' ? fromBase64(text) : new TextEncoder().encode(text));
  }
  // A body of the type that the input takes, where there is none of one's own.
  function chooseSample() {
    const isSample = samples.some(([, called, , text, coding]) => (
      coding ? file !== null && called === file.name : text.replaceAll('\r\n', '\n') === body.value));
    if ((body.value !== '' || file !== null) && !isSample) return soon();
    const word = way === 'route' ? reads.get(route.value) : input.value;
    if (word === 'query') { // Its input is no body.
      search.value ||= samples[0][3];
      more.open = true;
    }
    if (word && samples.some(([value]) => value === word)) takeSample(word);
    else soon();
  }

  // The new route. Lists, fields and rows change `tree`, and the text is made of it; a text that was edited by hand comes back as a
  // tree when Recast has read it, and the lists follow.
  const listed = [name, method, matched, upstream, input, output];
  function change(work, isTyped = false) {
    const next = building.copyOf(tree);
    work(next);
    // One word that is being typed is one change.
    const typing = isTyped ? document.activeElement : null;
    if (typing === null || before.at(-1)?.typing !== typing) keep(typing);
    tree = next;
    drawTree(isTyped);
    soon();
  }
  function keep(typing = null) {
    before = [...before.slice(-50), { tree, text: treeText, leftOut, typing }];
  }
  function drawTree(isTyped = false, written = building.yaml(tree)) {
    isByHand = false;
    treeText = written;
    definition.value = written;
    mistakes.replaceChildren();
    drawLists(isTyped);
    growDefinition();
  }
  function growDefinition() {
    definition.rows = Math.min(24, Math.max(6, definition.value.split('\n').length));
  }
  // The result isn't that of what stands on the left any more, until it comes anew.
  function closeRows() {
    running?.abort();
    result.querySelector('.changes')?.remove();
    for (const button of result.querySelectorAll('.opens')) Object.assign(button, { disabled: true, ariaExpanded: 'false' });
  }
  // The lists by the tree; while the text isn't read they wait.
  function drawLists(isTyped = false) {
    growDefinition();
    undo.disabled = before.length === 0;
    if (!isTyped) {
      const show = (control, value) => {
        if (document.activeElement !== control || control.tagName === 'SELECT') control.value = value ?? '';
      };
      show(name, building.wordAt(tree, 'name'));
      show(method, building.matchWord(tree, 'method'));
      show(matched, building.matchWord(tree, 'path'));
      const word = building.wordAt(tree, 'upstream');
      if (word && ![...upstream.options].some((one) => one.value === word)) upstream.append(h('option', { value: word }, line(word)));
      show(upstream, word);
      show(input, building.wordAt(tree, 'request', 'decode', 'as'));
      show(output, building.wordAt(tree, 'request', 'encode', 'as'));
      drawOptions(inputOptions, 'decode', 'reads');
      drawOptions(outputOptions, 'encode', 'writes');
    }
    for (const control of listed) control.disabled = isByHand;
    for (const control of lists.querySelectorAll('[data-option]')) control.disabled = isByHand || control.dataset.fixed !== undefined;
    // Rows of a result that isn't that of the text would change what was before it.
    if (isByHand) closeRows();
    const isWrong = mistakes.childElementCount > 0;
    byHand.replaceChildren(...(!isByHand ? [] : [
      isWrong ? 'Edited by hand, with a mistake: the lists wait until it is mended. ' : 'Edited by hand: the lists wait until it is converted. ',
      h('button', { type: 'button', class: 'small', onclick: () => {
        drawTree(false, treeText);
        definition.focus();
        convert(false);
      } }, 'Start over from the lists')]));
  }
  function drawOptions(frame, key, way) {
    const encoding = encodings.find((one) => one.name === building.wordAt(tree, 'request', key, 'as'));
    const options = encoding?.options.filter((option) => option[way]) ?? [];
    const set = (option, value) => change((next) => building.put(next, ['request', key, option.name], building.typed(value)));
    const drawn = options.map((option) => {
      const word = building.wordAt(tree, 'request', key, option.name);
      const members = { data: { option: option.name, ...(word === null ? { fixed: '' } : {}) } };
      const first = option.default === null || option.default === undefined ? 'default' : `${option.default}, as usual`;
      const values = (option.values ?? []).filter((value) => value !== option.default);
      if (word && option.values && !values.includes(word)) values.push(word);
      const control = option.values && word !== null
        ? select([['', first], ...values.map((value) => [value, value])], word, (value) => set(option, value), members)
        : h('input', { ...members, spellcheck: 'false', autocomplete: 'off', placeholder: option.default ?? '',
          value: word ?? 'as in the definition', onchange: (event) => set(option, event.target.value) });
      return labelled(`${option.name}${option.name === 'files' ? (key === 'decode' ? ' that come in' : ' that go out') : ''}`, control, about[option.name]);
    });
    const now = document.activeElement?.closest?.('.options') === frame ? document.activeElement.dataset.option : null;
    frame.replaceChildren(...(drawn.length ? drawn : [hint('None')]));
    if (now) frame.querySelector(`[data-option="${now}"]`)?.focus();
  }
  function chooseSide(key, word) {
    const found = encodings.find((one) => one.name === word);
    change((next) => {
      const options = building.find(next, 'request', key)?.members ?? [];
      const known = options.filter(([option]) => option !== 'as' && found?.options.some((one) => (
        one.name === option && one[key === 'decode' ? 'reads' : 'writes'])));
      building.put(next, ['request', key], { members: [['as', building.text(word)], ...known] });
      const other = key === 'decode' ? 'encode' : 'decode';
      if (!building.find(next, 'request', other)) building.put(next, ['request', other, 'as'], building.text((key === 'decode' ? output : input).value || 'json'));
    });
    if (key === 'decode') chooseSample();
  }
  // Another beginning: an example, or what a route that serves has.
  async function beginWith(word) {
    begun = '';
    const first = upstream.options[0]?.value ?? 'app';
    if (word.startsWith('route ')) {
      const copied = word.slice('route '.length);
      begun = copied;
      try {
        const answer = await post('/console/try', { route: copied }).catch((fault) => {
          if (fault.answer?.tree) return fault.answer;
          throw fault;
        });
        takeTree(answer.tree, answer.left_out);
      } catch (fault) {
        if (fault.status !== 401) drawFault(fault, new Uint8Array());
        return;
      }
    } else {
      const next = building.newRoute(first);
      if (word === 'example') {
        building.put(next, ['request', 'map'], { members: [['remove', { list: [building.text('note')] }], ['rename', { members: [['user.born', building.text('user.year')]] }]] });
        building.put(next, ['request', 'fields'], { members: [['user.year', building.text('integer')]] });
      }
      takeTree(next);
    }
    askRecorded();
    chooseSample();
  }
  function takeTree(next, missing = []) {
    keep();
    tree = next;
    leftOut = missing;
    drawTree();
  }

  // What a field's row holds when it is opened.
  function changes(entry, close) {
    const { places } = entry;
    const removal = building.removalOf(entry);
    const of = way === 'route' ? lastTree : tree;
    const isFlat = ['form', 'multipart', 'query', 'text', 'raw', 'auto'].includes(building.wordAt(of, 'request', 'encode', 'as'));
    const apply = (work) => {
      returnTo = entry.from;
      if (way === 'route') {
        // A route that serves isn't changed: a new one begins as its copy.
        begun = route.value;
        begin.value = `route ${begun}`;
        way = 'definition';
        takeTree(building.copyOf(lastTree), lastLeftOut);
        drawWay();
        askRecorded();
      }
      change(work);
      convert(false);
    };
    const called = field({ value: places.now });
    const declared = building.typeOf(of, places);
    const wanted = select(types, declared, () => {});
    return h('form', { class: 'row', onsubmit: (event) => {
      event.preventDefault();
      const word = called.value.trim() || places.now;
      if (word === places.now && wanted.value === declared) {
        close();
        return;
      }
      apply((next) => {
        const moved = { ...places, now: word, fields: word + places.fields.slice(places.now.length) };
        if (word !== places.now) building.renameField(next, places, word);
        if (wanted.value !== declared) building.typeField(next, moved, wanted.value);
      });
    } },
    removal === null && [
      labelled(`New name of ${line(places.now)}`, called),
      entry.kind === 'field' && !isFlat && labelled('Type', wanted),
      h('button', { type: 'submit' }, 'Apply'),
      h('button', { type: 'button', onclick: () => apply((next) => building.leaveOutField(next, places)) }, 'Leave out')],
    removal !== null && h('button', { type: 'button', onclick: () => apply((next) => building.putBackField(next, removal)) }, 'Put back'),
    h('button', { type: 'button', onclick: close }, 'Close'),
    /\[\*\]/.test(places.map) && hint('[*] is each element of the list.'),
    way === 'route' && hint(`This makes a new route, a copy of ${line(route.value)}; the one that serves stays as it is.`));
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
    const sentText = definition.value;
    const isOfRoute = way === 'route';
    const text = asText(content);
    const value = {
      ...(way === 'route' ? { route: route.value } : { definition: sentText }), type: type.value.trim() || null, side,
      path: path.value.trim() || null, query: search.value.trim() || null,
      headers: fields.value.split('\n').map((row) => row.trim()).filter(Boolean),
      ...(text === null ? { base64: toBase64(content) } : { body: text }),
    };
    const read = (answer) => {
      lastTree = answer.tree ?? null;
      lastLeftOut = answer.left_out ?? [];
      if (isOfRoute || !answer.tree || definition.value !== sentText) return;
      const wasByHand = isByHand;
      if (wasByHand) keep();
      tree = answer.tree;
      treeText = sentText;
      isByHand = false;
      mistakes.replaceChildren();
      if (wasByHand) drawLists();
    };
    try {
      const answer = await post('/console/try', value, signal);
      read(answer);
      draw(answer, content, value.type);
    } catch (fault) {
      if (signal.aborted || fault.status === 401) return;
      read(fault.answer ?? {});
      if (!isAsked && content.length === 0 && fault.answer?.tree) nothingYet();
      else drawFault(fault, content);
    }
  }
  let lastTree = null; // Of the route that was converted by last.
  let lastLeftOut = [];

  function draw(answer, content, media) {
    const { output: made, explanation } = answer;
    mistakes.replaceChildren();
    const marks = (side) => (explanation ? new Marks(explanation, side) : null);
    const sent = text(content);
    const canChange = side === 'request' && building.find(answer.tree, 'request', 'decode') !== undefined;
    result.replaceChildren(...[
      h('p', { class: 'good' }, h('strong', {}, 'It becomes '), h('code', {}, line(made?.type ?? 'a body as it is'))),
      answer.item && copies(answer),
      made && h('div', { class: 'sides' },
        h('section', { class: 'side' }, h('h3', {}, 'What comes in'), bodyView(sent, media, { marks: marks('from') })),
        h('section', { class: 'side' }, h('h3', {}, 'What goes on'), bodyView(made.body, made.type, { marks: marks('to') }))),
      fieldsTable(explanation, null, canChange ? changes : null),
      movesLast(explanation, answer.tree) && hint('A field that is renamed goes behind the others of its object.'),
      explanation?.request && requestLine(explanation.request),
      answer.item && yamlView(answer),
    ].filter(Boolean));
    tell(`Converted: ${size(made?.body?.size ?? 0)} of ${made?.type ?? 'the same type'}`);
    if (returnTo !== null) [...result.querySelectorAll('[data-from]')].find((one) => one.dataset.from === returnTo)?.focus();
    returnTo = null;
  }
  // Where a document is held, and not sent value by value, a rename puts the field last.
  const movesLast = (explanation, of) => explanation?.sent.some((entry) => entry.rules.some((rule) => rule.startsWith('map.rename ')))
    && building.wordAt(of, 'request', 'decode', 'as') !== 'json' && !['form', 'multipart', 'query'].includes(building.wordAt(of, 'request', 'encode', 'as'));
  function text(content) {
    const read = asText(content);
    const base64 = read === null ? toBase64(content) : null;
    return { size: content.length, kept: content.length, whole: true, text: read, base64, masked: 0, coding: null, encoding: null };
  }
  function requestLine(request) {
    const head = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    return h('details', { open: true }, h('summary', {}, 'What the upstream would get'),
      h('pre', { class: 'raw', tabindex: '0', 'aria-label': 'Request head' },
        [`${request.method} ${request.target}`, ...head].map(line).join('\n')));
  }

  // What Recast makes of the bodies that a route has had: a definition to go on with. How many there are is asked before.
  let canLearn = false;
  let asked = 0;
  const proposeFrom = () => (way === 'route' ? route.value : begun);
  async function askRecorded() {
    const from = proposeFrom();
    const mine = asked += 1;
    proposal.hidden = !canLearn || way === 'definition' && !from;
    propose.disabled = true;
    propose.textContent = 'Propose from recorded requests';
    proposed.textContent = 'Choose a route whose requests are recorded.';
    if (!canLearn || !from) return;
    try {
      const { bodies } = await get(`/console/learn?route=${encodeURIComponent(from)}&count=true`);
      if (mine !== asked) return;
      propose.disabled = bodies === 0;
      propose.textContent = `Propose from ${bodies === 0 ? '' : `${bodies} `}recorded request${bodies === 1 ? '' : 's'} of ${line(from)}`;
      proposed.textContent = bodies === 0 ? 'None yet whose body is kept whole: send one, or raise admin.console.body and entries.'
        : 'A new route by the names and types of their fields, not by the body below.';
    } catch (fault) {
      if (mine === asked) proposed.textContent = fault.message;
    }
  }
  async function learn() {
    const from = proposeFrom();
    try {
      const learnt = await get(`/console/learn?route=${encodeURIComponent(from)}`);
      soon.cancel();
      running?.abort();
      begun = from;
      begin.value = `route ${from}`;
      way = 'definition';
      takeTree(learnt.tree ?? tree);
      drawWay();
      askRecorded();
      drawLearnt(learnt);
    } catch (fault) {
      if (fault.status !== 401) proposed.textContent = fault.message;
    }
  }
  function drawLearnt(learnt) {
    const columns = ['Field', 'Values', 'In bodies', 'Proposed'];
    const left = Object.entries(learnt.unreadable ?? {}).map(([reason, number]) => `${plural(number, 'body', 'bodies')}: ${line(reason)}`);
    result.replaceChildren(...[
      h('p', { class: 'good' }, h('strong', {}, 'Proposed '), `by ${plural(learnt.exchanges, 'body', 'bodies')} of ${line(learnt.route)}`),
      hint('The definition stands below the body: look through it, then try a body.'),
      learnt.item && copies(learnt),
      h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Fields' }, h('table', {},
        h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, learnt.fields.map((field) => h('tr', {},
          h('td', {}, field.kind === 'file' && h('span', { class: 'tag' }, 'file'), data(field.path ?? '')),
          h('td', {}, line([...(field.values ?? []), ...(field.media_types ?? [])].join(', ')), field.repeats && h('span', { class: 'tag' }, 'repeats')),
          h('td', { class: 'number' }, String(field.bodies ?? '')), h('td', {}, field.type ? line(field.type) : '–')))))),
      left.length > 0 && hint(`Could not be read: ${left.join(', ')}`),
      learnt.left_out > 0 && hint(`${plural(learnt.left_out, 'field')} more than are shown`),
      learnt.item && yamlView(learnt),
    ].filter(Boolean));
    tell(`Proposed a definition by ${learnt.exchanges} bodies`);
  }
  // Both ways to take the route along, and where it goes.
  function copies({ item, file, tree: of }) {
    const called = building.wordAt(of, 'upstream');
    const missing = way === 'route' ? lastLeftOut : leftOut.filter((key) => building.find(of, key) === undefined);
    return h('div', { class: 'copies' },
      h('div', { class: 'row' }, copyButton(() => item, 'Copy the route'), file && copyButton(() => file, 'Copy a whole file')),
      missing.length > 0 && h('p', { class: 'warn' }, `Left out, because secrets may stand there: ${missing.join(', ')}. Put ${
        missing.length === 1 ? 'it' : 'them'} in.`),
      hint('The route goes under ', h('code', {}, 'routes:'), ' of your file, before a route that takes ', h('code', {}, '/*'), '. ',
        called ? [h('code', {}, line(called)), ' must be one of its ', h('code', {}, 'upstreams:'), '. '] : null,
        'Then run ', h('code', {}, 'recast check FILE'), '.'),
      file && hint('The whole file serves it alone at ', h('code', {}, file.match(/^listen: (.*)$/m)?.[1] ?? ''), ', beside what runs here: put in where your upstream is, or let ',
        h('code', {}, 'recast echo'), ' stand in for it, and run ', h('code', {}, 'recast serve FILE'), '.'));
  }
  const yamlView = (answer) => h('section', { class: 'stack' }, h('div', { class: 'titles' }, h('h3', {}, 'As a route')),
    h('pre', { class: 'raw', tabindex: '0', 'aria-label': 'The route as YAML' }, answer.item));

  function drawFault(fault, content) {
    const { answer } = fault;
    const offset = Number.isInteger(answer.offset) ? answer.offset : null;
    const found = answer.mistakes ?? [];
    mistakes.replaceChildren(...found.map((mistake) => h('li', {},
      h('button', { type: 'button', class: 'plain', onclick: () => goTo(definition, mistake.line, mistake.column) },
        `Line ${mistake.line}, column ${mistake.column}`), ` ${line(mistake.message)}`)));
    if (isByHand) drawLists();
    const reason = answer.code ? fault.message.replace(` [${answer.code}]`, '') : fault.message;
    returnTo = null;
    result.replaceChildren(...[
      h('div', { class: 'problem' }, found.length > 0
        ? h('p', {}, h('strong', {}, `The definition has ${plural(found.length, 'mistake')}: `), 'each stands below it, with its place.')
        : h('p', {}, h('strong', {}, 'It is refused: '), line(reason), ' ', answer.code && h('code', {}, line(answer.code)))),
      before.length > 0 && way === 'definition' && !isByHand
        && h('button', { type: 'button', class: 'small', onclick: () => undo.click() }, 'Undo the last change'),
      offset !== null && offsetView(content, offset),
      offset !== null && file === null && h('button', { type: 'button', class: 'small', onclick: () => {
        const { index } = placeOf(content, offset);
        // A field's own text has one sign for each line end.
        const at = index - (new TextDecoder().decode(content).slice(0, index).match(/\r\n/g)?.length ?? 0);
        body.focus();
        // Where the body is cut off there is nothing to select but its last sign.
        if (at >= body.value.length) body.setSelectionRange(Math.max(0, at - 1), at);
        else body.setSelectionRange(at, at + 1);
      } }, 'Go there in the body'),
      answer.explanation && fieldsTable(answer.explanation, answer.field),
    ].filter(Boolean));
    tell(found.length > 0 ? `The definition has ${plural(found.length, 'mistake')}` : `Refused: ${reason}`);
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
  const kept = { body, type, path, search, fields };
  if (restored) for (const [word, control] of Object.entries(kept)) control.value = restored.values[word];
  drawFile();
  drawTree(false, restored?.treeText);
  if (restored?.isByHand) {
    isByHand = true;
    definition.value = restored.text;
    drawLists();
  }

  const reads = new Map(); // What a route reads, by its name.
  Promise.all([get('/console/routes'), get('/console/options'), get('/upstreams'), get('/')]).then(([list, known, all, paths]) => {
    // A Recast that learns says so among its paths.
    canLearn = paths.endpoints.some((one) => one.path.startsWith('/console/learn'));
    for (const one of list.routes) if (one.request && one.request !== 'forward') reads.set(one.name, /^[a-z]+/.exec(one.request)?.[0]);
    const converting = list.routes.filter((one) => reads.has(one.name));
    const others = list.routes.filter((one) => !reads.has(one.name));
    route.append(...converting.map((one) => h('option', { value: one.name }, `${line(one.name)}: ${line(one.request)}`)),
      ...others.map((one) => h('option', { value: one.name }, `${line(one.name)}: as it is`)));
    begin.append(...list.routes.map((one) => h('option', { value: `route ${one.name}` }, `A copy of ${line(one.name)}`)));
    encodings = known.encodings;
    input.append(...encodings.filter((one) => one.reads).map((one) => h('option', { value: one.name }, one.name)));
    output.append(...encodings.filter((one) => one.writes).map((one) => h('option', { value: one.name }, one.name)));
    upstream.replaceChildren(...all.upstreams.map((one) => h('option', { value: one.name }, line(one.name))));
    if (all.upstreams.length > 0 && before.length === 0 && !isByHand && !restored) tree = building.newRoute(all.upstreams[0].name);
    if (isByHand) drawLists();
    else drawTree(false, restored ? treeText : undefined);
    if (restored) {
      route.value = restored.route;
      if (begun) begin.value = `route ${begun}`;
    }
    if (converting.length === 0) {
      way = 'definition';
      drawWay();
    }
    update(asking);
    askRecorded();
    if (restored) soon();
  }).catch((fault) => {
    if (fault.status !== 401) result.replaceChildren(h('div', { class: 'problem' }, h('p', { role: 'alert' }, fault.message)));
  });

  function update(next) {
    asking = next;
    const wanted = next.get('route');
    if (!wanted && !next.has('new')) return;
    way = wanted ? 'route' : 'definition';
    if (wanted) route.value = wanted;
    drawWay();
    closeRows();
    askRecorded();
    chooseSample();
  }
  return { update, hide: () => {
    left = {
      way, side, file, taken, tree, treeText, isByHand, text: definition.value, before, leftOut, begun,
      route: route.value || restored?.route || '',
      values: Object.fromEntries(Object.entries(kept).map(([word, control]) => [word, control.value])),
    };
    soon.cancel();
    running?.abort();
  } };
}
