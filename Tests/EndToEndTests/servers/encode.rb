# A list of JSON documents in; what Rack's build_nested_query makes of each out.
require 'json'
require 'rack'
puts JSON.generate(JSON.parse($stdin.read).map { |document| Rack::Utils.build_nested_query(document) })
