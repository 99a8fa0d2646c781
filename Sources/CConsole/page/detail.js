// One exchange: what the client sent and what the upstream got, side by side, the answer likewise, and what can be done with it.
import { get } from './api.js';
import { bodyView, Marks } from './bodies.js';
import { clock, copyButton, data, duration, h, hint, line, size, statusClass } from './dom.js';
import { fieldsTable, headFields, linkFields } from './fields.js';
import { replayTools } from './replay.js';

const fieldOf = (message, name) => message?.fields.find((field) => field.name.toLowerCase() === name)?.value ?? null;
const contentType = (message) => fieldOf(message, 'content-type');

// The problem document of an answer that Recast made, or null.
function problemOf(exchange) {
  const answer = exchange.client.response;
  if (!answer?.body?.text || !/^application\/problem\+json/i.test(contentType(answer) ?? '')) return null;
  try { return JSON.parse(answer.body.text); } catch { return null; }
}

function problemView(exchange, problem) {
  if (!exchange.code && !problem) return null;
  const members = problem ? Object.entries(problem).filter(([name, value]) => ![
    'type', 'title', 'status', 'code', 'detail', 'request_id'].includes(name) && typeof value !== 'object') : [];
  return h('div', { class: 'problem' },
    h('p', {}, h('strong', {}, exchange.upstream.response && !exchange.code ? 'A problem: ' : 'Recast answered: '),
      line(problem?.detail ?? problem?.title ?? exchange.code), ' ', exchange.code && h('code', {}, line(exchange.code))),
    members.length > 0 && h('dl', { class: 'facts' }, members.map(([name, value]) => (
      h('div', {}, h('dt', {}, line(name)), h('dd', {}, data(value)))))));
}

// Times as bars: those of one scale from the end of the head on, and how long single works took.
function timesView(times) {
  const rows = [
    ['Head', times.head, 'from its first byte to its last'], ['Request body', times.body, 'from the end of the head to the last byte'],
    ['Conversion', times.conversion, 'inside the conversion'], ['Connection', times.connect, 'making a new one, TLS included'],
    ['First byte back', times.first_byte, 'from the end of the head to the upstream’s'], ['Upstream', times.upstream, 'with the upstream'],
    ['In all', times.total, 'from the end of the head to the end'],
  ].filter(([, seconds]) => seconds !== null && seconds !== undefined);
  const most = Math.max(1e-9, ...rows.map(([, seconds]) => seconds));
  return h('section', {}, h('h3', {}, 'Times'), h('table', { class: 'times' }, h('tbody', {}, rows.map(([name, seconds, meaning]) => {
    const bar = h('span', { class: 'bar-of-time' });
    bar.style.setProperty('--part', seconds / most);
    return h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'number' }, seconds > 0 ? duration(seconds) : '–'),
      h('td', { class: 'bars', 'aria-hidden': 'true' }, bar), h('td', { class: 'hint' }, meaning));
  }))));
}

function side(title, message, other, words, nothing, body) {
  return h('section', { class: 'side' }, h('h4', {}, title),
    message ? [headFields(message, other, words), bodyView(message.body, contentType(message), body)] : hint(nothing));
}

function facts(exchange, address) {
  const { upstream } = exchange;
  const upstreamText = [exchange.upstream_name, upstream.address].filter(Boolean).join(' ');
  const isOther = exchange.upstream_status !== null && exchange.upstream_status !== exchange.status;
  return [
    ['Route', exchange.route ? h('a', { href: address({ route: exchange.route, id: null }) }, line(exchange.route)) : 'none'],
    ['Upstream', upstreamText ? data(upstreamText) : 'none'],
    ['Conversion', exchange.input ? `${exchange.input} → ${exchange.output}` : 'none'],
    ['Framing upstream', exchange.framing && line(exchange.framing)], ['Tried again', exchange.retries > 0 && `${exchange.retries} times`],
    ['Log flag', exchange.flag && h('code', {}, line(exchange.flag))],
    ['Upstream’s status', isOther && String(exchange.upstream_status)],
    ['Bytes', `${size(exchange.bytes_in)} in, ${size(exchange.bytes_out)} upstream, ${size(exchange.bytes_back)} back`],
    ['Client', data(exchange.client_address ?? '')], ['Host', data(exchange.host ?? '')], ['Protocol', line(exchange.protocol)],
    ['At', h('time', { datetime: exchange.at }, clock(exchange.at))], ['Request id', data(exchange.request_id)],
    ['Replay of', exchange.replay_of && h('a', { href: address({ id: exchange.replay_of }) }, exchange.replay_of)],
  ].filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
}

