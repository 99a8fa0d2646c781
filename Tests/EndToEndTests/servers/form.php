<?php
// Answers with what PHP makes of the request, as JSON: {"fields": $_POST, "files": …}. Run by `php -S`.
function described($name, $type, $path) {
    if (is_array($name)) {
        $all = [];
        foreach ($name as $key => $_) $all[$key] = described($name[$key], $type[$key], $path[$key]);
        return $all;
    }
    return ["filename" => $name, "type" => $type, "content" => file_get_contents($path)];
}
$files = [];
foreach ($_FILES as $field => $file) $files[$field] = described($file["name"], $file["type"], $file["tmp_name"]);
header("Content-Type: application/json");
echo json_encode(["fields" => $_POST, "files" => $files], JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
