-- A form as JSON: brackets in names are structure, `a[b]`, `a[]`; values stay texts. Envoy has no JSON for Lua.
local byte, char, find, format, gmatch, gsub, sub = string.byte, string.char, string.find, string.format, string.gmatch,
   string.gsub, string.sub
local concat = table.concat

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape(character)
   return escapes[character] or format("\\u%04x", byte(character))
end

local function quote(text)
   if find(text, '[%c"\\]') then text = gsub(text, '[%c"\\]', escape) end
   return '"' .. text .. '"'
end

local function unescape(digits)
   return char(tonumber(digits, 16))
end

local function decode(text)
   if find(text, "+", 1, true) then text = gsub(text, "+", " ") end
   if find(text, "%", 1, true) then text = gsub(text, "%%(%x%x)", unescape) end
   return text
end

local function encode(value, out)
   if type(value) == "string" then
      out[#out + 1] = quote(value)
   elseif #value > 0 then
      for index, inner in ipairs(value) do
         out[#out + 1] = index == 1 and "[" or ","
         encode(inner, out)
      end
      out[#out + 1] = "]"
   else
      local before = "{"
      for key, inner in pairs(value) do
         out[#out + 1] = before
         out[#out + 1] = quote(key)
         out[#out + 1] = ":"
         encode(inner, out)
         before = ","
      end
      out[#out + 1] = before == "{" and "{}" or "}"
   end
end

local function put(tree, name, value)
   local open = find(name, "[", 2, true)
   if not open then
      tree[name] = value
      return
   end
   local key = sub(name, 1, open - 1)
   for inner in gmatch(sub(name, open), "%[([^%]]*)%]") do
      if type(tree[key]) ~= "table" then tree[key] = {} end
      tree, key = tree[key], inner
      if key == "" then key = #tree + 1 end
   end
   tree[key] = value
end

function envoy_on_request(handle)
   local body = handle:body()
   local tree, out = {}, {}
   for name, value in gmatch(body:getBytes(0, body:length()), "([^&=]+)=?([^&]*)") do
      put(tree, decode(name), decode(value))
   end
   encode(tree, out)
   local headers = handle:headers()
   headers:replace("content-type", "application/json")
   headers:replace("content-length", tostring(body:setBytes(concat(out))))
end
