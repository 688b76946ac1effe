package wire

// Change is one difference between versions of the protocol that a client can notice. What only adds fields or actions needs no
// version and stands nowhere here.
type Change struct {
	// Since is the first version in which Now holds; a client that declares a lower one gets Before.
	Since int
	// Name is the difference in a few words, the same in the document and in the tests.
	Name        string
	Now, Before string
}

// The versions that servers ask for. Each stands in Changes.
const (
	// SinceSessionCount: an agent comes with the number of its sessions instead of with the sessions.
	SinceSessionCount = 2
	// SinceTruncated: a page of a session's events holds the beginnings of large ones.
	SinceTruncated = 3
	// SinceCompound: triggers wait for groups of activities, replies, and comments on documents of an account.
	SinceCompound = 3
)

// Changes lists the differences between the versions, oldest first. The document of the protocol is generated from it, and a
// test walks it with clients of every version.
func Changes() []Change {
	return []Change{
		{
			SinceSessionCount, "sessions of an agent",
			"`GetAgentResponse` has `sessionCount`; sessions are paged with `ListSessions`",
			"it also has `sessions`, the newest 50 that no other session started",
		},
		{
			SinceTruncated, "large events in pages",
			"`GetSession` with `beforeSeq` or `limit` answers an event of more than 64 KiB with `truncated: true` and a shortened payload; " +
				"`GetSessionEvent` has it whole",
			"every event is whole",
		},
		{
			SinceCompound, "triggers of several activities",
			"sources `activity`, `comment-reply` and `document-author-comment`",
			"`ListAgentTriggers` leaves such triggers out; other actions on them answer 426 with `protocol_too_old`",
		},
	}
}
