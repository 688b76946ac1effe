package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/wire"
)

// restBase is the path below which a server has its REST routes.
const restBase = "/api/v1"

// route says how an action is sent with a token.
type route struct {
	method, path string
	// shape turns the fields of the action into those of the route; may be nil.
	shape func(fields map[string]any) error
	// upload says that the field content is the body, and download that the answer is one.
	upload, download bool
	// paged says that the route's cursors are texts, where the action's are places.
	paged bool
}

// routes are the actions that a token can carry out, by name. A test compares them with the server's own list.
func routes() map[string]route {
	get, post, put, patch, del := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	out := map[string]route{
		"GetCaller":     {method: get, path: "/me"},
		"ListAgents":    {method: get, path: "/agents"},
		"CreateAgent":   {method: post, path: "/agents"},
		"GetAgent":      {method: get, path: "/agents/{agentId}"},
		"UpdateAgent":   {method: put, path: "/agents/{agentId}"},
		"DeleteAgent":   {method: del, path: "/agents/{agentId}"},
		"CreateSession": {method: post, path: "/agents/{agentId}/sessions"},

		"ListAgentTools":        {method: get, path: "/agents/{agentId}/tools"},
		"SaveAgentTool":         {method: post, path: "/agents/{agentId}/tools"},
		"DeleteAgentTool":       {method: del, path: "/agents/{agentId}/tools/{name}"},
		"ListAgentMemory":       {method: get, path: "/agents/{agentId}/memory"},
		"ReadAgentMemoryFile":   {method: get, path: "/agents/{agentId}/memory/{path...}"},
		"WriteAgentMemoryFile":  {method: put, path: "/agents/{agentId}/memory/{path...}", shape: bytesAsData},
		"DeleteAgentMemoryFile": {method: del, path: "/agents/{agentId}/memory/{path...}"},

		"ListAgentMemoryDir":      {method: get, path: "/agents/{agentId}/folder"},
		"DownloadAgentMemoryFile": {method: post, path: "/agents/{agentId}/downloads"},
		"BeginFileUpload":         {method: post, path: "/uploads"},
		"AppendFileUploadChunk":   {method: put, path: "/uploads/{uploadId}", upload: true},
		"CommitFileUpload":        {method: post, path: "/uploads/{uploadId}/commit"},
		"AbortFileUpload":         {method: del, path: "/uploads/{uploadId}"},
		"ListAgentInvites":        {method: get, path: "/invites"},
		"AcceptAgentInvite":       {method: post, path: "/invites/{agentId}/accept"},
		"DeclineAgentInvite":      {method: del, path: "/invites/{agentId}"},
		"ListAgentCollaborators":  {method: get, path: "/agents/{agentId}/collaborators"},
		"InviteAgentCollaborator": {method: put, path: "/agents/{agentId}/collaborators/{accountId}"},
		"RemoveAgentCollaborator": {method: del, path: "/agents/{agentId}/collaborators/{accountId}"},
		"SetAgentPublicRead":      {method: put, path: "/agents/{agentId}/public-read"},
		"SetAgentPublicChat":      {method: put, path: "/agents/{agentId}/public-chat"},

		"StartProviderOAuth":      {method: post, path: "/provider-sign-ins"},
		"SubmitProviderOAuthCode": {method: post, path: "/provider-sign-ins/{loginId}/code"},
		"GetProviderOAuthStatus":  {method: get, path: "/provider-sign-ins/{loginId}"},
		"CancelProviderOAuth":     {method: del, path: "/provider-sign-ins/{loginId}"},

		"ListSigningIdentities": {method: get, path: "/identities"},
		"CreateSigningIdentity": {method: post, path: "/identities"},
		"ImportSigningIdentity": {method: post, path: "/identities/import"},
		"UpdateSigningIdentity": {method: patch, path: "/identities/{name}"},
		"DeleteSigningIdentity": {method: del, path: "/identities/{name}"},

		"ListSessions":            {method: get, path: "/sessions", paged: true},
		"GetSession":              {method: get, path: "/sessions/{sessionId}"},
		"GetSessionEvent":         {method: get, path: "/sessions/{sessionId}/events/{seq}"},
		"UpdateSession":           {method: patch, path: "/sessions/{sessionId}"},
		"DeleteSession":           {method: del, path: "/sessions/{sessionId}"},
		"MessageSession":          {method: post, path: "/sessions/{sessionId}/messages"},
		"InvokeSessionTool":       {method: post, path: "/sessions/{sessionId}/invoke"},
		"RetrySession":            {method: post, path: "/sessions/{sessionId}/retry"},
		"StopSession":             {method: post, path: "/sessions/{sessionId}/stop"},
		"UploadSessionAttachment": {method: post, path: "/sessions/{sessionId}/attachments", upload: true},
		"ReadSessionAttachment":   {method: get, path: "/sessions/{sessionId}/attachments/{attachmentId}", download: true},

		"FindRuns":       {method: get, path: "/runs"},
		"GetRun":         {method: get, path: "/runs/{runId}"},
		"GetRunJournal":  {method: get, path: "/runs/{runId}/journal"},
		"ListApprovals":  {method: get, path: "/approvals"},
		"GetApproval":    {method: get, path: "/approvals/{approvalId}"},
		"DecideApproval": {method: post, path: "/approvals/{approvalId}/decide"},
		"CancelRun":      {method: post, path: "/runs/{runId}/cancel"},
		"StartScript":    {method: post, path: "/agents/{agentId}/scripts"},
		"SignalRun":      {method: post, path: "/runs/{runId}/signal"},

		"ListModelProviders":  {method: get, path: "/providers"},
		"SetModelProvider":    {method: put, path: "/providers/{name}"},
		"DeleteModelProvider": {method: del, path: "/providers/{name}"},
		"ListProviderModels":  {method: get, path: "/providers/{provider}/models"},
		"ListProviderTypes":   {method: get, path: "/provider-types"},

		"ListMcpServers":   {method: get, path: "/mcp-servers"},
		"SetMcpServer":     {method: put, path: "/mcp-servers/{name}"},
		"RefreshMcpServer": {method: post, path: "/mcp-servers/{name}/refresh"},
		"StartMcpLogin":    {method: post, path: "/mcp-servers/{name}/login"},
		"DeleteMcpServer":  {method: del, path: "/mcp-servers/{name}"},

		"ListSecrets":  {method: get, path: "/secrets"},
		"SetSecret":    {method: put, path: "/secrets/{name}", shape: valueAsText},
		"DeleteSecret": {method: del, path: "/secrets/{name}"},

		"ListTokens":       {method: get, path: "/tokens"},
		"CreateToken":      {method: post, path: "/tokens"},
		"DeleteToken":      {method: del, path: "/tokens/{tokenId}"},
		"ListKeys":         {method: get, path: "/keys"},
		"LinkKey":          {method: post, path: "/keys"},
		"UnlinkKey":        {method: del, path: "/keys/{keyId}"},
		"ListSigners":      {method: get, path: "/signers"},
		"RevokeSigner":     {method: del, path: "/signers/{signerId}"},
		"ListSignIns":      {method: get, path: "/sign-ins"},
		"CreateSignInLink": {method: post, path: "/sign-ins"},
		"DeleteSignIn":     {method: del, path: "/sign-ins/{signInId}"},
	}
	maps.Copy(out, triggerRoutes())
	return out
}

