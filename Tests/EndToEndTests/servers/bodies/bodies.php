<?php
// Run by `php -S`: multipart by PHP, JSON from php://input.
function summary($value) {
    if (is_string($value)) return hash("sha256", $value);
    if (is_array($value)) return array_map("summary", $value);
    return $value;
}
$answer = ["length" => $_SERVER["CONTENT_LENGTH"] ?? null, "transfer" => $_SERVER["HTTP_TRANSFER_ENCODING"] ?? null];
if (str_starts_with($_SERVER["CONTENT_TYPE"], "multipart/")) {
    $answer["fields"] = (object) array_map("summary", $_POST);
    $answer["files"] = (object) array_map(fn($file) => $file["error"] ? $file : [
        "filename" => $file["name"], "size" => $file["size"], "digest" => hash_file("sha256", $file["tmp_name"])], $_FILES);
} else {
    $body = file_get_contents("php://input");
    $answer += $body === "" ? ["empty" => true] : ["json" => summary(json_decode($body, true, 512, JSON_THROW_ON_ERROR))];
}
header("Content-Type: application/json");
echo json_encode($answer, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
