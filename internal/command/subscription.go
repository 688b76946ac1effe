package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/wire"
)

type providersSignIn struct {
	connection
	Name string `arg:"" optional:"" help:"What the provider is called here." default:"chatgpt"`
}

// Run connects a provider by signing in to it. The service sends the browser to an address of this machine, where nobody may
// listen: the address is enough.
func (c *providersSignIn) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	login, err := client.Call[wire.StartProviderOAuthResponse](ctx, cl, "StartProviderOAuth", wire.StartProviderOAuthRequest{ProviderType: subscription.Type})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.err, "Sign in at\n\n  %s\n\nand paste the address that the browser shows then, or its code: ", login.AuthURL)
	if err != nil {
		return err
	}
	// The end of the input ends the line too.
	code, _ := bufio.NewReader(a.in).ReadString('\n')
	if code == "" {
		return exitcode.With(exitcode.Usage, errors.New("no code was given"))
	}
	request := wire.SubmitProviderOAuthCodeRequest{LoginID: login.LoginID, Code: code}
	if _, err := client.Call[wire.SubmitProviderOAuthCodeResponse](ctx, cl, "SubmitProviderOAuthCode", request); err != nil {
		return err
	}
	status, err := client.Call[wire.ProviderOAuthStatusResponse](ctx, cl, "GetProviderOAuthStatus", wire.ProviderOAuthRequest{LoginID: login.LoginID})
	if err != nil {
		return err
	}
	_, err = client.Call[wire.ProviderResponse](ctx, cl, "SetModelProvider", map[string]any{"name": c.Name, "provider": wire.ProviderConfig{
		Type: subscription.Type, AuthMode: provider.Subscription, SecretRefs: map[string]string{"oauth": status.SecretName},
	}})
	if err != nil {
		return err
	}
	return a.say("connected " + printable(c.Name) + "\n")
}