// triggerRoutes are those of triggers.
func triggerRoutes() map[string]route {
	get, post, patch, del := http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return map[string]route{
		"ListAgentTriggers":    {method: get, path: "/agents/{agentId}/triggers"},
		"CreateAgentTrigger":   {method: post, path: "/agents/{agentId}/triggers"},
		"PreviewAgentTrigger":  {method: post, path: "/agents/{agentId}/trigger-preview"},
		"GetAgentTrigger":      {method: get, path: "/triggers/{triggerId}"},
		"UpdateAgentTrigger":   {method: patch, path: "/triggers/{triggerId}"},
		"DeleteAgentTrigger":   {method: del, path: "/triggers/{triggerId}"},
		"CombineAgentTriggers": {method: post, path: "/triggers/{triggerId}/combine"},
		"RunAgentTrigger":      {method: post, path: "/triggers/{triggerId}/run"},
	}
}

// valueAsText gives a secret the form that JSON has room for.
func valueAsText(fields map[string]any) error {
	if raw, ok := fields["value"].([]byte); ok {
		fields["value"] = string(raw)
	}
	return nil
}

// bytesAsData sends a file that is bytes under the name that JSON has for them.
func bytesAsData(fields map[string]any) error {
	if raw, ok := fields["content"].([]byte); ok {
		delete(fields, "content")
		fields["data"] = raw
	}
	return nil
}

