<?php
// A list of JSON documents in; what http_build_query makes of each out, by RFC 1738 and by RFC 3986.
$documents = json_decode(stream_get_contents(STDIN), true);
echo json_encode(array_map(fn ($document) => [
    http_build_query($document), http_build_query($document, "", "&", PHP_QUERY_RFC3986),
], $documents));
