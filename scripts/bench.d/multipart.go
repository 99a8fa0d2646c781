// Reads a multipart body with one file of noise, as codec-bench's "multipart scan, noise" does, with Go's own reader.
// Usage: multipart SECONDS noise|lines. Prints the file's size, the seconds of the fastest round, and the bytes read.
package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"strconv"
	"time"
)

const (
	fileSize = 256 << 20
	slice    = 64 << 10
	boundary = "----WebKitFormBoundaryAaB03xAaB03xAaB0"
	line     = "GET /a/path?of=some&length=1 200 5120 \"Mozilla/5.0 (X11; Linux x86_64)\" 0.001\r\n"
)

// The same bytes as codec-bench makes: xorshift64*.
func noise(file []byte) {
	state := uint64(0x9E3779B97F4A7C15)
	for at := 0; at < len(file); {
		state ^= state >> 12
		state ^= state << 25
		state ^= state >> 27
		word := state * 0x2545F4914F6CDD1D
		for i := 0; i < 8 && at < len(file); i++ {
			file[at] = byte(word)
			word >>= 8
			at++
		}
	}
}

// Hands out slices of the size that codec-bench feeds, and nothing but Read, so that nobody takes a short cut.
type slices struct{ rest []byte }

func (s *slices) Read(target []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	end := slice
	if end > len(s.rest) {
		end = len(s.rest)
	}
	count := copy(target, s.rest[:end])
	s.rest = s.rest[count:]
	return count, nil
}

func scan(body, buffer []byte) (total int) {
	reader := multipart.NewReader(&slices{body}, boundary)
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			return total
		}
		check(err)
		for {
			count, err := part.Read(buffer)
			total += count
			if err == io.EOF {
				break
			}
			check(err)
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "multipart:", err)
		os.Exit(70)
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: multipart SECONDS noise|lines")
		os.Exit(64)
	}
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	check(err)

	var body bytes.Buffer
	body.Grow(fileSize + 1024)
	body.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.bin\"\r\n" +
		"Content-Type: application/octet-stream\r\n\r\n")
	file := make([]byte, fileSize)
	if os.Args[2] == "lines" {
		for at := range file {
			file[at] = line[at%len(line)]
		}
	} else {
		noise(file)
	}
	body.Write(file)
	body.WriteString("\r\n--" + boundary + "--\r\n")

	buffer := make([]byte, slice)
	best, read := time.Duration(1<<62), 0
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for rounds := 0; rounds < 3 || time.Now().Before(end); rounds++ {
		start := time.Now()
		read = scan(body.Bytes(), buffer)
		if elapsed := time.Since(start); elapsed < best {
			best = elapsed
		}
	}
	fmt.Printf("%d\t%.9f\t%d\n", fileSize, best.Seconds(), read)
}
