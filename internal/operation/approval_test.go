package operation_test

import (
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestADecisionSaysYesOrNoAndItsNoteIsBounded(t *testing.T) {
	t.Parallel()
	w := asked(t, build(t, server.Config{}))
	longest := strings.Repeat("n", govern.MaxNote)
	for _, c := range []struct {
		action  string
		request object
		status  int
		text    string
	}{
		{"ListApprovals", object{"status": "later"}, 400, "Status is invalid: pending, approved, rejected or canceled"},
		{"ListApprovals", object{"limit": 0}, 400, "limit must be a positive integer"},
		{"GetApproval", object{}, 400, "Approval ID is required"},
		{"DecideApproval", object{"approvalId": w.approval}, 400, "approve must be true or false"},
		{"DecideApproval", object{"approvalId": w.approval, "approve": true, "note": longest + "n"}, 400, "Note is too large"},
		{"DecideApproval", object{"approvalId": w.approval, "approve": false, "note": longest}, 200, ""},
		{"DecideApproval", object{"approvalId": w.approval, "approve": true}, 409, "This was decided before: rejected"},
	} {
		if _, status, text := act(t, w.h.Client, c.action, c.request); status != c.status || text != c.text {
			t.Errorf("%s %.100v: %d %q, want %d %q", c.action, c.request, status, text, c.status, c.text)
		}
	}
	kept := servertest.Call[wire.ApprovalResponse](w.h, "GetApproval", object{"approvalId": w.approval}).Approval
	if kept.Note != longest || kept.Status != string(govern.Rejected) {
		t.Errorf("kept %s with a note of %d bytes", kept.Status, len(kept.Note))
	}
}
