package sessionlog_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

func (b *bench) prepare(t testing.TB, name, mimeType string, content []byte) sessionlog.Attachment {
	t.Helper()
	a, err := b.log.PrepareAttachment(context.WithoutCancel(t.Context()), name, mimeType, content)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (b *bench) attach(t testing.TB, session, name, content string) (info wire.AttachmentInfo) {
	t.Helper()
	a := b.prepare(t, name, "", []byte(content))
	b.write(t, func(tx store.Tx) (err error) {
		info, err = b.log.Attach(tx, session, a)
		return err
	})
	return info
}

func TestTheSameBytesAreOneAttachmentOfASession(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s, other := b.create(t, sessionlog.CreateParams{}), b.create(t, sessionlog.CreateParams{})
		first := b.attach(t, s.ID, "a.txt", "same")
		b.clock.Advance(1000)
		again, elsewhere, different := b.attach(t, s.ID, "b.png", "same"), b.attach(t, other.ID, "c.md", "same"), b.attach(t, s.ID, "a.txt", "else")
		if again != first || first.ID != "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5" || first.Size != 4 {
			t.Errorf("the same bytes are %+v and %+v", first, again)
		}
		if elsewhere.ID != first.ID || elsewhere.SessionID != other.ID || elsewhere.Name != "c.md" || different.ID == first.ID {
			t.Errorf("in another session the bytes are %+v, others are %+v", elsewhere, different)
		}
		got := read(t, b, func(tx store.Tx) (wire.AttachmentInfo, error) { return sessionlog.GetAttachment(tx, s.ID, first.ID) })
		data, err := b.log.AttachmentData(t.Context(), got)
		if got != first || err != nil || string(data) != "same" {
			t.Errorf("read back %+v with %q, %v", got, data, err)
		}
	})
}

func TestAnAttachmentThatASessionDoesNotHaveIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s, other := b.create(t, sessionlog.CreateParams{}), b.create(t, sessionlog.CreateParams{})
		a := b.attach(t, other.ID, "a.txt", "bytes")
		err := b.store.Read(t.Context(), func(tx store.Tx) error {
			_, err := sessionlog.GetAttachment(tx, s.ID, a.ID)
			return err
		})
		wantCode(t, err, fault.NotFound, "Attachment not found: "+a.ID)
	})
}

func TestAttachmentNamesAreBaseNamesWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	long := strings.Repeat("ü", 128)
	for name, want := range map[string]string{
		"a.txt": "a.txt", "/etc/passwd": "passwd", `C:\Users\me\b.txt`: "b.txt", "../../c": "c", "dir/": "dir", "a\x00b\r\n\x7f\u0085c": "abc",
		"": "file", "/": "file", "..": "file", ".": "file", "\x01": "file", ".\x02.": "file", "x/\x01": "file", long + "!": long, "a" + long: "a" + long[2:],
		"a\xffb": "a\ufffdb", "日本.md": "日本.md",
	} {
		if got := b.prepare(t, name, "", []byte("x")).Name; got != want {
			t.Errorf("name %q became %q, want %q", name, got, want)
		}
	}
}

func TestTheTypeOfAnAttachmentIsTheClientsOrTheExtensions(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	for _, c := range [][3]string{
		{"a.png", "", "image/png"}, {"A.JPEG", "", "image/jpeg"}, {"a.jpg", "", "image/jpeg"}, {"a.gif", "", "image/gif"}, {"a.webp", "", "image/webp"},
		{"a.pdf", "", "application/pdf"}, {"a.md", "", "text/markdown"}, {"a.log", "", "text/plain"}, {"a.csv", "", "text/csv"},
		{"a.json", "", "application/json"}, {"a.html", "", "text/html"}, {"a.bin", "", ""}, {"a", "", ""}, {"a.png", "text/x-own", "text/x-own"},
	} {
		if got := b.prepare(t, c[0], c[1], []byte("x")).MIMEType; got != c[2] {
			t.Errorf("%s with %q is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestTheSizeOfAnAttachmentIsLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	_, err := b.log.PrepareAttachment(t.Context(), "a", "", nil)
	wantCode(t, err, fault.ValidationFailed, "Attachment content is required")
	content := make([]byte, sessionlog.MaxAttachmentBytes+1)
	_, err = b.log.PrepareAttachment(t.Context(), "a", "", content)
	wantCode(t, err, fault.TooLarge, "Attachment is too large: at most 104857600 bytes")
	largest := content[:sessionlog.MaxAttachmentBytes]
	a := b.prepare(t, "a", "", largest)
	data, err := b.log.AttachmentData(t.Context(), wire.AttachmentInfo{ID: a.Hash})
	if err != nil || a.Size != sessionlog.MaxAttachmentBytes || !bytes.Equal(data, largest) {
		t.Errorf("the largest attachment came back as %d bytes, %v", len(data), err)
	}
}

// Concurrent uploads meet at the limit: exactly as many as fit are taken, and the same bytes never fail.
func TestASessionTakesExactlyMaxAttachments(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		b.write(t, func(tx store.Tx) error {
			for i := range sessionlog.MaxAttachments - 2 {
				if _, err := b.log.Attach(tx, s.ID, sessionlog.Attachment{Hash: fmt.Sprint(i), Size: 1, Name: "a"}); err != nil {
					return err
				}
			}
			return nil
		})
		var mu sync.Mutex
		taken := 0
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
					// Two writers bring the same bytes.
					_, err := b.log.Attach(tx, s.ID, sessionlog.Attachment{Hash: fmt.Sprint("new", i/2), Size: 1, Name: "a"})
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					taken++
				} else {
					wantCode(t, err, fault.TooLarge, "Session has too many attachments: at most 200")
				}
			})
		}
		wg.Wait()
		if got := b.rows(t); taken != 4 || got != "1 sessions, 0 events, 200 attachments" {
			t.Errorf("%d of 6 writers of 3 files were taken; there are %s", taken, got)
		}
	})
}
