package operation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// Signing identities are secrets whose metadata say so: the seed of a key, and what of its account may be shown.

func identityOperations() []Operation {
	return []Operation{
		{Name: "ListSigningIdentities", Response: "ListSigningIdentitiesResponse", Access: Self, Effect: Query, Since: "0.2", handle: listIdentities,
			Route: &Route{Method: "GET", Path: "/identities", Summary: "List signing identities",
				Note:    "With agentId those of the agent's owner; whoever is not the owner sees those that the agent may sign with.",
				Request: wire.ListSigningIdentitiesRequest{}, Reply: wire.ListSigningIdentitiesResponse{}}},
		{Name: "CreateSigningIdentity", Response: "CreateSigningIdentityResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin,
			handle: createIdentity,
			Route: &Route{Method: "POST", Path: "/identities", Summary: "Make a signing identity and publish it", Status: http.StatusCreated,
				Note:    "Its profile and a home document are published to the configured hypermedia server. When that fails nothing is stored.",
				Request: wire.CreateSigningIdentityRequest{}, Reply: wire.SigningIdentityResponse{}}},
		{Name: "ImportSigningIdentity", Response: "ImportSigningIdentityResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin,
			handle: importIdentity,
			Route: &Route{Method: "POST", Path: "/identities/import", Summary: "Keep a key that there is already", Status: http.StatusCreated,
				Note:    "The seed is 32 bytes in base64. Nothing is published.",
				Request: wire.ImportSigningIdentityRequest{}, Reply: wire.SigningIdentityResponse{}, shape: shapeSeed}},
		{Name: "UpdateSigningIdentity", Response: "UpdateSigningIdentityResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin,
			handle: updateIdentity, prepares: true,
			Route: &Route{Method: "PATCH", Path: "/identities/{name}", Summary: "Publish another name or picture of a signing identity",
				Note:    "The picture is bytes in base64, at most 4 MiB.",
				Request: wire.UpdateSigningIdentityRequest{}, Reply: wire.SigningIdentityResponse{}, shape: shapeIcon}},
		{Name: "DeleteSigningIdentity", Response: "DeleteSigningIdentityResponse", Access: Self, Effect: Mutation, Since: "0.2", Scope: account.Admin,
			handle: deleteIdentity,
			Route: &Route{Method: "DELETE", Path: "/identities/{name}", Summary: "Forget the key of a signing identity",
				Note:    "What it has published stays.",
				Request: wire.NameRequest{}, Reply: wire.NameResponse{}}},
	}
}

// identityKind is the metadata's kind of secrets that are signing identities, which clients of the protocol store too.
const identityKind = "hm-account-key"

const (
	// maxIdentities bounds those of an account, maxIcon a picture in bytes.
	maxIdentities = 100
	maxIcon       = 4 << 20
	// Of an account's text so much stands in the name of its secret, and in a label that nobody chose.
	nameLength, labelLength = 16, 10
	homeText                = "This account belongs to an agent."
)

func isIdentity(i vault.Info) bool { return i.Metadata["kind"] == identityKind }

func identityInfo(i vault.Info) wire.SigningIdentity {
	text := func(key string) string {
		s, _ := i.Metadata[key].(string)
		return s
	}
	return wire.SigningIdentity{
		ID: i.ID, Name: i.Name, AccountID: text("accountId"), Label: text("label"), Icon: text("icon"), ServerURL: text("serverUrl"),
		CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
	}
}

// identities are those of an account, the newest first.
func (c *Call) identities(tx store.Tx, owner string) ([]vault.Info, error) {
	list, err := c.opts.Vault.List(tx, owner)
	list = slices.DeleteFunc(list, func(i vault.Info) bool { return !isIdentity(i) })
	slices.SortFunc(list, func(a, b vault.Info) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return list, err
}

// identity finds one of the caller's.
func (c *Call) identity(tx store.Tx, name string) (vault.Info, error) {
	list, err := c.identities(tx, c.Caller.Account)
	if err != nil {
		return vault.Info{}, err
	}
	if i := slices.IndexFunc(list, func(i vault.Info) bool { return i.Name == name }); i >= 0 {
		return list[i], nil
	}
	return vault.Info{}, fault.Missing("Signing identity not found")
}

// checkKeys refuses a definition that names a key which its owner does not have. Those that it named before may stay.
func (c *Call) checkKeys(tx store.Tx, owner string, before, after []string) error {
	fresh := slices.DeleteFunc(slices.Clone(after), func(name string) bool { return slices.Contains(before, name) })
	if len(fresh) == 0 {
		return nil
	}
	secrets, err := c.opts.Vault.List(tx, owner)
	if err != nil {
		return err
	}
	for _, name := range fresh {
		if !slices.ContainsFunc(secrets, func(i vault.Info) bool { return i.Name == name }) {
			return fault.Invalid("Signing key not found").With("field", "signingKeys").With("name", name)
		}
	}
	return nil
}

func listIdentities(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListSigningIdentitiesRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	out := wire.ListSigningIdentitiesResponse{}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Identities = []wire.SigningIdentity{}
		owner, shown := c.Caller.Account, func(string) bool { return true }
		if req.AgentID != nil {
			id, err := bounded.Name(*req.AgentID, "Agent ID")
			if err != nil {
				return err
			}
			found, err := c.onAgent(tx, id, wire.MsgAgentNotFound)
			if err != nil {
				return err
			}
			if owner = found.agent.Account; found.role != collaborator.Owner {
				granted := agent.SigningKeys(found.agent.Definition)
				shown = func(name string) bool { return slices.Contains(granted, name) }
			}
		}
		list, err := c.identities(tx, owner)
		for _, i := range list {
			if shown(i.Name) {
				out.Identities = append(out.Identities, identityInfo(i))
			}
		}
		return err
	})
	return Result{Value: out}, err
}

