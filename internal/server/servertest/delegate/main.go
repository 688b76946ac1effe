// Command delegate lets a new key act for the owner of a running server, by a capability that the owner's key signs, as a desktop
// client does. The tests of the page use it: a browser has no key of its own.
//
//	delegate -data DIR -url http://127.0.0.1:3050 -label Desktop
//
// It prints the principal of the key. It is for tests and no part of the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func main() {
	data := flag.String("data", "loam-data", "data folder of the server")
	url := flag.String("url", "", "address of the server")
	label := flag.String("label", "", "what the capability calls the key")
	flag.Parse()
	if err := run(*data, *url, *label); err != nil {
		fmt.Fprintln(os.Stderr, "delegate:", err)
		os.Exit(1)
	}
}

func run(data, url, label string) error {
	owner, err := server.OwnerKey(data)
	if err != nil {
		return err
	}
	key, err := principal.Generate(nil)
	if err != nil {
		return err
	}
	capability, err := principal.NewCapability(owner, principal.Capability{
		Delegate: key.ID(), Role: principal.RoleAgent, Label: label, TS: time.Now().UnixMilli(),
	})
	if err != nil {
		return err
	}
	c, err := client.New(url, key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := client.Call[wire.RegisterSignerResponse](ctx, c, "RegisterSigner", map[string]any{"capability": capability}); err != nil {
		return err
	}
	fmt.Println(key.ID())
	return nil
}
