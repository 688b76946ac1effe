package account

import (
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// Policy says which accounts may act on this server (`--accounts open|invite`, design §4).
type Policy struct {
	// Open lets any key act; its account is made on first use. Otherwise only accounts that exist may act.
	Open bool
}

// MayAct returns nil when the account may act, and fault.PermissionDenied when the server takes invited accounts only and
// this one is not among them. It writes nothing: under an open policy the caller makes the row with Ensure.
func (p Policy) MayAct(tx store.Tx, id string) error {
	if p.Open {
		return nil
	}
	known, err := Exists(tx, id)
	if err != nil {
		return err
	}
	if !known {
		return fault.New(fault.PermissionDenied, "This server accepts invited accounts only; ask its owner to let %s in", id)
	}
	return nil
}
