package client_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/loam-agents/loam/client"
	loam "github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// serve runs a server for an example and returns its address and its owner's key.
func serve() (url string, key *principal.Key, stop func()) {
	dir, err := os.MkdirTemp("", "loam-example-")
	if err != nil {
		log.Fatal(err)
	}
	s, err := loam.Open(context.Background(), loam.Config{
		Listen: "127.0.0.1:0", DataDir: dir, TutorPace: -1, Environ: func(string) string { return "" },
	})
	if err != nil {
		log.Fatal(err)
	}
	if key, err = loam.OwnerKey(dir); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	return "http://" + s.Addr(), key, func() {
		cancel()
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			log.Fatal(err)
		}
	}
}

// A key signs every action. The owner's is in the data folder of the server.
func ExampleNew() {
	url, key, stop := serve()
	defer stop()
	ctx := context.Background()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	reply, err := client.Call[wire.ListAgentsResponse](ctx, c, "ListAgents", nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, agent := range reply.Agents {
		fmt.Println(agent.Definition.Name)
	}
	// Output: Assistant
}

// A token is what a program without a key uses: the same calls, over REST.
func ExampleNewWithToken() {
	url, key, stop := serve()
	defer stop()
	ctx := context.Background()

	// `loam tokens create` does this.
	owner, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	made, err := client.Call[wire.CreateTokenResponse](ctx, owner, "CreateToken", wire.CreateTokenRequest{Name: "ci", Scopes: []string{"read", "write"}})
	if err != nil {
		log.Fatal(err)
	}

	c, err := client.NewWithToken(url, made.Token)
	if err != nil {
		log.Fatal(err)
	}
	agents, err := client.Call[wire.ListAgentsResponse](ctx, c, "ListAgents", nil)
	if err != nil {
		log.Fatal(err)
	}
	session, err := client.Call[wire.CreateSessionResponse](ctx, c, "CreateSession", map[string]any{"agentId": agents.Agents[0].ID})
	if err != nil {
		log.Fatal(err)
	}
	// Sent again with the same key, by this or another process, the message is said once.
	answer, err := c.Do(client.Idempotent(ctx, "order-4711"), map[string]any{
		"_": "MessageSession", "sessionId": session.SessionID, "content": []any{map[string]any{"type": "text", "text": "hello"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("answered:", answer["text"] != "")

	_, err = client.Call[wire.SecretsResponse](ctx, c, "ListSecrets", nil)
	fmt.Println(err)
	// Output:
	// answered: true
	// This token does not hold the scope admin
}

// A subscription shows what happens while it happens, and goes on after the last event when the connection was lost.
func ExampleClient_Subscribe() {
	url, key, stop := serve()
	defer stop()
	ctx := context.Background()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	agents, err := client.Call[wire.ListAgentsResponse](ctx, c, "ListAgents", nil)
	if err != nil {
		log.Fatal(err)
	}
	session, err := client.Call[wire.CreateSessionResponse](ctx, c, "CreateSession", map[string]any{"agentId": agents.Agents[0].ID})
	if err != nil {
		log.Fatal(err)
	}
	sent := make(chan error, 1)
	for frame, err := range c.Subscribe(ctx, wire.KeySession+session.SessionID, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if frame.Kind == wire.FrameSubscribed {
			go func() {
				_, err := client.Call[wire.MessageSessionResponse](ctx, c, "MessageSession", map[string]any{
					"sessionId": session.SessionID, "content": []any{map[string]any{"type": "text", "text": "hello"}},
				})
				sent <- err
			}()
		}
		if frame.Kind == wire.FrameAppend {
			fmt.Println("event", frame.Seq)
		}
		if frame.Seq == 2 {
			break
		}
	}
	if err := <-sent; err != nil {
		log.Fatal(err)
	}
	// Output:
	// event 1
	// event 2
}
