// A list of JSON documents in; what qs makes of each out, by itself and with options, and what URLSearchParams makes of flat
// ones.
const qs = require('qs');
const documents = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const isFlat = (document) => Object.values(document).every((value) => value === null || typeof value !== 'object');
console.log(JSON.stringify(documents.map((document) => [
  qs.stringify(document),
  qs.stringify(document, { arrayFormat: 'brackets', format: 'RFC1738', strictNullHandling: true }),
  qs.stringify(document, { arrayFormat: 'repeat', allowDots: true, skipNulls: true }),
  isFlat(document) ? new URLSearchParams(document).toString() : null,
])));
