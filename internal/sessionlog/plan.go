package sessionlog

import "github.com/loam-agents/loam/wire"

// ByRuntime is who resolved a step of a plan that the server has marked as done.
const ByRuntime = "runtime"

// Settled tells whether a plan has steps and all of them are done, failed or skipped.
func Settled(p *wire.RunPlan) bool {
	for _, s := range p.Steps {
		if s.Status == "pending" || s.Status == "running" {
			return false
		}
	}
	return len(p.Steps) > 0
}
