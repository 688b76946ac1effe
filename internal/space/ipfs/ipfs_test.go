package ipfs_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/id"
	files "github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/ipfs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

type bench struct {
	t       *testing.T
	store   store.Store
	blobs   *blobstore.Dir
	log     *sessionlog.Log
	network *hypermediatest.Server
	scheme  *ipfs.Scheme
	scope   space.Scope
	changes int
	full    bool
}

func each(t *testing.T, fn func(t *testing.T, b *bench)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		blobs, err := blobstore.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = blobs.Close() })
		now := clock.NewFake(time.UnixMilli(1000))
		b := &bench{t: t, store: s, blobs: blobs, network: hypermediatest.New(t)}
		b.log = sessionlog.New(sessionlog.Options{Clock: now, IDs: id.Sequence(), Bus: bus.NewLocal(), Blobs: blobs})
		client := hypermediatest.Client(t, b.network.URL)
		b.scheme = ipfs.New(ipfs.Options{
			Gateway: client, Server: client, Store: s, Blobs: blobs, Log: b.log, Clock: now,
			Changed: func(tx store.Tx, _ space.Scope) { tx.AfterCommit(func() { b.changes++ }) },
			Kept: func(store.Tx, space.Scope) error {
				if b.full {
					return fault.New(fault.TooLarge, "full")
				}
				return nil
			},
		})
		b.scope = space.Scope{Account: "account", Agent: "agent", Session: "session"}
		fn(t, b)
	})
}

func (b *bench) write(content string, options map[string]any, dry *bool) (space.Result, error) {
	b.t.Helper()
	req := space.WriteRequest{Address: "ipfs://", Options: options, DryRun: dry}
	if content != "" {
		req.Content = &content
	}
	change, err := b.scheme.Write(b.t.Context(), b.scope, req)
	if err != nil {
		return nil, err
	}
	return change.Apply(nil)
}

func (b *bench) read(cid string, options map[string]any) (space.Result, error) {
	b.t.Helper()
	return b.scheme.Read(b.t.Context(), b.scope, space.ReadRequest{Address: "ipfs://" + cid, Options: options})
}

func (b *bench) remember(path, text string) {
	b.t.Helper()
	p, err := files.Prepare(b.t.Context(), b.blobs, []byte(text))
	if err == nil {
		err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := files.Write(tx, "agent", path, p, 1)
			return err
		})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestAFileOfMemoryIsPublishedAndReadBack(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.remember("a/b.txt", "Hello, Seed!\n")
		for _, path := range []string{"a/b.txt", "~/memory/a/b.txt"} {
			out, err := b.write("", map[string]any{"fromPath": path}, nil)
			if err != nil || out["url"] != "ipfs://"+out["cid"].(string) || out["size"] != 13 || out["path"] != "a/b.txt" {
				t.Fatalf("%v, %v", out, err)
			}
			if got := b.network.Block(out["cid"].(string)); string(got) != "Hello, Seed!\n" {
				t.Errorf("the server has %q", got)
			}
			for options, want := range map[string]string{"": "ipfs/" + out["cid"].(string), "~/memory/kept.txt": "kept.txt"} {
				var given map[string]any
				if options != "" {
					given = map[string]any{"path": options}
				}
				back, err := b.read(out["cid"].(string), given)
				if err != nil || back["path"] != want || !strings.Contains(back["content"].(string), "Hello, Seed!\n\n</outside>") {
					t.Errorf("%v, %v", back, err)
				}
			}
		}
		if b.changes != 4 {
			t.Errorf("memory changed %d times", b.changes)
		}
		b.full = true
		b.remember("c", "other")
		out, err := b.write("", map[string]any{"fromPath": "c"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.read(out["cid"].(string), nil); fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("a full memory: %v", err)
		}
	})
}

func TestAFileOfTheConversationIsPublishedAndThatOfAnotherIsNot(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		a, err := b.log.PrepareAttachment(t.Context(), "x.bin", "", make([]byte, 600_000))
		if err != nil {
			t.Fatal(err)
		}
		var info wire.AttachmentInfo
		err = b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			s, err := b.log.Create(tx, sessionlog.CreateParams{Account: "account", Agent: "agent"})
			if err != nil {
				return err
			}
			info, err = b.log.Attach(tx, s.ID, a)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.scope.Session = info.SessionID
		out, err := b.write("", map[string]any{"fromAttachment": info.ID}, nil)
		if err != nil || out["size"] != 600_000 || b.network.Len() != 3 {
			t.Errorf("%v, %d blobs, %v", out, b.network.Len(), err)
		}
		b.scope.Session = "other"
		if _, err := b.write("", map[string]any{"fromAttachment": info.ID}, nil); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another conversation's file: %v", err)
		}
	})
}