// call is one request that was made from an action and can be sent again.
type call struct {
	route
	target      string
	body        []byte
	contentType string
}

// prepare turns the fields of an action into a request. The fields are used up.
func (r route) prepare(base string, fields map[string]any) (*call, error) {
	if r.shape != nil {
		if err := r.shape(fields); err != nil {
			return nil, err
		}
	}
	if r.paged {
		cursorAsText(fields)
	}
	path, err := fill(r.path, fields)
	if err != nil {
		return nil, err
	}
	out := &call{route: r, target: base + restBase + path}
	if r.upload {
		out.body, _ = fields["content"].([]byte)
		out.contentType, _ = fields["mimeType"].(string)
		delete(fields, "content")
		delete(fields, "mimeType")
		if out.contentType == "" {
			out.contentType = "application/octet-stream"
		}
	}
	if r.upload || r.method == http.MethodGet || r.method == http.MethodDelete {
		out.target += query(fields)
		return out, nil
	}
	if len(fields) == 0 {
		return out, nil
	}
	out.contentType = "application/json"
	out.body, err = json.Marshal(fields)
	return out, err
}

// fill puts fields into the places of a path and takes them out of the rest.
func fill(path string, fields map[string]any) (string, error) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		name, isField := strings.CutPrefix(part, "{")
		if !isField {
			continue
		}
		name, rest := strings.CutSuffix(strings.TrimSuffix(name, "}"), "...")
		text, _ := fields[name].(string)
		if n, ok := fields[name].(int64); ok {
			text = strconv.FormatInt(n, 10)
		}
		if text == "" {
			return "", fmt.Errorf("client: the field %s is needed", name)
		}
		delete(fields, name)
		if !rest {
			parts[i] = url.PathEscape(text)
			continue
		}
		below := strings.Split(text, "/")
		for j := range below {
			below[j] = url.PathEscape(below[j])
		}
		parts[i] = strings.Join(below, "/")
	}
	return strings.Join(parts, "/"), nil
}

// query is the rest of the fields as a query. Fields without a value are left out.
func query(fields map[string]any) string {
	values := url.Values{}
	for name, v := range fields {
		if v != nil {
			values.Set(name, fmt.Sprint(v))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// cursorAsText takes the text of a page's cursor out of the place that pageAnswer put it into.
func cursorAsText(fields map[string]any) {
	place, ok := fields["cursor"].(map[string]any)
	if !ok {
		return
	}
	delete(fields, "cursor")
	if text, ok := place["idBefore"].(string); ok {
		fields["cursor"] = text
	}
}

// answer gives an answer of the route the form that the action's has.
func (r route) answer(header http.Header, body []byte) ([]byte, error) {
	switch {
	case r.download:
		return fileAnswer(header, body)
	case r.paged:
		return pageAnswer(body)
	case len(body) == 0:
		return []byte("{}"), nil
	}
	return body, nil
}

// pageAnswer makes a place of the text of the next page's cursor: the text stands in it unread.
func pageAnswer(body []byte) ([]byte, error) {
	var page map[string]json.RawMessage
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, err
	}
	var text string
	if err := json.Unmarshal(page["nextCursor"], &text); err != nil || text == "" {
		delete(page, "nextCursor")
		return json.Marshal(page)
	}
	place, err := json.Marshal(wire.SessionListCursor{UpdatedBefore: 1, IDBefore: text})
	if err != nil {
		return nil, err
	}
	page["nextCursor"] = place
	return json.Marshal(page)
}

// fileAnswer is a download as the action answers it.
func fileAnswer(header http.Header, body []byte) ([]byte, error) {
	info := wire.AttachmentInfo{
		ID: strings.Trim(header.Get("ETag"), `"`), MimeType: header.Get("Content-Type"), Size: int64(len(body)),
	}
	if _, params, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		info.Name = params["filename"]
	}
	return json.Marshal(wire.ReadSessionAttachmentResponse{Attachment: info, Data: body})
}

// generic is an answer in JSON as generic values.
func generic(body []byte) (map[string]any, error) {
	value, err := dagcbor.FromJSON(bytes.TrimSpace(body))
	if err != nil {
		return nil, err
	}
	reply, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the answer is no JSON object")
	}
	return reply, nil
}
