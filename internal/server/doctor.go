package server

// Check refuses a configuration that Open would refuse before it touches anything. The error says which setting is wrong and
// what to do.
func (c Config) Check() error { return c.complete() }
