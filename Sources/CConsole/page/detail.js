// One exchange: what the client sent and what the upstream got, side by side, the answer likewise, and what can be done with it.
import { get } from './api.js';
import { bodyView, bytesOf, Marks } from './bodies.js';
import { clock, copyButton, data, duration, h, hint, line, plural, size, statusClass, unreadable } from './dom.js';
import { fieldsTable, headFields, linkFields } from './fields.js';
import { flagWords, isCut } from './flags.js';
import { replayTools } from './replay.js';

const fieldOf = (message, name) => message?.fields.find((field) => field.name.toLowerCase() === name)?.value ?? null;
const contentType = (message) => fieldOf(message, 'content-type');

// The problem document of an answer that Recast made, or null.
function problemOf(exchange) {
  const answer = exchange.client.response;
  if (!answer?.body?.text || !/^application\/problem\+json/i.test(contentType(answer) ?? '')) return null;
  try { return JSON.parse(answer.body.text); } catch { return null; }
}

// An exchange that came to no good end, and whose client got no problem that says so.
function cutView({ flag, status, client }) {
  const what = status === 101 ? 'The tunnel ended: ' : client.response ? 'The answer was cut off: ' : 'It ended without an answer: ';
  return h('div', { class: 'problem' }, h('p', {}, h('strong', {}, what), line(flagWords(flag)), ' ', h('code', {}, line(flag))));
}

function problemView(exchange, problem) {
  if (!exchange.code && exchange.flag && (!problem || isCut(exchange))) return cutView(exchange);
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

// `unsent` says why a message that was written never went out.
function side(title, message, other, words, nothing, body, unsent = null) {
  return h('section', { class: 'side' }, h('h4', {}, title), unsent && h('p', { class: 'warn' }, unsent),
    message ? [headFields(message, other, words), unsent === null && bodyView(message.body, contentType(message), body)] : hint(nothing));
}

// What is to be known of the command beside its button, and the body where the command sends that as a file.
function commandHints({ curl, curl_masked: masked = 0, client }) {
  if (!curl) return null;
  const { body } = client.request;
  const isFile = curl.endsWith(' --data-binary @body');
  const isKnown = isFile && body.whole && !body.hidden && (body.text !== null || body.base64 !== null);
  const why = !isFile ? '' : body.hidden ? 'is not shown here' : 'is not kept whole';
  return [
    masked > 0 && hint(`In the command ${plural(masked, 'value is', 'values are')} masked as ***: write what belongs there.`),
    isKnown && h('p', { class: 'hint' }, 'The body is no text, or is long: the command sends a file that is called body. ',
      h('button', { type: 'button', class: 'small', onclick: () => download(bytesOf(body), 'body') }, 'Download the body')),
    isFile && !isKnown && hint(`The body isn’t in the command, since it ${why}: `
      + 'the command sends a file that is called body, which is yours to make.'),
  ];
}

function download(bytes, name) {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
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
    ['Log flag', exchange.flag && [h('code', {}, line(exchange.flag)), ` ${line(flagWords(exchange.flag))}`]],
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
  // The head is written before there is a connection for it.
  const isUnsent = Boolean(upstream.request?.line) && upstream.sent === false;
  const unsent = !isUnsent ? null : `Never sent: ${
    exchange.flag ? line(flagWords(exchange.flag)) : 'there was no connection'}. What would have gone begins so:`;
  const announced = Number(fieldOf(client.request, 'content-length') ?? 0);
  const request = h('section', { class: 'part' },
    h('h3', {}, 'Request'),
    h('div', { class: 'sides' },
      side('From the client', client.request, isUnsent ? null : upstream.request, ['not sent', 'changed'], '', {
        marks: explanation && new Marks(explanation, 'from'), refused, offset, announced,
      }),
      side('To the upstream', upstream.request, client.request, ['added', 'changed'], noUpstream, {
        marks: explanation && new Marks(explanation, 'to'),
      }, unsent)),
    fieldsTable(explanation, refused, null, upstream.request !== null && !isUnsent),
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
    fieldsTable(back, null, null, !exchange.code),
    !back && exchange.response_explanation_error
      && hint(`Why nothing is told of its fields: ${line(exchange.response_explanation_error)}`));
  const root = h('article', { class: 'exchange', 'aria-labelledby': 'exchange-title' },
    h('header', {},
      h('h2', { id: 'exchange-title', tabindex: '-1' }, h('span', { class: 'method' }, line(exchange.method)),
        ' ', data(exchange.target || unreadable), ' ',
        h('span', { class: statusClass(exchange.status, isCut(exchange)) }, String(exchange.status)),
        exchange.replay_of && h('span', { class: 'tag' }, 'replay')),
      h('div', { class: 'tools' },
        exchange.curl && copyButton(() => exchange.curl, 'Copy as curl'), tools.buttons,
        h('button', { type: 'button', class: 'small close', onclick: close }, 'Close'))),
    commandHints(exchange),
    tools.panel,
    problemView(exchange, problem),
    h('dl', { class: 'facts' }, facts(exchange, address).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))),
    request, answer,
    timesView(exchange.times));
  linkFields(request);
  linkFields(answer);
  return root;
}

export const load = (id, signal) => get(`/console/exchange?id=${encodeURIComponent(id)}`, signal);
