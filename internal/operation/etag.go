package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Entity tags: an agent's is the number of its version, a file's the hash of its bytes, a session's that of what readers see
// of it, a tool's the address of its document and whether it is on.

func agentTag(a agent.Agent) string { return fmt.Sprintf("%q", fmt.Sprintf("v%d", a.Version)) }

func fileTag(hash string) string { return `"` + hash + `"` }

func toolTag(s tooldoc.Stored) string { return fmt.Sprintf(`"%s-%t"`, s.CID, s.Enabled) }

func sessionTag(s *sessionlog.Session) (string, error) {
	const length = 16
	body, err := json.Marshal(s.Info())
	if err != nil {
		return "", fmt.Errorf("tag session: %w", err)
	}
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:length]) + `"`, nil
}

// matches tells whether the value of If-Match, a list of tags or *, names a tag. Weak tags never do.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part == "*" || part == tag {
			return true
		}
	}
	return false
}
