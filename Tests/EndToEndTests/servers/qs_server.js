// Answers with what qs makes of the request where Express calls it, as JSON: {"fields": …}. Prints `ready PORT`. Wants NODE_PATH.
const http = require('http');
const qs = require('qs');

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ fields: qs.parse(Buffer.concat(pieces).toString(), { allowPrototypes: true }) }));
  });
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${server.address().port}`));
