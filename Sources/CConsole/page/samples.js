// Bodies to begin with, one of each encoding that a route may take: its word, name, type and text, which may be in base64.
export const samples = [
  ['form', 'Form', 'application/x-www-form-urlencoded', 'user[name]=Ada&user[born]=1815&tags[]=math&tags[]=engines&note='],
  ['json', 'JSON', 'application/json', '{\n  "user": { "name": "Ada", "born": 1815 },\n  "tags": ["math", "engines"],\n  "note": null\n}\n'],
  ['multipart', 'Multipart', 'multipart/form-data; boundary=sample', [
    '--sample', 'Content-Disposition: form-data; name="user[name]"', '', 'Ada', '--sample',
    'Content-Disposition: form-data; name="notes"; filename="notes.txt"', 'Content-Type: text/plain', '', 'The engine weaves.', '--sample--', '',
  ].join('\r\n')],
  ['xml', 'XML', 'application/xml', '<order id="7">\n  <item>book</item>\n  <item>pen</item>\n</order>\n'],
  ['plist', 'Property list', 'application/x-plist', '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0">\n<dict>\n  <key>name</key><string>Ada</string>\n  <key>born</key><integer>1815</integer>\n</dict>\n</plist>\n'],
  ['bplist', 'Property list, binary', 'application/x-plist', 'YnBsaXN0MDDRAQJUbmFtZVNBZGEICxAAAAAAAAABAQAAAAAAAAADAAAAAAAAAAAAAAAAAAAAFA==', 'base64'],
  ['text', 'Text', 'text/plain', 'Ada wrote the first program.\n'],
  ['raw', 'Bytes', 'application/octet-stream', 'any bytes\n'],
];
