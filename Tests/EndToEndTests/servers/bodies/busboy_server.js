// Node's http with busboy: multipart by busboy, JSON by JSON.parse. Wants a port, and NODE_PATH.
const http = require('http');
const crypto = require('crypto');
const busboy = require('busboy');

const digest = (data) => crypto.createHash('sha256').update(data).digest('hex');

function summary(value) {
  if (typeof value === 'string') return digest(value);
  if (Array.isArray(value)) return value.map(summary);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, summary(member)]));
}

function readParts(request, done) {
  const answer = { fields: {}, files: {} };
  const parser = busboy({ headers: request.headers, defParamCharset: 'utf8', preservePath: true, limits: { fieldSize: Infinity } });
  parser.on('field', (name, text) => { answer.fields[name] = digest(text); });
  parser.on('file', (name, stream, { filename }) => {
    const hash = crypto.createHash('sha256');
    let size = 0;
    stream.on('data', (piece) => { hash.update(piece); size += piece.length; });
    stream.on('end', () => { answer.files[name] = { filename, size, digest: hash.digest('hex') }; });
  });
  parser.on('error', (error) => done({ error: String(error) }));
  parser.on('close', () => done(answer));
  request.pipe(parser);
}

function readDocument(request, done) {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces).toString();
    done(body === '' ? { empty: true } : { json: summary(JSON.parse(body)) });
  });
}

const server = http.createServer((request, response) => {
  const read = request.headers['content-type'].startsWith('multipart/') ? readParts : readDocument;
  read(request, (answer) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({
      length: request.headers['content-length'] ?? null, transfer: request.headers['transfer-encoding'] ?? null, ...answer,
    }));
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
