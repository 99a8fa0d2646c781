// Sends an exchange once more, as it was or edited.
import { post } from './api.js';
import { h, hint, labelled } from './dom.js';
import { lineEndsHint, withLineEnds } from './readers.js';

// Recast frames what it sends, and says how it speaks on a connection.
const framing = ['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'trailer', 'upgrade'];

// Field lines as { name, value }, or the number of the line that is none.
export function fieldLines(text) {
  const fields = [];
  const rows = text.split(/\r?\n/);
  for (let at = 0; at < rows.length; at += 1) {
    if (rows[at].trim() === '') continue;
    const colon = rows[at].indexOf(':');
    if (colon < 1) return { wrong: at + 1 };
    fields.push({ name: rows[at].slice(0, colon).trim(), value: rows[at].slice(colon + 1).trim() });
  }
  return { fields };
}

// The buttons of an exchange, and the panel that they open. `open` shows the exchange that a replay has become.
export function replayTools(exchange, open) {
  const said = h('p', { class: 'said', role: 'alert' });
  const panel = h('div', { class: 'replay', hidden: true });
  const once = h('button', { type: 'button', class: 'small' }, 'Replay');
  const edit = h('button', { type: 'button', class: 'small', 'aria-expanded': 'false' }, 'Edit and replay');
  const request = exchange.client.request;

  async function send(value, buttons) {
    for (const button of buttons) button.disabled = true;
    said.textContent = '';
    try {
      const answer = await post('/console/replay', value);
      open(answer.id);
    } catch (fault) {
      panel.hidden = false;
      said.textContent = fault.status === 404 ? 'Recast no longer has this exchange, so it can’t be sent again.' : fault.message;
    } finally {
      for (const button of buttons) button.disabled = button === once && !exchange.replayable;
    }
  }

  if (!exchange.replayable) {
    once.disabled = true;
    once.title = exchange.not_replayable ?? '';
  }
  if (exchange.target === '') {
    edit.disabled = true;
    edit.title = 'The request’s head could not be read.';
  }
  // After a restart another exchange may have the id: Recast compares whose request is meant.
  const same = { id: exchange.id, request_id: exchange.request_id };
  once.addEventListener('click', () => send(same, [once]));

  function makeForm() {
    const method = h('input', { value: exchange.method, required: true, spellcheck: 'false', autocomplete: 'off', size: '8' });
    const target = h('input', { value: exchange.target, required: true, spellcheck: 'false', autocomplete: 'off' });
    const kept = request.fields.filter((field) => !framing.includes(field.name.toLowerCase()));
    const fields = h('textarea', {
      rows: String(Math.min(12, kept.length + 1)), spellcheck: 'false', class: 'code',
      value: kept.map((field) => `${field.name}: ${field.value}`).join('\n'),
    });
    const body = request.body;
    const isText = body === null || body.size === 0 || body.text !== null;
    const came = isText ? body?.text ?? '' : '';
    const content = h('textarea', { rows: '8', spellcheck: 'false', class: 'code', value: came });
    const replay = h('button', { type: 'submit', class: 'main' }, 'Send');
    const hints = [
      body && !body.whole && 'Only the beginning of the body is kept: what is sent is what stands here.',
      body?.masked > 0 && 'As it stands here the body goes with what is masked. Where you change it, write values in the place of ***.',
      lineEndsHint(came),
    ].filter(Boolean);
    return h('form', { onsubmit: (event) => {
      event.preventDefault();
      const read = fieldLines(fields.value);
      if (read.wrong) {
        said.textContent = `Line ${read.wrong} of the fields is no “Name: value”.`;
        fields.focus();
        return;
      }
      const edited = { method: method.value.trim(), target: target.value.trim(), fields: read.fields };
      // Without a body the edit has the one that Recast keeps, whose masked values nobody here knows.
      const text = withLineEnds(came, content.value);
      if (isText && (text !== came || body?.whole === false)) edited.body = text;
      send({ ...same, edit: edited }, [replay]);
    } },
    h('h3', {}, 'Edit and replay'),
    h('div', { class: 'row' }, labelled('Method', method), labelled('Target', target)),
    labelled('Fields', fields, 'One “Name: value” a line. A line that is left as it is keeps what *** stands for; the length is written by Recast.'),
    isText ? labelled('Body', content, hints.join(' ')) : hint('The body isn’t text: it goes as it is.'),
    h('div', { class: 'row' }, replay, h('button', { type: 'button', class: 'small', onclick: () => toggle(false) }, 'Leave it')));
  }

  function toggle(on) {
    panel.hidden = !on;
    edit.setAttribute('aria-expanded', String(on));
    panel.replaceChildren(...(on ? [makeForm()] : []), said);
    if (on) panel.querySelector('input').focus();
    else edit.focus();
  }
  edit.addEventListener('click', () => toggle(edit.getAttribute('aria-expanded') !== 'true'));
  panel.append(said);
  const why = !exchange.replayable && exchange.not_replayable
    ? hint(`It can’t be sent again as it was: ${exchange.not_replayable}`) : null;
  return { buttons: [once, edit], panel: [why, panel] };
}
