// What is asked of Recast: the token, single requests, and events that go on.

const key = 'recast-console-token';
let onDenied = () => {};
let kept = null; // Where the browser keeps nothing for a page, this page's own life is long enough.

export const whenDenied = (work) => { onDenied = work; };

export function token() {
  try { return kept ?? sessionStorage.getItem(key); } catch { return kept; }
}

export function setToken(text) {
  kept = text;
  try { sessionStorage.setItem(key, text); } catch { /* `kept` has it. */ }
}

// The address that Recast prints ends with #token=…: it is taken from there, and doesn't stay in the address bar or the history.
export function takeToken() {
  const found = /^#token=([^&]+)(?:&(.*))?$/.exec(location.hash);
  if (!found) return;
  try { setToken(decodeURIComponent(found[1])); } catch { setToken(found[1]); }
  history.replaceState(null, '', `${location.pathname}#${found[2] ?? '/exchanges'}`);
}

// An answer that isn't 2xx, or none.
export class Fault extends Error {
  constructor(status, text, answer = {}) {
    super(text);
    this.status = status;
    this.answer = answer;
  }
}

function headers(more) {
  const known = token();
  return known ? { ...more, Authorization: `Bearer ${known}` } : { ...more };
}

async function faultOf(response) {
  const text = await response.text().catch(() => '');
  let answer = {};
  try { answer = JSON.parse(text) ?? {}; } catch { /* Not ours: its status has to do. */ }
  return new Fault(response.status, answer.error ?? `Recast answered ${response.status}`, answer);
}

async function send(path, members) {
  let response;
  try {
    response = await fetch(path, { cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', ...members });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Fault(0, 'Recast doesn’t answer. Does it still run?');
  }
  if (response.status === 401) onDenied();
  if (!response.ok) throw await faultOf(response);
  return response;
}

export async function get(path, signal) {
  return (await send(path, { headers: headers(), signal })).json();
}

export async function post(path, value, signal) {
  const members = { method: 'POST', headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(value), signal };
  return (await send(path, members)).json();
}

const silence = 40_000; // Milliseconds; a sign of life comes each 15 s.
const unseenFor = 2_000; // How long a hidden page goes on.

// Server-sent events by fetch, since EventSource can't send the token. Begins again when they end, later each time.
// `onState` hears of 'connecting', 'live', 'waiting' (with the seconds) and 'stopped' (with a fault that waiting doesn't mend).
// What is returned ends it. While nobody sees the page there are none: a browser has six connections for all tabs of an address, and
// with that many tabs left open nothing else would be answered.
export function follow(path, onEvent, onState) {
  const end = new AbortController();
  let failures = 0;
  let retry;
  let attempt = null;
  let leaving;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(() => attempt?.abort(), unseenFor);
    else retry?.();
  }, { signal: end.signal });

  async function once() {
    attempt = new AbortController();
    const { signal } = attempt;
    const stop = () => attempt.abort();
    end.signal.addEventListener('abort', stop);
    let watchdog = setTimeout(stop, silence);
    try {
      const response = await send(path, { headers: headers({ Accept: 'text/event-stream' }), signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parse = eventParser((name, text) => {
        failures = 0;
        onState('live');
        onEvent(name, JSON.parse(text));
      });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(watchdog);
        watchdog = setTimeout(stop, silence);
        parse(value);
      }
    } finally {
      clearTimeout(watchdog);
      end.signal.removeEventListener('abort', stop);
    }
  }

  async function forever() {
    await null; // Whoever asks for events has what is returned before it hears of them.
    while (!end.signal.aborted) {
      onState('connecting');
      let fault = null;
      if (document.hidden) await new Promise((resolve) => { retry = resolve; });
      if (end.signal.aborted) return;
      try { await once(); } catch (error) { fault = error; }
      if (end.signal.aborted) return;
      if (document.hidden) continue;
      if (fault instanceof Fault && fault.status >= 400 && fault.status < 500) {
        onState('stopped', fault);
        return;
      }
      const seconds = Math.min(0.5 * 2 ** failures, 10);
      failures += 1;
      onState('waiting', seconds, fault);
      await new Promise((resolve) => {
        retry = resolve;
        setTimeout(resolve, seconds * 1000);
      });
    }
  }

  forever();
  return { end: () => { clearTimeout(leaving); end.abort(); retry?.(); }, again: () => retry?.() };
}

// Lines of server-sent events, however they are cut.
export function eventParser(emit) {
  let rest = '';
  let name = 'message';
  let lines = [];
  return (text) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop();
    for (const part of parts) {
      const row = part.endsWith('\r') ? part.slice(0, -1) : part;
      if (row === '') {
        if (lines.length) emit(name, lines.join('\n'));
        name = 'message';
        lines = [];
      } else if (row.startsWith('event:')) {
        name = row.slice(6).trim();
      } else if (row.startsWith('data:')) {
        lines.push(row[5] === ' ' ? row.slice(6) : row.slice(5));
      }
    }
  };
}

// Where a client on this machine finds Recast, as the beginning of a URL, by the settings as `/config` tells them: what curl speaks without
// further options goes before TLS and what takes HTTP/2 alone. The usual address where there is none of HTTP.
export function originOf(settings) {
  const value = (key) => settings.find((one) => one.key === key)?.value;
  const all = (value('listen') ?? '').split(',').map((address) => address.trim())
    .filter((address) => /:\d+$/.test(address) && !/^(unix|systemd):/.test(address) && value(`listen.${address}.serves`) === undefined)
    .map((address) => {
      const isSecured = settings.some((one) => one.key.startsWith(`listen.${address}.tls.`));
      const host = address.replace(/^(0\.0\.0\.0|\*)?:(\d+)$/, '127.0.0.1:$2').replace(/^\[::\]:/, '[::1]:');
      return { url: `${isSecured ? 'https' : 'http'}://${host}`, isPlain: !isSecured && value(`listen.${address}.http`) !== '2' };
    });
  return (all.find((one) => one.isPlain) ?? all[0])?.url ?? 'http://127.0.0.1:8080';
}
export const listenOrigin = async () => originOf((await get('/config')).settings);

// Base64 to bytes, and back.
export const fromBase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
export function toBase64(bytes) {
  let signs = '';
  for (let at = 0; at < bytes.length; at += 0x8000) signs += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(signs);
}