// The summary's `client` and `upstream` are texts in the list and messages here; their texts come from the list where it has them.
export function makeDetail(exchange, { address, close, open, summary }) {
  exchange.client_address = typeof summary?.client === 'string' ? summary.client : exchange.client.address ?? null;
  exchange.upstream_name = typeof summary?.upstream === 'string' ? summary.upstream : exchange.upstream.name ?? null;
  const { client, upstream } = exchange;
  const problem = problemOf(exchange);
  const refused = problem?.field ?? null;
  const offset = exchange.code && Number.isInteger(problem?.offset) ? problem.offset : null;
  const explanation = exchange.explanation ?? null;
  const tools = replayTools(exchange, open);
  const noUpstream = exchange.code ? `Nothing was sent: ${exchange.code}` : 'Nothing was sent';
  const request = h('section', { class: 'part' },
    h('h3', {}, 'Request'),
    h('div', { class: 'sides' },
      side('From the client', client.request, upstream.request, ['not sent', 'changed'], '', {
        marks: explanation && new Marks(explanation, 'from'), refused, offset,
      }),
      side('To the upstream', upstream.request, client.request, ['added', 'changed'], noUpstream, {
        marks: explanation && new Marks(explanation, 'to'),
      })),
    fieldsTable(explanation, refused),
    !explanation && exchange.explanation_error && hint(`Why nothing is told of its fields: ${line(exchange.explanation_error)}`));
  const back = exchange.response_explanation ?? null;
  const answer = h('section', { class: 'part' },
    h('h3', {}, 'Answer'),
    h('div', { class: 'sides' },
      side('From the upstream', upstream.response, client.response, ['not sent', 'changed'], 'No answer came', {
        marks: back && new Marks(back, 'from'),
      }),
      side('To the client', client.response, upstream.response, ['added', 'changed'], 'The client got none', {
        marks: back && new Marks(back, 'to'),
      })),
    fieldsTable(back),
    !back && exchange.response_explanation_error
      && hint(`Why nothing is told of its fields: ${line(exchange.response_explanation_error)}`));
  const root = h('article', { class: 'exchange', 'aria-labelledby': 'exchange-title' },
    h('header', {},
      h('h2', { id: 'exchange-title', tabindex: '-1' }, h('span', { class: 'method' }, line(exchange.method)), ' ', data(exchange.target),
        ' ', h('span', { class: statusClass(exchange.status) }, String(exchange.status)),
        exchange.replay_of && h('span', { class: 'tag' }, 'replay')),
      h('div', { class: 'tools' },
        exchange.curl && copyButton(() => exchange.curl, 'Copy as curl'), tools.buttons,
        h('button', { type: 'button', class: 'small close', onclick: close }, 'Close'))),
    tools.panel,
    exchange.curl?.endsWith('@body') && hint('The body is no text, is long, or not all of it is kept: the command sends a file that is called body.'),
    problemView(exchange, problem),
    h('dl', { class: 'facts' }, facts(exchange, address).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))),
    request, answer,
    timesView(exchange.times));
  linkFields(request);
  linkFields(answer);
  return root;
}

export const load = (id, signal) => get(`/console/exchange?id=${encodeURIComponent(id)}`, signal);
