// Go's net/http: multipart by mime/multipart, JSON by encoding/json. Wants a port.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

type file struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
	Digest   string `json:"digest"`
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func summary(value any) any {
	switch value := value.(type) {
	case string:
		return digest(value)
	case map[string]any:
		for key, member := range value {
			value[key] = summary(member)
		}
	case []any:
		for index, element := range value {
			value[index] = summary(element)
		}
	}
	return value
}

func readParts(request *http.Request, answer map[string]any) error {
	if err := request.ParseMultipartForm(1 << 20); err != nil {
		return err
	}
	fields, files := map[string]string{}, map[string]file{}
	for name, texts := range request.MultipartForm.Value {
		fields[name] = digest(texts[0])
	}
	for name, headers := range request.MultipartForm.File {
		content, err := headers[0].Open()
		if err != nil {
			return err
		}
		hash := sha256.New()
		size, err := io.Copy(hash, content)
		content.Close()
		if err != nil {
			return err
		}
		files[name] = file{headers[0].Filename, size, hex.EncodeToString(hash.Sum(nil))}
	}
	answer["fields"], answer["files"] = fields, files
	return request.MultipartForm.RemoveAll()
}

func readDocument(request *http.Request, answer map[string]any) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		answer["empty"] = true
		return nil
	}
	var document any
	if err := json.Unmarshal(body, &document); err != nil {
		return err
	}
	answer["json"] = summary(document)
	return nil
}

func describe(response http.ResponseWriter, request *http.Request) {
	answer := map[string]any{"length": nil, "transfer": nil}
	if request.ContentLength >= 0 {
		answer["length"] = fmt.Sprint(request.ContentLength)
	}
	if len(request.TransferEncoding) > 0 {
		answer["transfer"] = request.TransferEncoding[0]
	}
	read := readDocument
	if strings.HasPrefix(request.Header.Get("Content-Type"), "multipart/") {
		read = readParts
	}
	if err := read(request, answer); err != nil {
		answer["error"] = err.Error()
	}
	response.Header().Set("Content-Type", "application/json")
	json.NewEncoder(response).Encode(answer)
}

func main() {
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(describe)))
	os.Exit(1)
}
