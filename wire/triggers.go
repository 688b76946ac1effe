package wire

// TriggerSource says what makes a trigger fire (spec §10). Type decides which of the other fields count.
type TriggerSource struct {
	// Type is schedule, webhook, run-completed, document-comment, user-mention, site-update, comment-reply, document-author-comment
	// or activity.
	Type string `json:"type"`
	// Schedule is that of a schedule.
	Schedule *TriggerSchedule `json:"schedule,omitempty"`
	// Signed asks for the signature of Standard Webhooks on every delivery to a webhook.
	Signed bool `json:"signed,omitempty"`
	// AgentID, Status and TitleMatch narrow run-completed: runs of this agent, runs that succeeded, failed or were canceled, runs whose
	// title contains a text, whatever the case.
	AgentID    string `json:"agentId,omitempty"`
	Status     string `json:"status,omitempty"`
	TitleMatch string `json:"titleMatch,omitempty"`
	// Resource and Author belong to document-comment: comments on a document or below it, by anybody or by one account.
	Resource string `json:"resource,omitempty"`
	Author   string `json:"author,omitempty"`
	// MentionedAccounts belong to user-mention; MentionedAccount is the form of older clients.
	MentionedAccounts []string `json:"mentionedAccounts,omitempty"`
	MentionedAccount  string   `json:"mentionedAccount,omitempty"`
	// ResourcePrefix narrows activities to a site or a part of one.
	ResourcePrefix string   `json:"resourcePrefix,omitempty"`
	EventTypes     []string `json:"eventTypes,omitempty"`
	// RepliedToAccounts belong to comment-reply, DocumentAuthors to document-author-comment.
	RepliedToAccounts []string `json:"repliedToAccounts,omitempty"`
	DocumentAuthors   []string `json:"documentAuthors,omitempty"`
	// Conditions belong to activity: any of them is enough.
	Conditions []TriggerCondition `json:"conditions,omitempty"`
}

// TriggerCondition is one of the activities that a trigger waits for.
type TriggerCondition struct {
	ID     string        `json:"id"`
	Source TriggerSource `json:"source"`
}

