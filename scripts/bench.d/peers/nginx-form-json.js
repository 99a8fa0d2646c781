// A form as JSON: brackets in names are structure, `a[b]`, `a[]`; values stay texts.
import querystring from 'querystring';

function put(tree, name, value) {
    const open = name.indexOf('[', 1);
    if (open < 0) {
        tree[name] = value;
        return;
    }
    let key = name.slice(0, open);
    const inner = name.slice(open + 1, -1).split('][');
    for (let i = 0; i < inner.length; i++) {
        if (typeof tree[key] !== 'object') tree[key] = inner[i] === '' ? [] : {};
        tree = tree[key];
        key = inner[i] === '' ? tree.length : inner[i];
    }
    tree[key] = value;
}

async function handle(request) {
    const fields = querystring.parse(request.requestText, null, null, { maxKeys: 0 });
    const tree = {};
    for (const name in fields) {
        const value = fields[name];
        if (Array.isArray(value) && name.indexOf('[', 1) > 0) value.forEach(each => put(tree, name, each));
        else put(tree, name, value);
    }
    const reply = await request.subrequest('/upstream', { method: 'POST', body: JSON.stringify(tree) });
    request.headersOut['Content-Type'] = reply.headersOut['Content-Type'];
    request.return(reply.status, reply.responseText);
}

export default { handle };
