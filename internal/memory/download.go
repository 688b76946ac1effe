package memory

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
)

// Limits of a download beside MaxStreamBytes and the idle timeout of the client.
const (
	// MaxDownloadTime bounds it whole.
	MaxDownloadTime = 30 * time.Minute
	// MaxURL bounds its address in bytes.
	MaxURL = 4 << 10
	// DownloadDir is where files go that are given no path.
	DownloadDir = "downloads"
)

// Download is a file that was fetched and is kept, but has no row yet.
type Download struct {
	Prepared
	// FinalURL is where the redirects ended, ContentType what the other side says it is; both come from outside.
	FinalURL, ContentType string
	// Path is where the file goes when nobody says: its name in the address, beneath DownloadDir.
	Path string
}

// Room is how many bytes there is room for, and what is said of more.
type Room struct {
	Bytes int64
	Over  func() error
}

// Fetch gets a file from the network, if there is room for it. client is one of the egress class agent: it decides which addresses may be reached and
// how long the other side may be silent. It does I/O: call it outside of transactions. A bad address is fault.Invalid, a
// refused one fault.PermissionDenied, too much fault.TooLarge, and a failure of the other side fault.ProviderError.
func Fetch(ctx context.Context, client *http.Client, blobs Blobs, address string, room Room) (Download, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || len(address) > MaxURL || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Download{}, fault.Invalid("URL must be an http or https address of at most %d bytes", MaxURL).With("field", "url")
	}
	ctx, cancel := context.WithTimeout(ctx, MaxDownloadTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Download{}, fault.Invalid("URL must be an http or https address").With("field", "url")
	}
	res, err := client.Do(req)
	if err != nil {
		return Download{}, tooLate(ctx, egress.Clean(err))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return Download{}, fault.New(fault.ProviderError, "Download failed: HTTP %d", res.StatusCode)
	}
	if res.ContentLength > room.Bytes {
		return Download{}, room.Over()
	}
	if res.ContentLength > MaxStreamBytes {
		return Download{}, fault.New(fault.TooLarge, "Download is too large: at most %d bytes", MaxStreamBytes).With("limit", MaxStreamBytes)
	}
	prepared, err := PrepareFrom(ctx, blobs, bounded.Reader(&answered{from: res}, room.Bytes, room.Over))
	if err != nil {
		return Download{}, tooLate(ctx, err)
	}
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	final := *res.Request.URL
	final.User = nil
	return Download{Prepared: prepared, FinalURL: final.String(), ContentType: media, Path: DownloadDir + "/" + nameOf(&final, media)}, nil
}

// answered is a body whose failures are those of the other side.
type answered struct{ from *http.Response }

// Read implements io.Reader.
func (a *answered) Read(p []byte) (int, error) {
	n, err := a.from.Body.Read(p)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fault.Wrap(err, fault.ProviderError, "Download broke off before its end")
	case err != nil && !errors.Is(err, io.EOF):
		err = egress.Clean(err)
	}
	return n, err
}

// tooLate names the download's own deadline.
func tooLate(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.ProviderError, "Download took longer than %s", MaxDownloadTime)
	}
	return err
}

// nameOf is a file's name: the last one in its address, with an extension by its media type when it has none.
func nameOf(u *url.URL, media string) string {
	name := path.Base(u.Path)
	if name == "." || name == "/" {
		name = u.Hostname()
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if path.Ext(name) == "" {
		name += extension(media)
	}
	if name == ".." {
		name = "file"
	}
	for len(name) > MaxSegment {
		name = strings.ToValidUTF8(name[:MaxSegment], "")
	}
	return name
}

// extension is that of the media types that people download; empty for others.
func extension(media string) string {
	return map[string]string{
		"text/html": ".html", "text/plain": ".txt", "text/markdown": ".md", "text/csv": ".csv", "application/json": ".json",
		"application/pdf": ".pdf", "application/xml": ".xml", "text/xml": ".xml", "application/zip": ".zip",
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"audio/mpeg": ".mp3", "video/mp4": ".mp4",
	}[media]
}
