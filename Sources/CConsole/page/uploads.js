// Requests whose bodies are on their way, as /transfers tells of them.
import { follow, listenOrigin } from './api.js';
import { command, data, duration, empty, h, hint, line, newId, plural, size } from './dom.js';

const mostEnded = 10;

export function showUploads(main, query, setLink) {
  const rows = new Map(); // By id: the row and what changes of it.
  const list = h('ul', { class: 'uploads' });
  const ended = h('ul', { class: 'ended' });
  const endedTitle = h('h2', { hidden: true }, 'Ended while you looked');
  const note = hint();
  const nothing = empty('No upload is on its way', h('p', {}, 'A request stands here while its body comes in. One that takes a while:'));
  const slow = (origin) => command(`head -c 200M /dev/zero | curl --limit-rate 10M -T - ${origin}/`);
  nothing.append(slow('http://127.0.0.1:8080'));
  listenOrigin().then((origin) => nothing.lastChild.replaceWith(slow(origin)), () => { /* The address that is shown is the usual one. */ });
  nothing.hidden = true;
  main.replaceChildren(h('section', { class: 'page' }, h('div', { class: 'titles' }, h('h1', { tabindex: '-1' }, 'Uploads'), note),
    list, nothing, endedTitle, ended));

  function row(transfer) {
    const title = newId('upload');
    const progress = h('progress', { 'aria-labelledby': title });
    const facts = hint();
    const held = h('span', { class: 'tag warn' }, 'held back by the upstream');
    const name = h('p', { id: title }, h('b', {}, transfer.route ? line(transfer.route) : 'no route'), ' → ', data(transfer.upstream ?? ''), ' ',
      h('span', { class: 'hint' }, line(transfer.id)), held);
    const element = h('li', {}, name, progress, facts);
    return { element, progress, facts, held, last: transfer };
  }

  function draw(document) {
    const seen = new Set();
    for (const transfer of document.transfers) {
      seen.add(transfer.id);
      let one = rows.get(transfer.id);
      if (!one) {
        one = row(transfer);
        rows.set(transfer.id, one);
        list.append(one.element);
      }
      one.last = transfer;
      const total = transfer.total ?? 0;
      if (total > 0) {
        one.progress.max = total;
        one.progress.value = Math.min(transfer.bytes_in, total);
      } else {
        one.progress.removeAttribute('value');
      }
      one.held.hidden = !transfer.held_back;
      const part = total > 0 ? ` of ${size(total)} (${Math.floor(transfer.bytes_in / total * 100)} %)` : ', of a length that nobody has said';
      const rate = transfer.bytes_per_second;
      const left = total > 0 && rate > 0 ? `, about ${duration((total - transfer.bytes_in) / rate)} left` : '';
      one.facts.textContent = `${size(transfer.bytes_in)}${part}, ${size(transfer.bytes_out)} upstream, ${size(rate)}/s, for ${duration(transfer.age)}${left}`;
    }
    for (const [id, one] of rows) {
      if (seen.has(id)) continue;
      one.element.remove();
      rows.delete(id);
      ended.prepend(h('li', {}, h('b', {}, one.last.route ? line(one.last.route) : 'no route'), ' ', h('span', { class: 'hint' }, line(one.last.id)),
        ` last seen with ${size(one.last.bytes_in)} after ${duration(one.last.age)}. `,
        h('a', { href: `#/exchanges?text=${encodeURIComponent(one.last.id)}` }, 'Its exchange')));
      while (ended.children.length > mostEnded) ended.lastChild.remove();
    }
    endedTitle.hidden = ended.children.length === 0;
    nothing.hidden = rows.size > 0;
    note.textContent = [
      rows.size > 0 && `${plural(rows.size, 'upload')} on ${rows.size === 1 ? 'its' : 'their'} way`,
      document.truncated && 'there are more than are shown',
      document.workers_missing > 0 && `${plural(document.workers_missing, 'worker')} didn’t answer`,
    ].filter(Boolean).join('; ');
  }

  const following = follow('/transfers?interval=500', (name, document) => name === 'transfers' && draw(document), (state, value, fault) => {
    setLink(state, fault?.message, () => following.again());
    if (state === 'stopped') note.textContent = value.message;
  });
  return { hide: () => following.end() };
}
