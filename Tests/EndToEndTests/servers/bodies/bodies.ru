# Run by Puma: multipart by Rack, JSON by Ruby.
require 'digest'
require 'json'
require 'rack'

def digest(bytes) = Digest::SHA256.hexdigest(bytes)

def summary(value)
  case value
  when String then digest(value)
  when Hash then value.transform_values { |member| summary(member) }
  when Array then value.map { |element| summary(element) }
  else value
  end
end

def described(env)
  request = Rack::Request.new(env)
  answer = { length: env['CONTENT_LENGTH'], transfer: env['HTTP_TRANSFER_ENCODING'] }
  if request.media_type == 'multipart/form-data'
    files, fields = request.POST.partition { |_, value| value.is_a?(Hash) && value[:tempfile] }
    answer[:fields] = fields.to_h { |name, text| [name, digest(text)] }
    answer[:files] = files.to_h do |name, file|
      content = file[:tempfile].read
      [name, { filename: file[:filename].dup.force_encoding('UTF-8'), size: content.bytesize, digest: digest(content) }]
    end
  else
    body = request.body.read
    answer.merge!(body.empty? ? { empty: true } : { json: summary(JSON.parse(body)) })
  end
  answer
end

run ->(env) { [200, { 'content-type' => 'application/json' }, [JSON.generate(described(env))]] }
