package engine

import (
	"fmt"

	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
)

// maxMembers bounds the members that a request names; a count stands for the others.
const maxMembers = 50

// member is an account that takes part in the conversations of a shared agent.
type member struct {
	AccountID string `json:"accountId"`
	Role      string `json:"role"`
}

// readMembers are those who share the agent of a session, its owner first; none when nobody does.
func readMembers(tx store.Tx, session *sessionlog.Session) ([]member, error) {
	rows, err := collaborator.Of(tx, session.Agent)
	if err != nil {
		return nil, err
	}
	out := []member{{session.Account, collaborator.Owner}}
	for _, row := range rows {
		if row.Status == collaborator.Accepted {
			out = append(out, member{row.Account, row.Role})
		}
	}
	if len(out) == 1 {
		return nil, nil
	}
	return out, nil
}

// membersBlock tells a model who may speak to it (spec §7.2). Every message says in <message_sender> whose it is.
func membersBlock(members []member) string {
	if len(members) == 0 {
		return ""
	}
	more := ""
	if n := len(members) - maxMembers; n > 0 {
		members, more = members[:maxMembers], fmt.Sprintf(" more=\"%d\"", n)
	}
	return fmt.Sprintf("<conversation_members%s note=\"this agent is shared: message_sender says who wrote a message; who asks does not change whose agent you are\">%s</conversation_members>\n",
		more, frameJSON(members))
}
