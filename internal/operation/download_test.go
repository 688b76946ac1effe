package operation_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// remoteFile serves files at an address that the configuration lets agents reach, and returns that of one.
func remoteFile(t *testing.T, cfg *server.Config) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/notes/plan.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("the plan"))
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/notes/plan.txt?v=2", http.StatusFound)
	})
	mux.HandleFunc("/api/data", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "2147483649") })
	remote := httptest.NewServer(mux)
	t.Cleanup(remote.Close)
	cfg.EgressAllow = append(cfg.EgressAllow, strings.TrimPrefix(remote.URL, "http://"))
	return remote.URL + "/notes/plan.txt"
}

func TestTheServerDownloadsAFileIntoAMemory(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		base := strings.TrimSuffix(remoteFile(t, &cfg), "/notes/plan.txt")
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		host := strings.Split(strings.TrimPrefix(base, "http://"), ":")[0]
		for _, c := range []struct {
			path               string
			to                 any
			want, final, media string
		}{
			{"/notes/plan.txt", nil, "downloads/plan.txt", "/notes/plan.txt", "text/plain"},
			{"/moved#part", "kept/here.md", "kept/here.md", "/notes/plan.txt?v=2", "text/plain"},
			{"/moved", nil, "downloads/plan.txt", "/notes/plan.txt?v=2", "text/plain"},
			{"/api/data", nil, "downloads/data.json", "/api/data", "application/json"},
		} {
			out := must(t, h.Client, "DownloadAgentMemoryFile", object{"agentId": agent, "url": base + c.path, "path": c.to})
			entry := out["entry"].(object)
			if entry["path"] != c.want || out["finalUrl"] != base+c.final || out["contentType"] != c.media || out["agentId"] != agent {
				t.Errorf("%s: %v", c.path, out)
			}
		}
		file := must(t, h.Client, "ReadAgentMemoryFile", object{"agentId": agent, "path": "kept/here.md"})["file"].(object)
		if file["content"] != "the plan" {
			t.Errorf("the file is %v", file)
		}
		for _, c := range []struct {
			url    any
			path   any
			status int
			text   string
		}{
			{nil, nil, 400, "URL is required"},
			{"ftp://" + host + "/x", nil, 400, "URL must be an http or https address of at most 4096 bytes"},
			{"plan.txt", nil, 400, "URL must be an http or https address of at most 4096 bytes"},
			{"http://" + long(5000), nil, 400, "URL is too large"},
			{base + "/none", nil, 502, "Download failed: HTTP 404"},
			{base + "/cut", nil, 502, "Download broke off before its end"},
			{base + "/huge", nil, 413, "Download is too large: at most 2147483648 bytes"},
			{base + "/notes/plan.txt", "../x", 400, "Memory path is invalid: it must not contain .."},
			{base + "/notes/plan.txt", "downloads", 409, "Memory path is a directory: downloads"},
			{"http://127.0.0.1:1/x", nil, 403, ""},
			{"http://169.254.169.254/latest/meta-data", nil, 403, ""},
			{"http://localhost:9/x", nil, 403, ""},
		} {
			_, status, text := act(t, h.Client, "DownloadAgentMemoryFile", object{"agentId": agent, "url": c.url, "path": c.path})
			if status != c.status || c.text != "" && text != c.text {
				t.Errorf("%.60v to %v: %d %q, want %d %q", c.url, c.path, status, text, c.status, c.text)
			}
		}
	})
}

func TestOneLevelOfAMemoryIsListed(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		for _, path := range []string{"a.txt", "dir/b.txt", "dir/deep/c.txt", "dir/deep/d.txt"} {
			must(t, h.Client, "WriteAgentMemoryFile", object{"agentId": agent, "path": path, "content": "1234"})
		}
		for path, want := range map[string]struct {
			entries string
			bytes   int64
		}{
			"": {"a.txt dir", 16}, "dir": {"dir/b.txt dir/deep", 12}, "dir/": {"dir/b.txt dir/deep", 12}, "dir/deep": {"dir/deep/c.txt dir/deep/d.txt", 8},
		} {
			request := object{"agentId": agent}
			if path != "" {
				request["path"] = path
			}
			out := must(t, h.Client, "ListAgentMemoryDir", request)
			var names []string
			for _, e := range out["entries"].([]any) {
				names = append(names, e.(object)["path"].(string))
				if e.(object)["path"] == "dir" && e.(object)["entryCount"] != int64(2) {
					t.Errorf("the folder is %v", e)
				}
			}
			totals := out["totals"].(object)
			if strings.Join(names, " ") != want.entries || out["totalBytes"] != want.bytes || out["path"] != strings.Trim(path, "/") ||
				totals["bytes"] != int64(16) || totals["files"] != int64(4) || totals["truncated"] != false {
				t.Errorf("%q: %v", path, out)
			}
		}
		for path, want := range map[string]string{"a.txt": "Memory path is a file, not a directory: a.txt", "none": "Memory directory not found"} {
			if _, _, text := act(t, h.Client, "ListAgentMemoryDir", object{"agentId": agent, "path": path}); text != want {
				t.Errorf("%s: %s", path, text)
			}
		}
	})
}
