//go:build !script

package quickjs

// Available tells whether this binary has the engine.
const Available = false

// Version names the engine; there is none.
const Version = ""

// Image is what realms start from.
type Image struct{}

// NewImage always fails with ErrAbsent in this variant.
func NewImage(_, _ string) (*Image, error) { return nil, ErrAbsent }

// New is not reached, since there is no image.
func (*Image) New(Host, Limits) Realm { return nil }