// published says in the wire's words why an account could not be published.
func (c *Call) published(ctx context.Context, blobs ...hypermedia.Blob) error {
	if c.opts.Hypermedia == nil {
		return fault.New(fault.ProviderError, "Failed to publish agent account: this server has no hypermedia server; its operator sets one with --hm-server-url")
	}
	if err := c.opts.Hypermedia.Publish(ctx, blobs...); err != nil {
		return fault.Wrap(err, fault.ProviderError, "Failed to publish agent account to %s: %s", c.opts.Hypermedia.URL(), err)
	}
	return nil
}

func createIdentity(ctx context.Context, c *Call) (Result, error) {
	var req wire.CreateSigningIdentityRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	label, request, err := identityLabel(req.Label)
	if err != nil {
		return Result{}, err
	}
	same := once{id: req.ClientRequestID, label: "Client request ID", request: request}
	leave, done, again, err := c.alone(ctx, same)
	if err != nil || again {
		return done, err
	}
	defer leave()
	if err := c.opts.Store.Read(ctx, c.roomForIdentity); err != nil {
		return Result{}, err
	}
	k, err := principal.Generate(c.opts.Random)
	if err != nil {
		return Result{}, fmt.Errorf("make a key: %w", err)
	}
	if label == "" {
		label = "Agent account " + k.ID().String()[:labelLength]
	}
	blobs, err := c.accountBlobs(k, label)
	if err != nil {
		return Result{}, err
	}
	if err := c.published(ctx, blobs...); err != nil {
		return Result{}, err
	}
	return c.commit(ctx, same, func(tx store.Tx) (any, error) { return c.keepKey(tx, k, label, c.opts.Hypermedia.URL()) })
}

// accountBlobs are what an account needs to be seen: a profile and a home document.
func (c *Call) accountBlobs(k *principal.Key, label string) ([]hypermedia.Blob, error) {
	const idBytes = 6
	id := make([]byte, idBytes)
	if _, err := io.ReadFull(c.opts.Random, id); err != nil {
		return nil, fmt.Errorf("name a block: %w", err)
	}
	now := clock.Millis(c.opts.Clock)
	profile, err := hypermedia.Profile(k, label, "", now)
	if err != nil {
		return nil, err
	}
	home, err := hypermedia.Home(k, label, base64.RawURLEncoding.EncodeToString(id), homeText, now)
	return append(home, profile), err
}

// identityLabel checks a label that may be absent, and returns what has to be the same when the request is repeated.
func identityLabel(label *string) (string, map[string]any, error) {
	if label == nil {
		return "", map[string]any{}, nil
	}
	text, err := bounded.Name(*label, "Label")
	return text, map[string]any{"label": text}, err
}

func (c *Call) roomForIdentity(tx store.Tx) error {
	list, err := c.identities(tx, c.Caller.Account)
	if err == nil && len(list) >= maxIdentities {
		err = fault.New(fault.TooLarge, "Too many signing identities: at most %d", maxIdentities).With("limit", maxIdentities)
	}
	return err
}

// keepKey stores a key as an identity.
func (c *Call) keepKey(tx store.Tx, k *principal.Key, label, serverURL string) (any, error) {
	id := k.ID().String()
	name := "hm-account-" + id[:nameLength]
	list, err := c.opts.Vault.List(tx, c.Caller.Account)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(i vault.Info) bool { return i.Name == name || isIdentity(i) && i.Metadata["accountId"] == id }) {
		return nil, fault.New(fault.Conflict, "This account key is already on the server (%s)", id)
	}
	if err := c.roomForIdentity(tx); err != nil {
		return nil, err
	}
	metadata := map[string]any{"kind": identityKind, "accountId": id}
	for key, value := range map[string]string{"label": label, "serverUrl": serverURL} {
		if value != "" {
			metadata[key] = value
		}
	}
	info, err := c.opts.Vault.Set(tx, c.Caller.Account, name, k.Seed(), metadata)
	return wire.SigningIdentityResponse{Identity: identityInfo(info)}, err
}

