package tooldoc

// Effect is what a call does to the world (design §8).
type Effect string

// The classes: Pure may be repeated at will, Idempotent leads to the same state when repeated, SideEffecting does not. A call of
// the last class is written down before it is carried out, and one that a crash left without a result is never repeated by the
// server.
const (
	Pure          Effect = "pure"
	Idempotent    Effect = "idempotent"
	SideEffecting Effect = "side-effecting"
)
