package client

// Routes are method and path of every action that a token can carry out, for the test that compares them with the server's.
func Routes() map[string]string {
	out := map[string]string{}
	for name, r := range routes() {
		out[name] = r.method + " " + r.path
	}
	return out
}