func TestObjectsArePublishedCheckedAndDecoded(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		const object = `{"b":{"/":{"bytes":"AQI"}},"n":-5,"f":1.5,"l":[true,null,{"/":"bafyreigefo2lkltjz7ymi4hgnpq3qrc67zgoop5mweqjoaybe7f4xu7dwy"}]}`
		dry := true
		checked, err := b.write(object, nil, &dry)
		if err != nil || checked["dryRun"] != true || b.network.Len() != 0 {
			t.Fatalf("a dry run: %v, %v", checked, err)
		}
		blob, err := hypermedia.Object(object)
		if err != nil || blob.CID.String() != checked["cid"] {
			t.Fatal(blob.CID, err)
		}
		b.network.Put(blob.Data)
		out, err := b.read(blob.CID.String(), nil)
		var want, got any
		encoded, _ := json.Marshal(out["value"])
		if json.Unmarshal([]byte(object), &want) != nil || json.Unmarshal(encoded, &got) != nil || fmt.Sprint(got) != fmt.Sprint(want) || err != nil || out["signature"] != nil {
			t.Errorf("%s, %v", encoded, err)
		}
	})
}

func TestASignedObjectSaysWhoseItIs(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		key, err := principal.NewKey(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		profile, err := hypermedia.Profile(key, "Alice", "", 7)
		if err != nil {
			t.Fatal(err)
		}
		b.network.Put(profile.Data)
		out, err := b.read(profile.CID.String(), nil)
		if err != nil || fmt.Sprint(out["signature"]) != "map[signer:"+key.ID().String()+" valid:true]" {
			t.Errorf("%v, %v", out["signature"], err)
		}
	})
}

func TestPublishingNeedsItsGrant(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.remember("a", "x")
		for _, tools := range [][]string{{}, {"search", "memory_write"}} {
			b.scope.Definition = wire.AgentDefinition{Tools: &tools}
			for _, options := range []map[string]any{{"fromPath": "a"}, nil} {
				if _, err := b.write(map[bool]string{true: "", false: "{}"}[options != nil], options, nil); fault.CodeOf(err) != fault.PermissionDenied || fault.From(err).Status() != 403 {
					t.Errorf("%v %v: %v", tools, options, err)
				}
			}
		}
		if b.network.Len() != 0 {
			t.Error("something was published")
		}
		b.scope.Definition = wire.AgentDefinition{Tools: &[]string{"publish"}}
		if _, err := b.write("", map[string]any{"fromPath": "a"}, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatCannotBePublishedOrReadSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		yes := true
		for name, c := range map[string]struct {
			content string
			options map[string]any
			dry     *bool
			code    fault.Code
		}{
			"nothing":        {"", nil, nil, fault.ValidationFailed},
			"two":            {"", map[string]any{"fromPath": "a", "fromAttachment": "b"}, nil, fault.ValidationFailed},
			"both":           {"{}", map[string]any{"fromPath": "a"}, nil, fault.ValidationFailed},
			"no text":        {"", map[string]any{"fromPath": 1.}, nil, fault.ValidationFailed},
			"unknown option": {"{}", map[string]any{"sign": true}, nil, fault.ValidationFailed},
			"dry file":       {"", map[string]any{"fromPath": "a"}, &yes, fault.ValidationFailed},
			"no file":        {"", map[string]any{"fromPath": "none"}, nil, fault.NotFound},
			"above memory":   {"", map[string]any{"fromPath": "../../etc/passwd"}, nil, fault.ValidationFailed},
			"no JSON":        {"x", nil, nil, fault.ValidationFailed},
			"a list":         {"[]", nil, nil, fault.ValidationFailed},
			"a bad link":     {`{"a":{"/":"x"}}`, nil, nil, fault.ValidationFailed},
			"bad bytes":      {`{"a":{"/":{"bytes":"?"}}}`, nil, nil, fault.ValidationFailed},
			"too deep":       {strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), nil, nil, fault.ValidationFailed},
			"too large":      {`{"a":"` + strings.Repeat("x", 256<<10) + `"}`, nil, nil, fault.TooLarge},
		} {
			if _, err := b.write(c.content, c.options, c.dry); fault.CodeOf(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, c := range map[string]struct {
			cid     string
			options map[string]any
			code    fault.Code
		}{
			"no CID":        {"x", nil, fault.ValidationFailed},
			"a bad path":    {"bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", map[string]any{"path": "../x"}, fault.ValidationFailed},
			"nothing there": {"bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", nil, fault.NotFound},
		} {
			if _, err := b.read(c.cid, c.options); fault.CodeOf(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		// A server that sends something else is caught.
		blob, err := hypermedia.File([]byte("right"))
		if err != nil {
			t.Fatal(err)
		}
		b.network.Lie(blob[0].CID.String(), []byte("wrong"))
		if _, err := b.read(blob[0].CID.String(), nil); fault.CodeOf(err) != fault.ProviderError || b.changes != 0 {
			t.Errorf("other bytes: %v", err)
		}
	})
}

func TestWithoutAServerTheMissingSettingIsNamed(t *testing.T) {
	t.Parallel()
	s := ipfs.New(ipfs.Options{})
	_, err := s.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: "ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"})
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "--hm-server-url") || s.Forms() != nil {
		t.Errorf("read: %v", err)
	}
	content := "{}"
	if _, err = s.Write(t.Context(), space.Scope{}, space.WriteRequest{Address: "ipfs://", Content: &content}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("write: %v", err)
	}
}

func FuzzObject(f *testing.F) {
	f.Add(`{"a":{"/":{"bytes":"` + base64.RawStdEncoding.EncodeToString([]byte("x")) + `"}},"n":[1,2.5,null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		blob, err := hypermedia.Object(text)
		if err == nil && !hypermedia.Names(blob.CID, blob.Data) {
			t.Errorf("%q: its CID does not name it", text)
		}
	})
}
