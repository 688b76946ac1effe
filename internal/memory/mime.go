package memory

import "strings"

// MimeType guesses the media type from the extension of a path, without a look at the host's tables; empty when unknown.
func MimeType(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return ""
	}
	switch strings.ToLower(name[dot+1:]) {
	case "md", "markdown":
		return "text/markdown"
	case "txt", "text", "log":
		return "text/plain"
	case "html", "htm":
		return "text/html"
	case "css":
		return "text/css"
	case "csv":
		return "text/csv"
	case "tsv":
		return "text/tab-separated-values"
	case "js", "mjs", "cjs":
		return "text/javascript"
	case "ts", "tsx":
		return "text/typescript"
	case "py":
		return "text/x-python"
	case "go":
		return "text/x-go"
	case "sh":
		return "text/x-shellscript"
	}
	return dataType(strings.ToLower(name[dot+1:]))
}

func dataType(extension string) string {
	switch extension {
	case "json":
		return "application/json"
	case "jsonl", "ndjson":
		return "application/x-ndjson"
	case "yaml", "yml":
		return "application/yaml"
	case "toml":
		return "application/toml"
	case "xml":
		return "application/xml"
	case "pdf":
		return "application/pdf"
	case "zip":
		return "application/zip"
	case "gz", "tgz":
		return "application/gzip"
	case "tar":
		return "application/x-tar"
	case "wasm":
		return "application/wasm"
	case "sqlite", "db":
		return "application/vnd.sqlite3"
	case "docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case "xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case "pptx":
		return "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	case "epub":
		return "application/epub+zip"
	}
	return pictureType(extension)
}

func pictureType(extension string) string {
	switch extension {
	case "png", "gif", "webp", "avif", "bmp":
		return "image/" + extension
	case "jpg", "jpeg":
		return "image/jpeg"
	case "svg":
		return "image/svg+xml"
	case "ico":
		return "image/x-icon"
	case "mp3":
		return "audio/mpeg"
	case "wav", "ogg", "flac":
		return "audio/" + extension
	case "m4a":
		return "audio/mp4"
	case "mp4", "webm":
		return "video/" + extension
	case "mov":
		return "video/quicktime"
	}
	return ""
}
