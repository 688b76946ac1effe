package openai

import "github.com/loam-agents/loam/internal/model"

// usage is the token count of both dialects, under the names of each.
type usage struct {
	Prompt     int64   `json:"prompt_tokens"`
	Completion int64   `json:"completion_tokens"`
	Input      int64   `json:"input_tokens"`
	Output     int64   `json:"output_tokens"`
	Total      int64   `json:"total_tokens"`
	CacheHit   int64   `json:"prompt_cache_hit_tokens"`
	PromptIn   details `json:"prompt_tokens_details"`
	InputIn    details `json:"input_tokens_details"`
}

type details struct {
	Cached  int64 `json:"cached_tokens"`
	Written int64 `json:"cache_write_tokens"`
}

// normal counts as model.Usage does: the cached part is taken out of the input. Services that leave the reasoning out of the
// completion (xAI) still have it in the total.
func (u usage) normal() model.Usage {
	in := u.Prompt + u.Input
	read := max(u.CacheHit, u.PromptIn.Cached, u.InputIn.Cached)
	written := max(u.PromptIn.Written, u.InputIn.Written)
	out := model.Usage{
		Input:     max(in-read-written, 0),
		Output:    max(u.Completion+u.Output, u.Total-in),
		CacheRead: read, CacheWrite: written,
	}
	out.Total = out.Input + out.Output + read + written
	return out
}
