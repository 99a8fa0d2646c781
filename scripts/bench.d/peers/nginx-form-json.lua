-- A form as JSON: brackets in names are structure, `a[b]`, `a[]`; values stay texts.
local encode = require("cjson").encode
local find, sub, gmatch = string.find, string.sub, string.gmatch

local function put(tree, key, value)
   if key == "" then
      tree[#tree + 1] = value
   else
      tree[key] = value
   end
end

local function put_nested(tree, name, open, value)
   local key = sub(name, 1, open - 1)
   for inner in gmatch(sub(name, open), "%[([^%]]*)%]") do
      if type(tree[key]) ~= "table" then tree[key] = {} end
      tree, key = tree[key], inner
   end
   put(tree, key, value)
end

ngx.req.read_body()
local arguments, failure = ngx.req.get_post_args(0)
if not arguments then
   ngx.log(ngx.ERR, "a form that can't be read: ", failure)
   return ngx.exit(400)
end
local tree = {}
for name, value in pairs(arguments) do
   if value == true then value = "" end
   local open = find(name, "[", 2, true)
   if not open then
      tree[name] = value
   elseif type(value) == "table" then
      for _, each in ipairs(value) do put_nested(tree, name, open, each) end
   else
      put_nested(tree, name, open, value)
   end
end
ngx.req.set_header("Content-Type", "application/json")
ngx.req.set_body_data(encode(tree))
