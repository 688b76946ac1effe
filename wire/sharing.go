package wire

// CollaboratorInfo is an account that works with an agent. Role is owner, writer or reader, Status accepted or pending; times are
// epoch milliseconds.
type CollaboratorInfo struct {
	AccountID string `json:"accountId"`
	Role      string `json:"role"`
	Status    string `json:"status"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
}

// InviteInfo is an invitation as the invited account sees it.
type InviteInfo struct {
	AgentID        string `json:"agentId"`
	AgentName      string `json:"agentName"`
	OwnerAccountID string `json:"ownerAccountId"`
	Role           string `json:"role"`
	CreatedAt      int64  `json:"createdAt"`
	UpdatedAt      int64  `json:"updatedAt"`
}

// ListAgentInvitesResponse lists pending invitations to the caller, newest update first.
type ListAgentInvitesResponse struct {
	Invites []InviteInfo `json:"invites"`
}

// ListAgentCollaboratorsResponse lists who works with an agent, the owner first. Only the owner sees who has not accepted yet.
type ListAgentCollaboratorsResponse struct {
	AgentID       string             `json:"agentId"`
	PublicRead    bool               `json:"publicRead"`
	PublicChat    bool               `json:"publicChat"`
	Collaborators []CollaboratorInfo `json:"collaborators"`
}

// InviteAgentCollaboratorRequest invites an account as a reader or a writer, or gives a collaborator another role.
type InviteAgentCollaboratorRequest struct {
	AgentID   string `json:"agentId"`
	AccountID string `json:"accountId"`
	Role      string `json:"role"`
}

// CollaboratorResponse is one collaborator.
type CollaboratorResponse struct {
	Collaborator CollaboratorInfo `json:"collaborator"`
}

// CollaboratorRequest names an account on an agent.
type CollaboratorRequest struct {
	AgentID   string `json:"agentId"`
	AccountID string `json:"accountId"`
}

// AgentResponse is one agent.
type AgentResponse struct {
	Agent AgentInfo `json:"agent"`
}

// SetAgentPublicReadRequest lets every account read an agent, or only its collaborators.
type SetAgentPublicReadRequest struct {
	AgentID    string `json:"agentId"`
	PublicRead bool   `json:"publicRead"`
}

// SetAgentPublicChatRequest lets every account talk to an agent that every account may read.
type SetAgentPublicChatRequest struct {
	AgentID    string `json:"agentId"`
	PublicChat bool   `json:"publicChat"`
}