func importIdentity(ctx context.Context, c *Call) (Result, error) {
	var req wire.ImportSigningIdentityRequest
	if _, ok := c.fields["seed"].([]byte); !ok {
		return Result{}, fault.Invalid("Key seed must be exactly 32 bytes").With("field", "seed")
	}
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	label, request, err := identityLabel(req.Label)
	if err != nil {
		return Result{}, err
	}
	k, err := principal.NewKey(req.Seed)
	if err != nil {
		return Result{}, fault.Invalid("Key seed must be exactly 32 bytes").With("field", "seed")
	}
	same := once{id: req.ClientRequestID, label: "Client request ID", request: request}
	return c.commit(ctx, same, func(tx store.Tx) (any, error) { return c.keepKey(tx, k, label, "") })
}

func updateIdentity(ctx context.Context, c *Call) (Result, error) {
	var req wire.UpdateSigningIdentityRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Name")
	if err != nil {
		return Result{}, err
	}
	label, err := bounded.Name(req.Label, "Label")
	if err != nil {
		return Result{}, err
	}
	picture, err := iconBlobs(req.Icon)
	if err != nil {
		return Result{}, err
	}
	var present vault.Info
	err = c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		present, err = c.identity(tx, name)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	metadata := present.Metadata
	metadata["label"] = label
	if len(picture) > 0 {
		metadata["icon"] = "ipfs://" + picture[0].CID.String()
	}
	profile, err := c.profileOf(ctx, present, identityInfo(vault.Info{Metadata: metadata}))
	if err != nil {
		return Result{}, err
	}
	if err := c.published(ctx, append(picture, profile)...); err != nil {
		return Result{}, err
	}
	metadata["serverUrl"] = c.opts.Hypermedia.URL()
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, err := c.identity(tx, name); err != nil {
			return nil, err
		}
		info, err := c.opts.Vault.SetMetadata(tx, c.Caller.Account, name, metadata)
		return wire.SigningIdentityResponse{Identity: identityInfo(info)}, err
	})
}

// profileOf signs the profile of an identity as it is to be.
func (c *Call) profileOf(ctx context.Context, present vault.Info, as wire.SigningIdentity) (hypermedia.Blob, error) {
	seed, _, err := c.opts.Vault.Get(ctx, c.Caller.Account, present.Name)
	if err != nil {
		return hypermedia.Blob{}, err
	}
	k, err := principal.NewKey(seed)
	if err != nil {
		return hypermedia.Blob{}, fault.Invalid("The secret %s holds no key", present.Name)
	}
	return hypermedia.Profile(k, as.Label, as.Icon, clock.Millis(c.opts.Clock))
}

// iconBlobs are the blobs of a picture, the one that names it first; none when there is no picture.
func iconBlobs(icon *wire.IdentityIcon) ([]hypermedia.Blob, error) {
	switch {
	case icon == nil:
		return nil, nil
	case len(icon.Data) == 0:
		return nil, fault.Invalid("Icon data is required").With("field", "icon.data")
	case len(icon.Data) > maxIcon:
		return nil, fault.New(fault.TooLarge, "Icon is too large: at most %d bytes", maxIcon).With("limit", maxIcon)
	case icon.MimeType != "" && !strings.HasPrefix(icon.MimeType, "image/"):
		return nil, fault.Invalid("Icon must be an image, not %s", icon.MimeType).With("field", "icon.mimeType")
	}
	return hypermedia.File(bytes.Clone(icon.Data))
}

func deleteIdentity(ctx context.Context, c *Call) (Result, error) {
	var req wire.NameRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Name")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, err := c.identity(tx, name); err != nil {
			return nil, err
		}
		return wire.NameResponse{Name: name}, c.opts.Vault.Delete(tx, c.Caller.Account, name)
	})
}

// shapeSeed and shapeIcon read bytes that JSON has no form for.
func shapeSeed(fields map[string]any) error { return inBase64(fields, "seed") }

func shapeIcon(fields map[string]any) error {
	icon, ok := fields["icon"].(map[string]any)
	if !ok {
		return nil
	}
	return inBase64(icon, "data")
}

func inBase64(fields map[string]any, name string) error {
	text, ok := fields[name].(string)
	if !ok {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fault.Invalid("%s must be bytes in base64", name).With("field", name)
	}
	fields[name] = raw
	return nil
}
