# Answers with what Rack makes of the request, as JSON: {"fields": …}, or {"error": …}. Prints `ready PORT`.
require 'json'
require 'rack'
require 'socket'
require 'stringio'

# Texts as UTF-8; files as {"filename", "type", "content"}.
def plain(value)
  case value
  when Hash
    if value[:tempfile]
      { filename: value[:filename], type: value[:type], content: value[:tempfile].read.force_encoding('UTF-8') }
    else
      value.to_h { |key, member| [plain(key), plain(member)] }
    end
  when Array then value.map { |element| plain(element) }
  when String then value.dup.force_encoding('UTF-8')
  else value
  end
end

server = TCPServer.new('127.0.0.1', 0)
puts "ready #{server.addr[1]}"
$stdout.flush
loop do
  client = server.accept
  client.gets
  fields = {}
  while (line = client.gets.chomp) != ''
    name, value = line.split(': ', 2)
    fields[name.downcase] = value
  end
  body = client.read(fields['content-length'].to_i)
  env = { 'REQUEST_METHOD' => 'POST', 'CONTENT_TYPE' => fields['content-type'], 'CONTENT_LENGTH' => body.bytesize.to_s,
          'rack.input' => StringIO.new(body) }
  answer = begin
    { fields: plain(Rack::Request.new(env).POST) }
  rescue StandardError => e
    { error: e.class.name }
  end
  text = JSON.generate(answer)
  client.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: #{text.bytesize}\r\n" \
               "Connection: close\r\n\r\n#{text}")
  client.close
end