// TriggerSchedule says when a schedule is due. A cron schedule is shown as an interval with a cron expression and a time zone; every
// and unit are then its shortest gap.
type TriggerSchedule struct {
	// Kind is interval, weekly or once. A request may say cron as well.
	Kind string `json:"kind"`
	// Every and Unit (minutes, hours or days) belong to an interval.
	Every int64  `json:"every,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Cron has five fields: minute, hour, day of the month, month, day of the week.
	Cron string `json:"cron,omitempty"`
	// DaysOfWeek (0 is Sunday) and TimeOfDay (HH:MM) belong to weekly.
	DaysOfWeek []int64 `json:"daysOfWeek,omitempty"`
	TimeOfDay  string  `json:"timeOfDay,omitempty"`
	// Timezone is a name of the IANA database.
	Timezone string `json:"timezone,omitempty"`
	// RunAt belongs to once, in epoch milliseconds.
	RunAt int64 `json:"runAt,omitempty"`
}

// TriggerContinuation says what a trigger does when it fires. Kind decides which of the other fields count; without one a new thread
// begins.
type TriggerContinuation struct {
	// Kind is newThread, wake, tool, script or webhook.
	Kind string `json:"kind"`
	// SessionID makes newThread go on in a conversation that there is.
	SessionID string `json:"sessionId,omitempty"`
	// Signal, RunID and Payload belong to wake: what a waiting run is given. Without a run every run of the agent that waits for the
	// signal is.
	Signal  string `json:"signal,omitempty"`
	RunID   string `json:"runId,omitempty"`
	Payload any    `json:"payload,omitempty"`
	// Tool and Script are called or run without a conversation, with Input. Texts "$event" and "$event.path" in an input or a payload
	// stand for what happened.
	Tool   string `json:"tool,omitempty"`
	Script string `json:"script,omitempty"`
	Input  any    `json:"input,omitempty"`
	// OnFailure is thread when a failure of the tool or script opens a thread about it; none otherwise.
	OnFailure string `json:"onFailure,omitempty"`
	// URL belongs to webhook: where the event is sent, signed.
	URL string `json:"url,omitempty"`
}

// TriggerInput is a trigger to make.
type TriggerInput struct {
	Name string `json:"name"`
	// Enabled is true when absent.
	Enabled *bool         `json:"enabled,omitempty"`
	Source  TriggerSource `json:"source"`
	// Prompt is Markdown or blocks.
	Prompt       any                  `json:"prompt,omitempty"`
	Continuation *TriggerContinuation `json:"continuation,omitempty"`
	// SigningSecret is the secret, whsec_…, that a webhook's deliveries are signed with, when their sender has made it. Without one the
	// server makes it.
	SigningSecret string `json:"signingSecret,omitempty"`
}

// TriggerPatch changes parts of a trigger.
type TriggerPatch struct {
	Name          *string              `json:"name,omitempty"`
	Enabled       *bool                `json:"enabled,omitempty"`
	Source        *TriggerSource       `json:"source,omitempty"`
	Prompt        any                  `json:"prompt,omitempty"`
	Continuation  *TriggerContinuation `json:"continuation,omitempty"`
	SigningSecret *string              `json:"signingSecret,omitempty"`
	// RotateSecrets makes new secrets of a webhook; the old ones stop to work at once.
	RotateSecrets bool `json:"rotateSecrets,omitempty"`
}

// TriggerInfo is a trigger as its readers see it (spec §4).
type TriggerInfo struct {
	ID            string               `json:"id"`
	Account       string               `json:"account"`
	AgentID       string               `json:"agentId"`
	Name          string               `json:"name"`
	Enabled       bool                 `json:"enabled"`
	Source        TriggerSource        `json:"source"`
	Prompt        PromptBlocks         `json:"prompt"`
	Continuation  *TriggerContinuation `json:"continuation,omitempty"`
	CreatedAt     int64                `json:"createdAt"`
	UpdatedAt     int64                `json:"updatedAt"`
	LastCheckedAt int64                `json:"lastCheckedAt,omitempty"`
	LastFiredAt   int64                `json:"lastFiredAt,omitempty"`
	LastError     string               `json:"lastError,omitempty"`
	// MergedInto is the trigger that this one was combined into.
	MergedInto string `json:"mergedInto,omitempty"`
	// NextFireAt is when an enabled schedule is due.
	NextFireAt int64 `json:"nextFireAt,omitempty"`
	// When says for people what makes it fire, and Notice why it does not.
	When   string `json:"when,omitempty"`
	Notice string `json:"notice,omitempty"`
}

// TriggerFiring is one time that a trigger fired.
type TriggerFiring struct {
	ID              string `json:"id"`
	ActivityKey     string `json:"activityKey"`
	ActivitySummary string `json:"activitySummary"`
	// Status is created, running, succeeded, delivered, no-listener, escalated or error.
	Status            string             `json:"status"`
	Error             string             `json:"error,omitempty"`
	RunID             string             `json:"runId,omitempty"`
	SessionID         string             `json:"sessionId,omitempty"`
	MatchedConditions []TriggerCondition `json:"matchedConditions,omitempty"`
	CreatedAt         int64              `json:"createdAt"`
}

// SessionTrigger is the firing that a session began with.
type SessionTrigger struct {
	TriggerID         string             `json:"triggerId"`
	TriggerName       string             `json:"triggerName"`
	FiringID          string             `json:"firingId"`
	ActivityKey       string             `json:"activityKey"`
	ActivitySummary   string             `json:"activitySummary"`
	Source            TriggerSource      `json:"source"`
	FiredAt           int64              `json:"firedAt"`
	MatchedConditions []TriggerCondition `json:"matchedConditions,omitempty"`
}

// SessionTriggerContext is all that is known of that firing.
type SessionTriggerContext struct {
	SessionTrigger
	// Prompt is Markdown.
	Prompt       string       `json:"prompt"`
	PromptBlocks PromptBlocks `json:"promptBlocks,omitempty"`
	Activity     Payload      `json:"activity"`
	Status       string       `json:"status"`
	Error        string       `json:"error,omitempty"`
}

// TriggerRequest names a trigger.
type TriggerRequest struct {
	TriggerID string `json:"triggerId"`
}

// ListAgentTriggersResponse lists an agent's triggers, newest update first.
type ListAgentTriggersResponse struct {
	Triggers []TriggerInfo `json:"triggers"`
}

// GetAgentTriggerResponse is a trigger with the sessions that it started and its newest firings. Secrets are for those who may change
// it.
type GetAgentTriggerResponse struct {
	Trigger  TriggerInfo     `json:"trigger"`
	Sessions []SessionInfo   `json:"sessions"`
	Firings  []TriggerFiring `json:"firings"`
	TriggerSecrets
}

// TriggerSecrets are those of a webhook.
type TriggerSecrets struct {
	// WebhookSecret is the last segment of the address of deliveries, WebhookURL all of it.
	WebhookSecret string `json:"webhookSecret,omitempty"`
	WebhookURL    string `json:"webhookUrl,omitempty"`
	// SigningSecret signs deliveries (whsec_…): those that come in, or those that a webhook continuation sends.
	SigningSecret string `json:"signingSecret,omitempty"`
}

// CreateAgentTriggerRequest makes a trigger.
type CreateAgentTriggerRequest struct {
	AgentID         string       `json:"agentId"`
	Trigger         TriggerInput `json:"trigger"`
	ClientRequestID *string      `json:"clientRequestId,omitempty"`
}

// AgentTriggerResponse is a trigger, with its secrets when it has any.
type AgentTriggerResponse struct {
	Trigger TriggerInfo `json:"trigger"`
	TriggerSecrets
}

// UpdateAgentTriggerRequest changes a trigger, if it was last changed at ExpectedUpdatedAt when that is given.
type UpdateAgentTriggerRequest struct {
	TriggerID         string       `json:"triggerId"`
	Patch             TriggerPatch `json:"patch"`
	ExpectedUpdatedAt *int64       `json:"expectedUpdatedAt,omitempty"`
}

// CombineAgentTriggersRequest merges the conditions of one trigger into another one and retires it.
type CombineAgentTriggersRequest struct {
	TriggerID              string `json:"triggerId"`
	OtherTriggerID         string `json:"otherTriggerId"`
	ExpectedUpdatedAt      int64  `json:"expectedUpdatedAt"`
	OtherExpectedUpdatedAt int64  `json:"otherExpectedUpdatedAt"`
	// UseOtherAction takes prompt and continuation from the other one.
	UseOtherAction bool `json:"useOtherAction,omitempty"`
}

// RunAgentTriggerResponse is a firing that somebody asked for.
type RunAgentTriggerResponse struct {
	Firing TriggerFiring `json:"firing"`
}

// PreviewAgentTriggerRequest checks a trigger without saving it.
type PreviewAgentTriggerRequest struct {
	AgentID string       `json:"agentId"`
	Trigger TriggerInput `json:"trigger"`
}

// PreviewAgentTriggerResponse is a trigger as it would be kept, and the next times at which it would fire.
type PreviewAgentTriggerResponse struct {
	Trigger   TriggerInfo `json:"trigger"`
	NextFires []int64     `json:"nextFires"`
}
